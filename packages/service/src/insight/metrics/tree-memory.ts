import { readdir, readFile } from 'node:fs/promises'

export const PROCESS_KINDS = ['node', 'browsers', 'database'] as const
export type Part = (typeof PROCESS_KINDS)[number]

const PAGE_BYTES = 4_096

type Process = { pid: number; name: string }

/**
 * Returns the bytes of this process and its descendants. Memory that several processes share counts once, in parts (PSS):
 * dozens of browser processes share their code. All are 0 except on Linux. Asynchronous: for a large process the system
 * needs up to 50 ms.
 */
export async function treeMemory(): Promise<Record<Part, number>> {
  const bytes: Record<Part, number> = { node: 0, browsers: 0, database: 0 }
  const children = Map.groupBy(await processes(), ({ parent }) => parent)
  const waiting: Process[] = [{ pid: process.pid, name: 'node' }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    bytes[partOf(next.name)] += await proportionalBytes(next.pid)
    waiting.push(...(children.get(next.pid) ?? []))
  }
  return bytes
}

function partOf(name: string): Part {
  if (/postgres/.test(name)) return 'database'
  return /chrom|headless/.test(name) ? 'browsers' : 'node'
}

async function processes(): Promise<(Process & { parent: number })[]> {
  const names = await readdir('/proc').catch(() => [])
  const found: (Process & { parent: number })[] = []
  for (const name of names) {
    if (!/^\d+$/.test(name)) continue
    const stat = await text(`/proc/${name}/stat`)
    // proc_pid_stat(5): the name is in parentheses and may contain parentheses.
    const match = /^\d+ \((.*)\) \S (\d+) /s.exec(stat)
    if (match !== null) found.push({ pid: Number(name), parent: Number(match[2]), name: match[1]! })
  }
  return found
}

/** Falls back to resident bytes where the system does not tell another user's share: proc_pid_smaps(5). */
async function proportionalBytes(pid: number): Promise<number> {
  const kibibytes = /^Pss:\s+(\d+) kB/m.exec(await text(`/proc/${pid}/smaps_rollup`))?.[1]
  if (kibibytes !== undefined) return Number(kibibytes) * 1_024
  return Number((await text(`/proc/${pid}/statm`)).split(' ', 2)[1] ?? 0) * PAGE_BYTES
}

async function text(file: string): Promise<string> {
  return readFile(file, 'latin1').catch(() => '')
}

import { readdirSync, readFileSync } from 'node:fs'

export const PROCESS_KINDS = ['node', 'browsers', 'database'] as const
export type Part = (typeof PROCESS_KINDS)[number]

const PAGE_BYTES = 4_096

/** Returns the resident bytes of this process and its descendants. Shared memory counts for each. All are 0 except on Linux. */
export function treeMemory(): Record<Part, number> {
  const bytes: Record<Part, number> = { node: 0, browsers: 0, database: 0 }
  const children = new Map<number, { pid: number; name: string }[]>()
  for (const { parent, ...entry } of processes()) {
    const siblings = children.get(parent)
    if (siblings === undefined) children.set(parent, [entry])
    else siblings.push(entry)
  }
  const addTree = (pid: number, name: string) => {
    bytes[partOf(name)] += residentBytes(pid)
    for (const child of children.get(pid) ?? []) addTree(child.pid, child.name)
  }
  addTree(process.pid, 'node')
  return bytes
}

function partOf(name: string): Part {
  if (/postgres/.test(name)) return 'database'
  return /chrom|headless/.test(name) ? 'browsers' : 'node'
}

function* processes(): Generator<{ pid: number; parent: number; name: string }> {
  for (const name of entries('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = text(`/proc/${name}/stat`)
    // proc_pid_stat(5): the name is in parentheses and may contain parentheses.
    const match = /^\d+ \((.*)\) \S (\d+) /s.exec(stat)
    if (match !== null) yield { pid: Number(name), parent: Number(match[2]), name: match[1]! }
  }
}

function residentBytes(pid: number): number {
  return Number(text(`/proc/${pid}/statm`).split(' ', 2)[1] ?? 0) * PAGE_BYTES
}

function entries(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch {
    return []
  }
}

function text(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}

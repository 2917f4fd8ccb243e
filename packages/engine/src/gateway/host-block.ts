import { readFileSync } from 'node:fs'
import path from 'node:path'
import { matchesWhole, parseGlob } from '@prepaint/contract/glob.ts'

/** Returns the list or pattern that blocks a host, or null. */
export type HostBlock = (host: string) => string | null

let lists: Readonly<Record<string, ReadonlySet<string>>> | null = null

/** Made by tools/block-lists.ts, with its sources. Read when the first rule needs it. */
function hostLists() {
  if (lists !== null) return lists
  const file = path.join(import.meta.dirname, 'block-lists.json')
  const { hosts } = JSON.parse(readFileSync(file, 'utf8')) as { hosts: Record<string, string[]> }
  lists = Object.fromEntries(Object.entries(hosts).map(([name, list]) => [name, new Set(list)]))
  return lists
}

/** `block`: names of lists, or hosts with `*`; `*.example.com` includes `example.com`. */
export function createHostBlock(block: readonly string[]): HostBlock {
  if (block.length === 0) return () => null
  const named = block.flatMap((name) => {
    const list = Object.hasOwn(hostLists(), name) ? hostLists()[name] : undefined
    return list === undefined ? [] : [{ name, list }]
  })
  const patterns = block
    .filter((pattern) => !named.some(({ name }) => name === pattern))
    .map((pattern) => ({ pattern, glob: parseGlob(pattern) }))
  return (host) => {
    for (let at = 0; at !== -1; at = host.indexOf('.', at) === -1 ? -1 : host.indexOf('.', at) + 1) {
      const found = named.find(({ list }) => list.has(host.slice(at)))
      if (found !== undefined) return found.name
    }
    const found = patterns.find(
      ({ pattern, glob }) =>
        matchesWhole(glob, host) || (pattern.startsWith('*.') && pattern.slice(2) === host),
    )
    return found?.pattern ?? null
  }
}

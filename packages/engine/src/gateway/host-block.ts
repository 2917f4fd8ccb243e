import { readFileSync } from 'node:fs'
import path from 'node:path'
import { matchesWhole, parseGlob } from '@prepaint/contract/glob.ts'

let lists: Readonly<Record<string, ReadonlySet<string>>> | null = null

/** Made by tools/block-lists.ts, with its sources. Read when the first rule needs it. */
function hostLists() {
  if (lists !== null) return lists
  const file = path.join(import.meta.dirname, 'block-lists.json')
  const { hosts } = JSON.parse(readFileSync(file, 'utf8')) as { hosts: Record<string, string[]> }
  lists = Object.fromEntries(Object.entries(hosts).map(([name, list]) => [name, new Set(list)]))
  return lists
}

/** Hosts that the pages of a site must not reach. */
export class HostBlock {
  readonly #lists: { name: string; list: ReadonlySet<string> }[] = []
  readonly #patterns: { pattern: string; glob: ReturnType<typeof parseGlob> }[] = []

  /** `block` has names of lists, and hosts with `*`; `*.example.com` includes `example.com`. */
  constructor(block: readonly string[]) {
    for (const name of block) {
      const list = Object.hasOwn(hostLists(), name) ? hostLists()[name] : undefined
      if (list === undefined) this.#patterns.push({ pattern: name, glob: parseGlob(name) })
      else this.#lists.push({ name, list })
    }
  }

  /** Returns the list or pattern that blocks the host, or null. */
  find(host: string): string | null {
    return this.#findList(host) ?? this.#findPattern(host)
  }

  #findList(host: string): string | null {
    if (this.#lists.length === 0) return null
    for (let at = 0; at !== -1; at = host.indexOf('.', at) === -1 ? -1 : host.indexOf('.', at) + 1) {
      const found = this.#lists.find(({ list }) => list.has(host.slice(at)))
      if (found !== undefined) return found.name
    }
    return null
  }

  #findPattern(host: string): string | null {
    const found = this.#patterns.find(
      ({ pattern, glob }) =>
        matchesWhole(glob, host) || (pattern.startsWith('*.') && pattern.slice(2) === host),
    )
    return found?.pattern ?? null
  }
}

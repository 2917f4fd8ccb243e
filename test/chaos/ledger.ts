import type { Shown } from './version-origin.ts'

/** `unsure`: a request about it broke off, so that it may or may not have happened; nothing is expected of it. */
type Standing = 'there' | 'gone' | 'unsure'

export type DomainEntry = {
  name: string
  standing: Standing
  /** When that standing was acknowledged. */
  sinceMs: number
  /** Acknowledged purges of the whole domain: no page may show an older version any more. */
  purges: { version: number; atMs: number }[]
  /** The last purge that may have happened, acknowledged or broken off. */
  purgedMs: number
  /** Pages that a crawler was given fresh from the renderer, by path; purged ones are taken out. */
  rendered: Map<string, { atMs: number }>
}

export type KeyEntry = { id: number; key: string; standing: Standing; sinceMs: number }

/** Changes reach every node within a second; pages and counts are on disk after less than one. */
export const SETTLED_MS = 1_000

/**
 * Everything that the service has acknowledged to the clients of a crash run, and every time it went back on its word.
 * Clients write here only after the answer has come.
 */
export type Ledger = {
  domains: DomainEntry[]
  keys: KeyEntry[]
  violations: string[]
  counts: { acknowledged: number; broken: number; crawled: number; passed: number; unavailable: number }
}

export function openLedger(): Ledger {
  return {
    domains: [],
    keys: [],
    violations: [],
    counts: { acknowledged: 0, broken: 0, crawled: 0, passed: 0, unavailable: 0 },
  }
}

/** The oldest version that a request begun at `begunMs` may be shown. */
export function oldestAllowed(domain: DomainEntry, begunMs: number): number {
  const settled = domain.purges.filter(({ atMs }) => atMs + SETTLED_MS <= begunMs)
  return Math.max(0, ...settled.map(({ version }) => version))
}

/** Why a snapshot must not be what it is; null when it is in order. */
export function faultOf(
  domain: DomainEntry,
  path: string,
  shown: Shown | null,
  begunMs: number,
): string | null {
  const where = `${domain.name}${path}`
  if (shown === null) return `${where} was served without its content`
  if (shown.host !== domain.name || shown.path !== path) {
    return `${where} was answered with the page of ${shown.host}${shown.path}`
  }
  const oldest = oldestAllowed(domain, begunMs)
  if (shown.version < oldest) {
    return `${where} showed version ${shown.version} after a purge at version ${oldest} was acknowledged`
  }
  return null
}

/** A purge was acknowledged. */
export function notePurge(domain: DomainEntry, version: number, atMs: number): void {
  domain.purges.push({ version, atMs })
}

/** A purge that may have happened ends: whatever was rendered before may be gone. */
export function forgetRendered(domain: DomainEntry, atMs: number): void {
  domain.purgedMs = atMs
  for (const [path, page] of domain.rendered) if (page.atMs <= atMs) domain.rendered.delete(path)
}

import type { NodeProcess } from '../support/node-process.ts'
import { callApi } from '../support/tenant.ts'
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

type Listed = { domains: { custom_domain: string; renders_used: number }[] }
type Stored = { pages: { path: string }[] }

/**
 * Compares a running node with everything it ever acknowledged, while no client acts. `crashedMs`: when the last kill
 * was; pages rendered in the last second before it may be lost (their commit does not wait for the disk), and an answer
 * of before may be read only after it.
 */
export async function reckon(
  ledger: Ledger,
  node: Pick<NodeProcess, 'api'>,
  key: string,
  crashedMs: number,
): Promise<string[]> {
  const wrong: string[] = []
  const get = (path: string, withKey = key) => callApi(node, withKey, { method: 'GET', path })

  const answer = await get('/api/domains')
  if (answer.status !== 200) return [`GET /api/domains answered ${answer.status}`]
  const listed = new Set((answer.body as Listed).domains.map((domain) => domain.custom_domain))
  for (const { name, standing } of ledger.domains) {
    if (standing === 'there' && !listed.has(name)) wrong.push(`${name} was registered and is not listed`)
    if (standing === 'gone' && listed.has(name)) wrong.push(`${name} was deleted and is listed`)
  }

  for (const entry of ledger.keys) {
    if (entry.standing === 'unsure') continue
    const { status } = await get('/api/domains', entry.key)
    const expected = entry.standing === 'there' ? 200 : 401
    if (status !== expected) wrong.push(`key ${entry.id} (${entry.standing}) answered ${status}`)
  }

  for (const domain of ledger.domains) {
    if (domain.standing !== 'there' || domain.rendered.size === 0) continue
    const list = await get(`/api/cache/list/${domain.name}`)
    const stored = new Set((list.body as Stored).pages?.map(({ path }) => path))
    for (const [path, { atMs }] of domain.rendered) {
      if (Math.abs(atMs - crashedMs) < SETTLED_MS) domain.rendered.delete(path)
      else if (!stored.has(path)) wrong.push(`${domain.name}${path} was rendered and is not stored`)
    }
  }
  return wrong
}

import type { NodeProcess } from '../support/node-process.ts'
import { callApi } from '../support/tenant.ts'
import type { Shown } from './version-origin.ts'

/** `unsure`: a request about it broke off, so that it may or may not have happened; nothing is expected of it. */
type Standing = 'there' | 'gone' | 'unsure'

export type DomainEntry = {
  name: string
  standing: Standing
  /** Acknowledged purges of the whole domain: no page may show an older version any more. */
  purges: { version: number; atMs: number }[]
  /** The last purge that may have happened, acknowledged or broken off. */
  purgedMs: number
  /** When a crawler was given a page fresh from the renderer, by path; purged ones are taken out. */
  rendered: Map<string, number>
}

/** Changes reach every node within a second; pages and counts are on disk after less than one. */
const SETTLED_MS = 1_000

const NO_COUNTS = { acknowledged: 0, broken: 0, crawled: 0, persons: 0, hostile: 0 }

/** What the service has acknowledged to clients of a run, and every time it went back on its word. */
export type Ledger = {
  domains: DomainEntry[]
  keys: { id: number; key: string; standing: Standing }[]
  violations: string[]
  counts: typeof NO_COUNTS
}

export function openLedger(): Ledger {
  return { domains: [], keys: [], violations: [], counts: { ...NO_COUNTS } }
}

/** Why a snapshot that was requested at `begunMs` must not be what it is; null when it is in order. */
export function faultOf(domain: DomainEntry, path: string, shown: Shown | null, begunMs: number) {
  const where = `${domain.name}${path}`
  if (shown === null) return `${where} was served without its content`
  if (shown.host !== domain.name || shown.path !== path) {
    return `${where} was answered with the page of ${shown.host}${shown.path}`
  }
  const settled = domain.purges.filter(({ atMs }) => atMs + SETTLED_MS <= begunMs)
  const oldest = Math.max(0, ...settled.map(({ version }) => version))
  if (shown.version >= oldest) return null
  return `${where} showed version ${shown.version} after a purge at version ${oldest} was acknowledged`
}

/**
 * Compares a running node with everything it ever acknowledged, while no client acts. `crashedMs`: when the last kill
 * was; pages rendered in the second before it may be lost: their commit does not wait for the disk.
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
  const { domains } = answer.body as { domains: { custom_domain: string }[] }
  const listed = new Set(domains.map((domain) => domain.custom_domain))
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
    const { pages } = (await get(`/api/cache/list/${domain.name}`)).body as { pages?: { path: string }[] }
    for (const [path, atMs] of domain.rendered) {
      if (Math.abs(atMs - crashedMs) < SETTLED_MS) domain.rendered.delete(path)
      else if (!pages?.some((page) => page.path === path))
        wrong.push(`${domain.name}${path} was rendered and is not stored`)
    }
  }
  return wrong
}

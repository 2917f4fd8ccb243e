import type { NodeProcess } from '../support/node-process.ts'
import { callApi } from '../support/tenant.ts'
import { type Ledger, SETTLED_MS } from './ledger.ts'

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

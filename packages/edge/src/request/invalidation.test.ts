import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import type { DomainName } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { replaceRedirects } from '@prepaint/pages/site-files/stored-redirects.ts'
import { updateDomain } from '@prepaint/service/sites/domain-changes.ts'
import { until } from '../../../../test/support/condition.ts'
import { openEdge, PERSON, path } from '../../../../test/support/edge.ts'

const edge = await openEdge()
const other = await edge.node()
after(() => other.close())

/** Both nodes hold the page in memory. */
async function warm(page: string): Promise<void> {
  for (const node of [edge, edge, other, other]) await node.verdict(page)
}

/** The other node's verdict becomes this by the notification alone. */
const soon = (page: string, wanted: string) =>
  until(`${page}: ${wanted}`, async () => (await other.verdict(page)) === wanted)

it('a purge of a page takes effect on the other node within a second', async () => {
  await warm('/a')
  await edge.purge({ kind: 'path', path: path('/a') })
  await soon('/a', 'rendered')
  await edge.settled()
  const { body } = await edge.ask('/a')
  await until('both serve what one has rendered', async () => (await other.ask('/a')).body.equals(body))
})

it('a purge while the other node had lost its notifications takes effect all the same', async () => {
  await warm('/e')
  const lost = new Promise<void>((resolve) => other.listener.onLost(resolve))
  await edge.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query ilike 'listen%' and pid <> pg_backend_pid()`,
  )
  await lost
  await edge.purge({ kind: 'all' })
  await soon('/e', 'rendered')
  await until('it listens again', () => other.listener.connected)
})

it('activity, redirects and robots.txt take effect on the other node, for people and crawlers', async () => {
  const domain = { id: edge.red, name: 'red.example' as DomainName }
  const update = (change: Parameters<typeof updateDomain>[3]) =>
    updateDomain(edge.pool, edge.account, domain.name, change, { plans: DEFAULT_PLANS, nowMs: edge.nowMs() })
  await warm('/moved')
  await update({ isActive: false })
  await soon('/moved', 'pass; inactive')
  await update({ isActive: true })
  await soon('/moved', 'hit')
  const author = { author: 'a test' }
  await replaceRedirects(edge.pool, domain, [{ from: '/moved', to: '/new', status: 301 }], author)
  await soon('/moved', 'redirect')
  assert.equal(await other.verdict('/moved', { agent: PERSON }), 'redirect')
  const text = 'User-agent: *\nDisallow: /x'
  await update({ settings: { robots: { mode: 'replace', text } } })
  await soon('/robots.txt', 'site-file')
  assert.equal(String((await other.ask('/robots.txt', { agent: PERSON })).body), text)
})

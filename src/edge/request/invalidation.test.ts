import assert from 'node:assert/strict'
import { after, it } from 'node:test'

import { until } from '../../../test/support/condition.ts'
import { openEdge, PERSON, path } from '../../../test/support/edge.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import type { DomainName } from '../../ids.ts'
import { replaceRedirects } from '../../site-files/stored-redirects.ts'
import { updateDomain } from '../../sites/domain-changes.ts'

const edge = await openEdge()
const other = await edge.node()
after(() => other.close())

/** Both nodes hold the page in memory. */
async function warm(page: string): Promise<void> {
  for (const node of [edge, other]) {
    await node.verdict(page)
    await node.verdict(page)
  }
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

it('a domain that is deactivated passes on the other node within a second, also its stored pages', async () => {
  await warm('/f')
  await edge.set('is_active = false')
  await soon('/f', 'pass; inactive')
  await edge.set('is_active = true')
  await soon('/f', 'hit')
})

it('redirects, robots.txt and crawler policy take effect on the other node, for people and crawlers', async () => {
  const name = 'red.example' as DomainName
  const change = (settings: object) =>
    updateDomain(edge.pool, edge.account, name, { settings }, { plans: DEFAULT_PLANS, nowMs: edge.nowMs() })
  await warm('/moved')
  await replaceRedirects(edge.pool, { id: edge.red, name }, [{ from: '/moved', to: '/new', status: 301 }], {
    author: 'a test',
  })
  await soon('/moved', 'redirect')
  assert.equal(await other.verdict('/moved', { agent: PERSON }), 'redirect')
  const text = 'User-agent: *\nDisallow: /x'
  await change({ robots: { mode: 'replace', text } })
  await soon('/robots.txt', 'site-file')
  assert.equal(String((await other.ask('/robots.txt', { agent: PERSON })).body), text)
  await change({ categories: { search: 'block' } })
  await soon('/c', 'blocked; search')
  await change({ categories: {}, robots: { mode: 'origin' } })
  await replaceRedirects(edge.pool, { id: edge.red, name }, [], { author: 'a test' })
  await soon('/moved', 'hit')
})

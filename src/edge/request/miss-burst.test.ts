/** A thousand crawlers at once, each asking for another page that is not there, and nobody who renders in time. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { until } from '../../../test/support/condition.ts'
import { type Answer, openEdge, PERSON } from '../../../test/support/edge.ts'
import type { JobId } from '../../ids.ts'

const CRAWLERS = 1_000
/** Of so many a copy is kept that is too old to be served at once. */
const KEPT = 200
const PEOPLE = 100
const MORE_BYTES = 200 * 1024 * 1024

const waiting: (() => void)[] = []
const edge = await openEdge({
  liveWaitMs: 60_000,
  parts: {
    enqueueLive: async ({ path }) => path as string as JobId,
    waiter: {
      wait: () =>
        new Promise((resolve) => {
          waiting.push(() => resolve({ state: 'failed', outcome: 'timed-out' }))
        }),
    },
  },
})
await edge.pool.query(
  `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
       select $1, '/page' || n, 200, '[]', 'kept', 4, 'x', now() - interval '10 days' from generate_series(1, $2::integer) n`,
  [edge.red, KEPT],
)

it('a burst of misses: people go on, memory is bounded; then crawlers get the kept copy or the origin, and nobody an error', {
  timeout: 240_000,
}, async () => {
  const rssBefore = process.memoryUsage().rss
  const asked: Promise<Answer>[] = []
  while (asked.length < CRAWLERS) {
    asked.push(edge.ask(`/page${asked.length + 1}`, { headers: { 'accept-encoding': 'br' } }))
    // The kernel refuses more than some hundred connections that are not accepted yet.
    if (asked.length % 100 === 0) await until('all wait', () => waiting.length === asked.length)
  }

  // Not one crawler has been answered yet, and nobody of the people waits for any.
  for (let at = 0; at < PEOPLE; at++) {
    const { status, verdict, body } = await edge.ask(`/people${at}`, { agent: PERSON })
    assert.deepEqual([status, verdict], [200, 'pass; not-a-crawler'])
    assert.match(String(body), /<div id="app">/)
  }
  const grown = process.memoryUsage().rss - rssBefore
  assert(grown < MORE_BYTES, `${grown} bytes for ${CRAWLERS} crawlers and their connections, both ends`)

  for (const end of waiting) end()
  const answers = await Promise.all(asked)
  const count = (holds: (answer: Answer) => boolean) => answers.filter(holds).length
  const kept = count(({ verdict, body }) => verdict === 'stale' && String(body) === 'kept')
  const passed = count(({ verdict, body }) => verdict === 'pass; timed-out' && String(body).includes('app'))
  assert.deepEqual([kept, passed], [KEPT, CRAWLERS - KEPT])
  assert(answers.every(({ status }) => status === 200))
})

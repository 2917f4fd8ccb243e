/** An origin that sends its head byte by byte does not hold a crawler for longer than its owner says. */
import assert from 'node:assert/strict'
import type http from 'node:http'
import { beforeEach, it } from 'node:test'
import {
  DEFAULT_DOMAIN_SETTINGS,
  domainSettingsPatchSchema,
} from '@prepaint/contract/settings/domain-settings.ts'
import { until } from '../../../../test/support/condition.ts'
import { openEdge, PERSON } from '../../../../test/support/edge.ts'

let answer: http.RequestListener
const edge = await openEdge({ liveWaitMs: 200, answerWaitMs: 60_000, origin: (req, res) => answer(req, res) })
await edge.settings({ crawler_wait_seconds: 1 })

/** Never silent, never done. */
const drips: http.RequestListener = ({ socket }) => {
  socket.write('HTTP/1.1 200 OK\r\nX-Long: ')
  const drip = setInterval(() => socket.write('x'), 50)
  socket.once('close', () => clearInterval(drip))
}
beforeEach(() => {
  answer = drips
})

it('a crawler without a page gets 504, also where its request is passed at once', async () => {
  edge.script('hang')
  const got = await edge.ask('/new')
  assert.deepEqual([got.status, got.verdict, got.headers['retry-after']], [504, 'pass; late', '30'])
  const passed = await edge.ask('/feed.xml', { method: 'POST' })
  assert.deepEqual([passed.status, passed.verdict], [504, 'pass; method'])
})

it('a crawler of a page that was stored gets the last good copy', async () => {
  // On a busy machine a first crawler may come too early.
  await until('it is stored', async () => (await edge.verdict('/kept')) === 'hit')
  const good = await edge.ask('/kept')
  edge.wait(9 * 24 * 3_600_000)
  edge.script('hang')
  const kept = await edge.ask('/kept')
  assert.deepEqual([kept.status, kept.verdict, kept.body], [200, 'stale', good.body])
})

it('a head in time is enough: the body may take longer; people wait as long as the origin says something', async () => {
  answer = (req, res) => {
    if (req.method === 'POST') res.write('slow ')
    setTimeout(() => res.end('end'), 1_300)
  }
  const [crawler, person] = await Promise.all([
    edge.ask('/post', { method: 'POST' }),
    edge.ask('/', { agent: PERSON }),
  ])
  assert.deepEqual([crawler.status, String(crawler.body)], [200, 'slow end'])
  assert.deepEqual([person.status, String(person.body)], [200, 'end'])
})

it('is 25 seconds unless the owner says another time, from 1 to 300', () => {
  assert.equal(DEFAULT_DOMAIN_SETTINGS.crawler_wait_seconds, 25)
  const isValid = (crawler_wait_seconds: number) =>
    domainSettingsPatchSchema.safeParse({ crawler_wait_seconds }).success
  assert.deepEqual([0, 1, 300, 301, 1.5].map(isValid), [false, true, true, false, false])
})

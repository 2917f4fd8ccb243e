import assert from 'node:assert/strict'
import { beforeEach, it, type TestContext } from 'node:test'
import { parsePageUrl } from '@prepaint/contract/page/path.ts'
import { GOOGLEBOT, openEdge, request } from '../../../../test/support/edge.ts'
import { serve } from '../../../../test/support/loopback.ts'
import { startNameServer, type Zone } from '../../../../test/support/name-server.ts'
import { checkReverseDns } from '../crawlers/reverse-dns.ts'
import { CrawlerVerifier, type VerifyCrawler } from '../crawlers/verify-crawler.ts'

const HOUR = 3_600_000
const CLIENT = '127.0.0.1'
const OWN: Zone = { [CLIENT]: ['crawl-1.googlebot.com'], 'crawl-1.googlebot.com': [CLIENT] }
const FORGED: Zone = { [CLIENT]: ['host.example'], 'host.example': [CLIENT] }

let verify: VerifyCrawler
const edge = await openEdge({ parts: { verifyCrawler: (...asked) => verify(...asked) } })
beforeEach(() => edge.reset())

/** Who asks is looked up in this zone from now on; nothing of before is known. */
async function names(t: TestContext, zone: Zone) {
  const { server, asked } = await startNameServer(t, zone)
  const crawlers = new CrawlerVerifier(
    { nowMs: edge.nowMs },
    () => null,
    (address, hosts) => checkReverseDns(address, hosts, [server]),
  )
  verify = (...asked) => crawlers.verify(...asked)
  return asked
}

// Proves decided "Further verdicts"
it('a forged crawler gets the origin, and causes no render', async (t) => {
  await names(t, FORGED)
  for (const _ of [1, 2]) assert.equal(await edge.verdict('/forged'), 'pass; forged')
  const { rows } = await edge.pool.query('select from every_job')
  assert.deepEqual([edge.rendered, rows], [[], []])
})

// Proves decided "Forged crawlers"
it('a forged crawler gets a fresh page without being verified, a stale page without a refresh, and no page that is kept for failures', async (t) => {
  await names(t, OWN)
  assert.equal(await edge.verdict('/a'), 'rendered')
  const asked = await names(t, FORGED)
  assert.equal(await edge.verdict('/a'), 'hit')
  assert.deepEqual(asked, [])
  edge.wait(25 * HOUR)
  assert.equal(await edge.verdict('/a'), 'stale')
  // The answer to the first question is there before the second is asked.
  assert.equal(await edge.verdict('/other'), 'pass; forged')
  assert.equal(asked.length, 1)
  assert.deepEqual(edge.refreshed, [])
  await names(t, OWN)
  assert.equal(await edge.verdict('/a'), 'stale')
  assert.equal(await edge.verdict('/last'), 'rendered')
  assert.deepEqual(edge.refreshed, ['/a'])
  edge.wait(9 * 24 * HOUR)
  await names(t, FORGED)
  assert.equal(await edge.verdict('/a'), 'pass; forged')
})

it('a crawler behind a front is not verified: the address is that of the front', async (t) => {
  await names(t, FORGED)
  const url = parsePageUrl('https://red.example/page')!
  const { port, close } = await serve((req, res) =>
    edge.integrations.answer(req, res, { url, userAgent: GOOGLEBOT }),
  )
  t.after(close)
  assert.equal((await request(port, '/')).verdict, 'rendered')
})

// Proves decided "Forged crawlers"
it('a crawler that cannot be verified gets a render', async (t) => {
  await names(t, { [CLIENT]: 'fails' })
  assert.equal(await edge.verdict('/unknown'), 'rendered')
  await names(t, FORGED)
  assert.equal(await edge.verdict('/nobody', { agent: 'SomeNewBot/1.0 (+https://a.example)' }), 'rendered')
})

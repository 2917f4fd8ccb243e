import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { parseAddressList } from './address-list.ts'
import type { Standing } from './reverse-dns.ts'
import { createVerifyCrawler, KEPT_MS, LOOKUPS_LIMIT } from './verify-crawler.ts'

const GOOGLE = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'
const GPT = 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)'
const IN_RANGE = '192.0.2.7'
const OUTSIDE = '203.0.113.7'

function verifier(owners: readonly string[], says: Standing | (() => Promise<Standing>) = 'forged') {
  let nowMs = 0
  const asked: string[] = []
  const list = parseAddressList('192.0.2.0/24')
  const verifyFor = createVerifyCrawler({
    clock: { nowMs: () => nowMs },
    rangesOf: (owner) => (owners.includes(owner) ? list : null),
    reverseDns: async (address) => {
      asked.push(address)
      return typeof says === 'string' ? says : says()
    },
  })
  const wait = (ms: number) => {
    nowMs += ms
  }
  const verify = (userAgent: string, address: string, account = 1) => verifyFor(userAgent, address, account)
  return { verify, asked, wait }
}

describe('a crawler is', () => {
  it('verified by published ranges, without a question and without a promise', () => {
    const { verify, asked } = verifier(['googlebot', 'gptbot'])
    assert.equal(verify(GOOGLE, IN_RANGE), 'verified')
    assert.equal(verify(GPT, IN_RANGE), 'verified')
    assert.deepEqual(asked, [])
  })

  // Proves decided "Forged crawlers"
  it('forged outside of them, unless addresses of the owner have names, which are looked up', async () => {
    assert.equal(verifier(['gptbot']).verify(GPT, OUTSIDE), 'forged')
    assert.equal(await verifier(['googlebot'], 'verified').verify(GOOGLE, OUTSIDE), 'verified')
    assert.equal(await verifier(['googlebot'], 'forged').verify(GOOGLE, OUTSIDE), 'forged')
    assert.equal(await verifier([], 'unknown').verify(GOOGLE, OUTSIDE), 'unknown')
  })

  it('unknown where nobody publishes anything, or no address is known', () => {
    const { verify, asked } = verifier(['googlebot'])
    assert.equal(verify(GPT, OUTSIDE), 'unknown')
    assert.equal(verify('SomeNewBot/1.0', OUTSIDE), 'unknown')
    assert.equal(verify(GOOGLE, ''), 'unknown')
    assert.deepEqual(asked, [])
  })
})

describe('answers', () => {
  for (const standing of ['verified', 'forged', 'unknown'] as const) {
    it(`${standing} is kept for its time, for that address and owner`, async () => {
      const { verify, asked, wait } = verifier([], standing)
      assert.equal(await verify(GOOGLE, OUTSIDE), standing)
      wait(KEPT_MS[standing] - 1)
      assert.equal(verify(GOOGLE, OUTSIDE), standing, 'without a promise')
      assert.equal(asked.length, 1)
      wait(1)
      await verify(GOOGLE, OUTSIDE)
      await verify(GOOGLE, IN_RANGE)
      await verify('Mozilla/5.0 (compatible; bingbot/2.0)', OUTSIDE)
      assert.equal(asked.length, 4)
    })
  }

  it('are asked for once by those who ask together', async () => {
    const { verify, asked } = verifier([], 'verified')
    const both = [verify(GOOGLE, OUTSIDE), verify(GOOGLE, OUTSIDE)]
    assert.deepEqual(await Promise.all(both), ['verified', 'verified'])
    assert.equal(asked.length, 1)
  })

  it('that do not come in time are unknown, and known once they came', { timeout: 20_000 }, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { promise, resolve } = Promise.withResolvers<Standing>()
    const { verify } = verifier([], () => promise)
    const first = verify(GOOGLE, OUTSIDE)
    t.mock.timers.tick(3_000)
    assert.equal(await first, 'unknown')
    resolve('forged')
    await promise
    assert.equal(await verify(GOOGLE, OUTSIDE), 'forged')
  })

  it('are looked up for so many addresses of an account at a time; one more is unknown, without a question', async () => {
    const { promise, resolve } = Promise.withResolvers<Standing>()
    const { verify, asked } = verifier([], () => promise)
    const open = Array.from({ length: LOOKUPS_LIMIT / 2 }, (_, at) => verify(GOOGLE, `203.0.113.${at}`))
    assert.equal(verify(GOOGLE, '198.51.100.1'), 'unknown')
    assert.equal(asked.length, LOOKUPS_LIMIT / 2)
    // The crawler of another account is verified all the same.
    open.push(verify(GOOGLE, '198.51.100.2', 2))
    assert.equal(asked.at(-1), '198.51.100.2')
    resolve('verified')
    assert((await Promise.all(open)).every((standing) => standing === 'verified'))
    assert.equal(await verify(GOOGLE, '198.51.100.1'), 'verified')
  })
})

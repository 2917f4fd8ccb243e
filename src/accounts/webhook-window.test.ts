import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'

import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import type { DomainId } from '../ids.ts'
import { countWebhookRequest, WEBHOOK_WINDOW_MS, WEBHOOK_WINDOW_REQUESTS } from './webhook-window.ts'

const T0 = Date.parse('2026-11-15T12:30:00.000Z')

let database: TestDatabase
let count = 0
before(async () => {
  database = await testDatabase()
})
after(() => database.close())

async function domain(): Promise<DomainId> {
  const { rows } = await database.pool.query(
    `with owner as (insert into account (email, plan) values ($1 || '@example.com', 'agency_plus') returning id)
     insert into domain (account_id, custom_domain, origin_url) select id, $1, 'https://o.example.com' from owner
     returning id`,
    [`w${++count}`],
  )
  return rows[0].id
}
const request = (of: DomainId, atMs: number) => countWebhookRequest(database.pool, of, atMs)

describe('the window of a domain', () => {
  it('lets 10 requests through, not an eleventh, and says when it ends', async () => {
    const of = await domain()
    for (let n = 0; n < WEBHOOK_WINDOW_REQUESTS; n++) {
      assert.deepEqual(await request(of, T0 + n), { allowed: true })
    }
    assert.deepEqual(await request(of, T0 + 100), { allowed: false, retryAfterSeconds: 3_600 })
    assert.deepEqual(await request(of, T0 + 1_000), { allowed: false, retryAfterSeconds: 3_599 })
    assert.deepEqual(await request(of, T0 + WEBHOOK_WINDOW_MS - 1), { allowed: false, retryAfterSeconds: 1 })
  })

  // Proves interface 8/4
  it('ends one hour after its first request, whatever was refused meanwhile; the next begins with the next request', async () => {
    const of = await domain()
    for (let n = 0; n < 30; n++) await request(of, T0 + n * 60_000)
    assert.equal((await request(of, T0 + WEBHOOK_WINDOW_MS - 1)).allowed, false)

    const second = T0 + WEBHOOK_WINDOW_MS + 5_000
    for (let n = 0; n < 10; n++) assert.equal((await request(of, second + n)).allowed, true)
    assert.equal((await request(of, second + WEBHOOK_WINDOW_MS - 1)).allowed, false)
    assert.equal((await request(of, second + WEBHOOK_WINDOW_MS)).allowed, true)
  })

  // Proves interface 8/4
  it('ends exactly one hour after, not a millisecond later', async () => {
    const of = await domain()
    for (let n = 0; n < 11; n++) await request(of, T0)
    assert.equal((await request(of, T0 + WEBHOOK_WINDOW_MS)).allowed, true)
  })

  it('lets exactly 10 of 50 through that come at once, also when they open the next window', async () => {
    const of = await domain()
    for (const atMs of [T0, T0 + WEBHOOK_WINDOW_MS]) {
      const verdicts = await Promise.all(Array.from({ length: 50 }, () => request(of, atMs)))
      assert.equal(verdicts.filter(({ allowed }) => allowed).length, 10)
    }
  })

  // Proves interface 8/3
  it('is that of one domain: another has its own', async () => {
    const [of, other] = [await domain(), await domain()]
    for (let n = 0; n < 11; n++) await request(of, T0)
    assert.equal((await request(other, T0)).allowed, true)
  })
})

import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { until } from '../../test/support/condition.ts'
import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import { BUFFER_LIMIT } from '../db/buffered-writes.ts'
import type { DomainId, PagePath } from '../ids.ts'
import { silentLog } from '../log.ts'
import { createLastVisits, removeOldVisits } from './last-visits.ts'
import { pageId } from './page-id.ts'

let database: TestDatabase
before(async () => {
  database = await testDatabase()
  await database.pool.query(`insert into account (email, plan) values ('a@example.com', 'pro')`)
  await database.pool.query(
    `insert into domain (account_id, custom_domain, origin_url) values (1, 'red.example', 'http://o.example')`,
  )
})
after(() => database.close())
beforeEach(() => database.pool.query('truncate last_visit'))

const visit = (path: string, crawler: string, atMs: number, domain = 1) => ({
  ...{ page: pageId(domain as DomainId, path as PagePath), crawler, category: 'search' as const, atMs },
})
const start = () => createLastVisits({ pool: database.pool, log: silentLog() })
const stored = async () =>
  (
    await database.pool.query<{ path: string; crawler: string; at: number }>(
      'select path, crawler, extract(epoch from visited_at)::integer as at from last_visit order by path',
    )
  ).rows.map(({ path, crawler, at }) => `${path} ${crawler} ${at}`)

describe('last visits', () => {
  it('the last of each page is written, and an older one of another node does not replace it', async () => {
    const [one, other] = [start(), start()]
    one.note(visit('/b', 'Bingbot', 1_000))
    one.note(visit('/a', 'Bingbot', 1_000))
    one.note(visit('/a', 'Googlebot', 3_000))
    await one.flush()
    other.note(visit('/a', 'GPTBot', 2_000))
    other.note(visit('/b', 'GPTBot', 2_000))
    await other.close()
    assert.deepEqual(await stored(), ['/a Googlebot 3', '/b GPTBot 2'])
  })

  it('a domain that was deleted meanwhile costs the others nothing', async () => {
    const visits = start()
    visits.note(visit('/gone', 'Googlebot', 1_000, 987_654))
    visits.note(visit('/a', 'Googlebot', 1_000))
    await visits.flush()
    assert.deepEqual(await stored(), ['/a Googlebot 1'])
  })

  it('memory is bounded; a page that waits already is noted on', async () => {
    const visits = start()
    for (let n = 0; n < BUFFER_LIMIT; n++) visits.note(visit(`/${n}`, 'Googlebot', 1_000))
    visits.note(visit('/one-more', 'Googlebot', 1_000))
    visits.note(visit('/7', 'GPTBot', 2_000))
    await visits.flush()
    const lines = await stored()
    assert.equal(lines.length, BUFFER_LIMIT)
    assert(lines.includes('/7 GPTBot 2'))
    assert(!lines.some((line) => line.startsWith('/one-more ')))
  })

  it('is written by itself after a while, and a database that is away costs only what waited', async () => {
    const visits = createLastVisits({ pool: database.pool, log: silentLog(), flushEveryMs: 1 })
    await database.pool.query('alter table last_visit rename to elsewhere')
    visits.note(visit('/lost', 'Googlebot', 1_000))
    await visits.flush()
    await database.pool.query('alter table elsewhere rename to last_visit')
    visits.note(visit('/a', 'Googlebot', 1_000))
    await until('it is written', async () => (await stored()).length > 0)
    assert.deepEqual(await stored(), ['/a Googlebot 1'])
    await visits.close()
  })

  // Proves decided "Last crawler of a page"
  it('those of more than 30 days ago are removed', async () => {
    await database.pool.query(
      `insert into last_visit values (1, '/old', 'a', 'ai', now() - interval '30 days 1 minute'),
                                     (1, '/kept', 'a', 'ai', now() - interval '29 days 23 hours')`,
    )
    assert.equal(await removeOldVisits(database.pool), 1)
    assert.equal((await stored())[0]?.split(' ')[0], '/kept')
  })
})

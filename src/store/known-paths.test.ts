import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import { BUFFER_LIMIT } from '../db/buffered-writes.ts'
import type { DomainId, PagePath } from '../ids.ts'
import { silentLog } from '../log.ts'
import { createAskedPaths, recordKnown } from './known-paths.ts'
import { pageId } from './page-id.ts'

const DAY = 86_400_000
let database: TestDatabase
let domain: DomainId
before(async () => {
  database = await testDatabase()
  await database.pool.query(`insert into account (email, plan) values ('a@example.com', 'pro')`)
  const { rows } = await database.pool.query<{ id: DomainId }>(
    `insert into domain (account_id, custom_domain, origin_url)
     select id, 'red.example', 'http://origin.example' from account returning id`,
  )
  domain = rows[0]!.id
})
after(() => database.close())

async function count(): Promise<number> {
  const { rows } = await database.pool.query<{ n: number }>('select count(*)::int as n from known_path')
  return rows[0]!.n
}

async function seenAt(path: string): Promise<number | undefined> {
  const sql = `select seen_at from known_path where path = $1 and source = 'crawler'`
  const { rows } = await database.pool.query<{ seen_at: Date }>(sql, [path])
  return rows[0]?.seen_at.getTime()
}

it('writes a path again once its row is older than a day', async () => {
  const record = (nowMs: number) =>
    recordKnown(database.pool, 'crawler', [pageId(domain, '/a' as PagePath)], nowMs)
  await record(1_000)
  await record(1_000 + DAY)
  assert.equal(await seenAt('/a'), 1_000)
  await record(1_001 + DAY)
  assert.equal(await seenAt('/a'), 1_001 + DAY)
})

it('a domain that is gone costs the others of the batch nothing', async () => {
  const known = [
    pageId(999_999 as DomainId, '/gone' as PagePath),
    pageId(domain, '/still' as PagePath),
    pageId(domain, '/still' as PagePath),
  ]
  await recordKnown(database.pool, 'crawler', known, 5_000)
  assert.equal(await seenAt('/gone'), undefined)
  assert.equal(await seenAt('/still'), 5_000)
})

it('holds so many paths until the flush, and one more is left out', async () => {
  await database.pool.query('delete from known_path')
  const asked = createAskedPaths({
    db: database.pool,
    nowMs: () => 0,
    log: silentLog(),
    flushEveryMs: 60_000,
  })
  for (let path = 0; path < BUFFER_LIMIT + 1; path++) asked.note(pageId(domain, `/${path}` as PagePath))
  asked.note(pageId(domain, '/0' as PagePath))
  assert.equal(await count(), 0)
  await asked.flush()
  assert.equal(await count(), BUFFER_LIMIT)
  assert.equal(await seenAt(`/${BUFFER_LIMIT}`), undefined)
})

it('flushes by itself', async () => {
  const asked = createAskedPaths({ db: database.pool, nowMs: () => 0, log: silentLog(), flushEveryMs: 5 })
  asked.note(pageId(domain, '/by-itself' as PagePath))
  const deadline = Date.now() + 5_000
  while ((await seenAt('/by-itself')) === undefined) assert(Date.now() < deadline)
  await asked.close()
})

it('gives up what cannot be written, and goes on', async () => {
  let broken = true
  const db = {
    query: (...args: Parameters<typeof database.pool.query>) => {
      if (broken) throw new Error('no database')
      return database.pool.query(...args)
    },
  } as typeof database.pool
  const asked = createAskedPaths({ db, nowMs: () => 0, log: silentLog(), flushEveryMs: 60_000 })
  asked.note(pageId(domain, '/lost' as PagePath))
  await asked.flush()
  broken = false
  asked.note(pageId(domain, '/kept' as PagePath))
  await asked.flush()
  assert.deepEqual([await seenAt('/lost'), await seenAt('/kept')], [undefined, 0])
})

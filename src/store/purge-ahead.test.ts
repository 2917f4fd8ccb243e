import assert from 'node:assert/strict'
import { after, before, beforeEach, it } from 'node:test'

import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import type { DomainId, PagePath } from '../ids.ts'
import { AHEAD_FROM, purgeAhead } from './purge.ts'

const [red, blue] = [1, 2] as [DomainId, DomainId]

let database: TestDatabase
before(async () => {
  database = await testDatabase()
  await database.pool.query(`insert into account (email, plan) values ('a@example.com', 'pro')`)
  await database.pool.query(
    `insert into domain (account_id, custom_domain, origin_url)
     values (1, 'red.example', 'http://o.example'), (1, 'blue.example', 'http://o.example')`,
  )
})
after(() => database.close())
beforeEach(() => database.pool.query('truncate page'))

const store = (domain: DomainId, prefix: string, count: number) =>
  database.pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     select $1, $2 || n, 200, '[]', '', 0, 'e', now() from generate_series(1, $3) n`,
    [domain, prefix, count],
  )
const left = async () => {
  const { rows } = await database.pool.query(
    `select domain_id as domain, left(path, 2) as path, count(*)::int as pages from page group by 1, 2 order by 1, 2`,
  )
  return rows.map(({ domain, path, pages }) => [domain, path, pages])
}

it('a large purge is done ahead, of that domain and below that prefix only', async () => {
  await store(red, '/a', AHEAD_FROM + 1)
  await store(red, '/b', 3)
  await store(blue, '/a', 2)
  assert.equal(await purgeAhead(database.pool, red, { kind: 'prefix', prefix: '/a' }), AHEAD_FROM + 1)
  assert.deepEqual(await left(), [
    [red, '/b', 3],
    [blue, '/a', 2],
  ])
  await store(red, '/a', AHEAD_FROM)
  assert.equal(await purgeAhead(database.pool, red, { kind: 'all' }), AHEAD_FROM + 3)
  assert.deepEqual(await left(), [[blue, '/a', 2]])
})

it('others are left to their own transaction', async () => {
  await store(red, '/a', AHEAD_FROM)
  for (const what of [
    { kind: 'all' },
    { kind: 'prefix', prefix: '/a' },
    { kind: 'path', path: '/a1' as PagePath },
  ] as const) {
    assert.equal(await purgeAhead(database.pool, red, what), 0)
  }
  assert.deepEqual(await left(), [[red, '/a', AHEAD_FROM]])
})

it('a page that is being stored at this moment is waited for by nobody', async () => {
  await store(red, '/a', AHEAD_FROM + 1)
  const client = await database.pool.connect()
  try {
    await client.query('begin')
    await client.query(`update page set rendered_at = now() where path = '/a7'`)
    assert.equal(await purgeAhead(database.pool, red, { kind: 'all' }), AHEAD_FROM)
    await client.query('commit')
  } finally {
    client.release()
  }
})

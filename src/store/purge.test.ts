import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import pg from 'pg'
import { until } from '../../test/support/condition.ts'
import { type TestDatabase, testDatabase, waitingForLocks } from '../../test/support/database.ts'
import { createListener } from '../db/listener.ts'
import { transaction } from '../db/transaction.ts'
import type { DomainId, PagePath } from '../ids.ts'
import { silentLog } from '../log.ts'
import { type Invalidation, invalidateOn } from './invalidation.ts'
import { pageId } from './page-id.ts'
import { type PurgeWhat, purgePages } from './purge.ts'

let database: TestDatabase
let red: DomainId
let blue: DomainId
before(async () => {
  database = await testDatabase()
  await database.pool.query(`insert into account (email, plan) values ('a@example.com', 'pro')`)
  const { rows } = await database.pool.query<{ id: DomainId }>(
    `insert into domain (account_id, custom_domain, origin_url)
     select id, site, 'http://origin.example' from account, unnest(array['red.example', 'blue.example']) as site
     returning id`,
  )
  ;[red, blue] = rows.map(({ id }) => id) as [DomainId, DomainId]
})
after(() => database.close())

const PATHS = ['/', '/a', '/a/b', '/a_b', '/a%25', '/A']
beforeEach(async () => {
  await database.pool.query('truncate page, redirect, sitemap, job, unstored_page')
  for (const domain of [red, blue]) {
    await database.pool.query(
      `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
       select $1, path, 200, '[]', '', 0, 'x', now() from unnest($2::text[]) as path`,
      [domain, PATHS],
    )
    await database.pool.query(`insert into redirect values ($1, '/old', 301, '/', now())`, [domain])
    await database.pool.query(`insert into sitemap values ($1, '/sitemap.xml', '{}', '', now())`, [domain])
    await database.pool.query(
      `insert into job (domain_id, account_id, path, priority, turn, state)
       select id, account_id, path, 0, 1, state
         from domain, (values ('/a', 'running'), ('/c', 'running'), ('/d', 'queued')) job (path, state) where id = $1`,
      [domain],
    )
  }
})

const purge = (what: PurgeWhat) => transaction(database.pool, (client) => purgePages(client, red, what))

async function left(domain: DomainId) {
  const read = async (sql: string) =>
    (await database.pool.query<{ path: string }>(sql, [domain])).rows.map(({ path }) => path)
  return {
    pages: await read('select path from page where domain_id = $1 order by path'),
    others: await read(
      'select path from redirect where domain_id = $1 union select path from sitemap where domain_id = $1',
    ),
    superseded: await read('select path from job where domain_id = $1 and superseded order by path'),
  }
}

describe('a purge', () => {
  const cases: Record<string, { what: PurgeWhat; deleted: number; pages: string[]; superseded: string[] }> = {
    'of all': { what: { kind: 'all' }, deleted: 8, pages: [], superseded: ['/a', '/c'] },
    'of a path': {
      what: { kind: 'path', path: '/a' as PagePath },
      deleted: 3,
      pages: ['/', '/A', '/a%25', '/a/b', '/a_b'],
      superseded: ['/a'],
    },
    'of a path that is not stored': {
      what: { kind: 'path', path: '/none' as PagePath },
      deleted: 2,
      pages: ['/', '/A', '/a', '/a%25', '/a/b', '/a_b'],
      superseded: [],
    },
    'by prefix': {
      what: { kind: 'prefix', prefix: '/a' },
      deleted: 6,
      pages: ['/', '/A'],
      superseded: ['/a'],
    },
    'by a prefix with characters that LIKE would read as wildcards': {
      what: { kind: 'prefix', prefix: '/a%25' },
      deleted: 3,
      pages: ['/', '/A', '/a', '/a/b', '/a_b'],
      superseded: [],
    },
    'by a prefix with an underscore': {
      what: { kind: 'prefix', prefix: '/a_' },
      deleted: 3,
      pages: ['/', '/A', '/a', '/a%25', '/a/b'],
      superseded: [],
    },
    'of several paths': {
      what: { kind: 'paths', paths: ['/c', '/a', '/none', '/A'] as PagePath[] },
      deleted: 4,
      pages: ['/', '/a%25', '/a/b', '/a_b'],
      superseded: ['/a', '/c'],
    },
    'of all that a search finds': {
      what: { kind: 'matching', match: { kind: 'contains', text: 'A' } },
      deleted: 7,
      pages: ['/'],
      superseded: ['/a'],
    },
    'of all that a search finds, whose text is no pattern': {
      what: { kind: 'matching', match: { kind: 'contains', text: '_' } },
      deleted: 3,
      pages: ['/', '/A', '/a', '/a%25', '/a/b'],
      superseded: [],
    },
  }
  for (const [name, { what, deleted, pages, superseded }] of Object.entries(cases)) {
    it(`${name}: deletes it, all redirects and sitemaps, and nothing of another domain`, async () => {
      const other = await left(blue)
      assert.equal(await purge(what), deleted)
      assert.deepEqual(await left(red), { pages, others: [], superseded })
      assert.deepEqual(await left(blue), other)
      assert.equal(other.pages.length, PATHS.length)
    })
  }

  // Proves decided "Purge and refresh of selected pages"
  it('tells every node what it was, once it is committed', async () => {
    const listener = await createListener(database.connection, silentLog())
    const heard: Invalidation[] = []
    invalidateOn(listener, [{ invalidate: (what) => void heard.push(what), lost: () => {} }])
    const { promise, resolve } = Promise.withResolvers<void>()
    listener.on('end', () => resolve())
    await listener.settled()
    await purge({ kind: 'all' })
    await purge({ kind: 'path', path: '/a' as PagePath })
    await purge({ kind: 'prefix', prefix: '/a' })
    await purge({ kind: 'paths', paths: ['/b', '/a'] as PagePath[] })
    await purge({ kind: 'matching', match: { kind: 'contains', text: 'a' } })
    const undone = transaction(database.pool, async (client) => {
      await purgePages(client, red, { kind: 'all' })
      throw new Error('undone')
    })
    await assert.rejects(undone, /undone/)
    await database.pool.query(`select pg_notify('end', '')`)
    await promise
    assert.deepEqual(heard, [
      { kind: 'domain', domain: red },
      {
        kind: 'page',
        domain: red,
        page: pageId(red, '/a' as PagePath),
        isOne: false,
        purged: true,
        storedMs: null,
      },
      { kind: 'prefix', domain: red, prefix: '/a' },
      {
        kind: 'page',
        domain: red,
        page: pageId(red, '/b' as PagePath),
        isOne: false,
        purged: true,
        storedMs: null,
      },
      {
        kind: 'page',
        domain: red,
        page: pageId(red, '/a' as PagePath),
        isOne: false,
        purged: true,
        storedMs: null,
      },
      { kind: 'domain', domain: red },
    ])
    await listener.close()
  })

  it('of the longest path fits into a notification', async () => {
    const longest = `/${'%'.repeat(2_047)}` as PagePath
    await purge({ kind: 'path', path: longest })
  })

  it('waits for a render that is being stored, and deletes what it brings', async () => {
    const stored = Promise.withResolvers<void>()
    const finish = Promise.withResolvers<void>()
    const render = transaction(database.pool, async (client) => {
      await client.query(`select from job where domain_id = $1 and path = '/c' for update`, [red])
      await client.query(
        `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
         values ($1, '/c', 200, '[]', '', 0, 'x', now())`,
        [red],
      )
      stored.resolve()
      await finish.promise
    })
    await stored.promise
    const purging = purge({ kind: 'all' })
    await waiting()
    finish.resolve()
    await render
    assert.equal(await purging, 9)
    assert.deepEqual((await left(red)).pages, [])
  })
})

async function waiting(): Promise<void> {
  await until("a session waits for another's lock", async () => (await waitingForLocks(database.pool)) !== 0)
}

it('of a domain with very many pages takes its time', async () => {
  // Long for all that is quick, also where the machine is busy.
  const hasty = new pg.Pool({ ...database.connection, max: 1, statement_timeout: 700, query_timeout: 1_100 })
  await database.pool.query(
    `create function dawdle() returns trigger language plpgsql as 'begin perform pg_sleep(1.2); return null; end';
     create trigger dawdle after delete on page execute function dawdle()`,
  )
  try {
    const purged = transaction(hasty, (client) => purgePages(client, red, { kind: 'all' }))
    assert.equal(await purged, PATHS.length + 2)
  } finally {
    await database.pool.query('drop trigger dawdle on page')
    await hasty.end()
  }
})

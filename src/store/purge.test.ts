import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import pg from 'pg'
import { until } from '../../test/support/condition.ts'
import { waitingForLocks } from '../../test/support/database.ts'
import { openQueue } from '../../test/support/queue.ts'
import { transaction } from '../db/transaction.ts'
import type { DomainId, PagePath } from '../ids.ts'
import { type Invalidation, invalidateOn } from './invalidation.ts'
import { pageId } from './page-id.ts'
import { AHEAD_FROM, type PurgeWhat, purgeAhead, purgePages } from './purge.ts'

const queue = await openQueue()
const { pool } = queue
const [red, blue] = [await queue.domain(), await queue.domain()]
const PATHS = ['/', '/a', '/a/b', '/a_b', '/a%25', '/A']
beforeEach(async () => {
  await pool.query('truncate page, redirect, sitemap')
  for (const domain of [red, blue]) {
    await queue.store(domain, PATHS)
    await pool.query(`insert into redirect values ($1, '/old', 301, '/', now())`, [domain])
    await pool.query(`insert into sitemap values ($1, '/sitemap.xml', '{}', '', now())`, [domain])
    await pool.query(
      `insert into job (domain_id, account_id, path, priority, turn, state)
       select id, account_id, path, 0, 1, state
         from domain, (values ('/a', 'running'), ('/c', 'running'), ('/d', 'queued')) job (path, state) where id = $1`,
      [domain],
    )
  }
})

const purge = (what: PurgeWhat) => transaction(pool, (client) => purgePages(client, red, what))

async function left(domain: DomainId) {
  const sql = 'select from redirect where domain_id = $1 union all select from sitemap where domain_id = $1'
  const superseded = (await queue.jobs(domain)).flatMap(({ path, superseded }) => (superseded ? path : []))
  const others = (await pool.query(sql, [domain])).rowCount
  return { pages: await queue.stored(domain), others, superseded: superseded.sort() }
}

const of = (path: string) => ({ kind: 'path', path: path as PagePath }) as const
const prefix = (prefix: string) => ({ kind: 'prefix', prefix }) as const
const matching = (text: string) => ({ kind: 'matching', match: { kind: 'contains', text } }) as const

describe('a purge', () => {
  const several = { kind: 'paths', paths: ['/c', '/a', '/none', '/A'] as PagePath[] } as const
  const cases: [name: string, what: PurgeWhat, deleted: number, pages: string, superseded: string][] = [
    ['of all', { kind: 'all' }, 8, '', '/a /c'],
    ['of a path', of('/a'), 3, '/ /A /a%25 /a/b /a_b', '/a'],
    ['of a path that is not stored', of('/none'), 2, '/ /A /a /a%25 /a/b /a_b', ''],
    ['by prefix', prefix('/a'), 6, '/ /A', '/a'],
    ['by a prefix with what LIKE would read as wildcards', prefix('/a%25'), 3, '/ /A /a /a/b /a_b', ''],
    ['by a prefix with an underscore', prefix('/a_'), 3, '/ /A /a /a%25 /a/b', ''],
    ['of several paths', several, 4, '/ /a%25 /a/b /a_b', '/a /c'],
    ['of all that a search finds', matching('A'), 7, '/', '/a'],
    ['of all that a search finds, whose text is no pattern', matching('_'), 3, '/ /A /a /a%25 /a/b', ''],
  ]
  for (const [name, what, deleted, pages, superseded] of cases) {
    it(`${name}: deletes it, all redirects and sitemaps, and nothing of another domain`, async () => {
      const other = await left(blue)
      assert.equal(await purge(what), deleted)
      const { others, ...lists } = await left(red)
      assert.deepEqual([lists.pages.join(' '), others, lists.superseded.join(' ')], [pages, 0, superseded])
      assert.deepEqual(await left(blue), other)
      assert.equal(other.pages.length, PATHS.length)
    })
  }

  // Proves decided "Purge and refresh of selected pages"
  it('tells every node what it was, once it is committed', async () => {
    const listener = await queue.listener()
    const heard: Invalidation[] = []
    invalidateOn(listener, [{ invalidate: (what) => void heard.push(what), lost: () => {} }])
    const { promise, resolve } = Promise.withResolvers<void>()
    listener.on('end', () => resolve())
    await listener.settled()
    await purge({ kind: 'all' })
    await purge(of('/a'))
    await purge(prefix('/a'))
    await purge({ kind: 'paths', paths: ['/b', '/a'] as PagePath[] })
    await purge(matching('a'))
    const undone = transaction(pool, async (client) => {
      await purgePages(client, red, { kind: 'all' })
      throw new Error('undone')
    })
    await assert.rejects(undone, /undone/)
    await pool.query(`select pg_notify('end', '')`)
    await promise
    const told = (path: string) => ({
      ...{ kind: 'page', domain: red, page: pageId(red, path as PagePath) },
      ...{ isOne: false, purged: true, storedMs: null },
    })
    const all = { kind: 'domain', domain: red }
    const below = { kind: 'prefix', domain: red, prefix: '/a' }
    assert.deepEqual(heard, [all, told('/a'), below, told('/b'), told('/a'), all])
  })

  it('of the longest path fits into a notification', async () =>
    void (await purge(of(`/${'%'.repeat(2_047)}`))))

  it('waits for a render that is being stored, and deletes what it brings', async () => {
    const stored = Promise.withResolvers<void>()
    const finish = Promise.withResolvers<void>()
    const render = transaction(pool, async (client) => {
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
    await until("it waits for the render's lock", async () => (await waitingForLocks(pool)) !== 0)
    finish.resolve()
    await render
    assert.equal(await purging, 9)
    assert.deepEqual((await left(red)).pages, [])
  })
})

it('of a domain with very many pages takes its time', async () => {
  // Long for all that is quick, also where the machine is busy.
  const hasty = new pg.Pool({ ...queue.connection, max: 1, statement_timeout: 700, query_timeout: 1_100 })
  await pool.query(
    `create function dawdle() returns trigger language plpgsql as 'begin perform pg_sleep(1.2); return null; end';
     create trigger dawdle after delete on page execute function dawdle()`,
  )
  try {
    const purged = transaction(hasty, (client) => purgePages(client, red, { kind: 'all' }))
    assert.equal(await purged, PATHS.length + 2)
  } finally {
    await pool.query('drop trigger dawdle on page')
    await hasty.end()
  }
})

describe('a large purge', () => {
  const many = (prefix: string, count: number) =>
    queue.store(
      red,
      Array.from({ length: count }, (_, n) => `${prefix}${n}`),
    )
  beforeEach(() => pool.query('truncate page'))

  it('is done ahead, of that domain and below that prefix only', async () => {
    await many('/a', AHEAD_FROM + 1)
    await many('/b', 3)
    await queue.store(blue, ['/a1', '/a2'])
    assert.equal(await purgeAhead(pool, red, prefix('/a')), AHEAD_FROM + 1)
    assert.deepEqual(await queue.stored(red), ['/b0', '/b1', '/b2'])
    await many('/a', AHEAD_FROM)
    assert.equal(await purgeAhead(pool, red, { kind: 'all' }), AHEAD_FROM + 3)
    assert.deepEqual([await queue.stored(red), await queue.stored(blue)], [[], ['/a1', '/a2']])
  })

  it('is what has more pages than others, which are left to their own transaction', async () => {
    await many('/a', AHEAD_FROM)
    for (const what of [{ kind: 'all' }, prefix('/a'), of('/a1')] as const)
      assert.equal(await purgeAhead(pool, red, what), 0)
    assert.equal((await queue.stored(red)).length, AHEAD_FROM)
  })

  it('does not wait for a page that is being stored at this moment', async () => {
    await many('/a', AHEAD_FROM + 1)
    await transaction(pool, async (client) => {
      await client.query(`update page set rendered_at = now() where path = '/a7'`)
      assert.equal(await purgeAhead(pool, red, { kind: 'all' }), AHEAD_FROM)
    })
  })
})

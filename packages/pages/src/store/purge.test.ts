import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import { type PageVariant, pageId } from '@prepaint/contract/page/page-id.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { until } from '../../../../test/support/condition.ts'
import { invalidatedBy, waitingForLocks } from '../../../../test/support/database.ts'
import { seenQueries } from '../../../../test/support/edge.ts'
import { openQueue, paths } from '../../../../test/support/queue.ts'
import {
  AHEAD_FROM,
  type DeletedPages,
  type DeletionReason,
  deletePages,
  type PurgeWhat,
  purgeAhead,
} from './purge.ts'
import { removeExpired } from './remove-expired.ts'
import { createStoredReader, readStored } from './stored-page.ts'

const queue = await openQueue()
const { pool } = queue

describe('purges', async () => {
  const [red, blue] = [await queue.domain(), await queue.domain()]
  const PATHS = ['/', '/a', '/a/b', '/a_b', '/a%25', '/A']
  beforeEach(async () => {
    await pool.query('truncate page, redirect, sitemap cascade')
    for (const domain of [red, blue]) {
      await queue.store(domain, PATHS)
      await pool.query(
        `insert into redirect values (${domain}, '/old', 301, '/', now());
         insert into sitemap values (${domain}, '/sitemap.xml', '{}', '', now());
         insert into job (domain_id, account_id, path, priority, turn, state)
         select id, account_id, path, 0, 1, state
           from domain, (values ('/a', 'running'), ('/c', 'running'), ('/d', 'queued')) job (path, state) where id = ${domain}`,
      )
    }
  })

  const purge = (what: PurgeWhat) => queue.purge(red, what)

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
      ['of several paths', several, 4, '/ /a%25 /a/b /a_b', '/a /c'],
      ['of all that a search finds', matching('A'), 7, '/', '/a'],
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
      const heard = await invalidatedBy(queue, async () => {
        await purge({ kind: 'all' })
        await purge(of('/a'))
        await purge(prefix('/a'))
        await purge({ kind: 'paths', paths: ['/b', '/a'] as PagePath[] })
        await purge(matching('a'))
        const undone = transaction(pool, async (client) => {
          await deletePages(client, red, { kind: 'all' }, 'purge')
          throw new Error('undone')
        })
        await assert.rejects(undone, /undone/)
      })
      const told = (path: string) => ({ domain: red, path, purged: true })
      const [all, below] = [{ domain: red }, { domain: red, prefix: '/a', purged: true }]
      assert.deepEqual(heard, [all, told('/a'), below, told('/b'), told('/a'), all])
    })

    it('waits for a render that is being stored, and deletes what it brings', async () => {
      let purging: Promise<number> | undefined
      await transaction(pool, async (client) => {
        await client.query(`select from job where domain_id = $1 and path = '/c' for update`, [red])
        await client.query(
          `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
           values ($1, '/c', 200, '[]', '', 0, 'x', now())`,
          [red],
        )
        purging = purge({ kind: 'all' })
        await until("it waits for the render's lock", async () => (await waitingForLocks(pool)) !== 0)
      })
      assert.equal(await purging, 9)
      assert.deepEqual((await left(red)).pages, [])
    })
  })

  it('a large purge is done ahead, of that domain and below that prefix only, and waits for no page that is being stored', async () => {
    await pool.query('truncate page cascade')
    await queue.store(red, paths(AHEAD_FROM + 1, '/a'))
    await queue.store(red, paths(3, '/b'))
    await queue.store(blue, ['/a1', '/a2'])
    assert.equal(await purgeAhead(pool, red, prefix('/a')), AHEAD_FROM + 1)
    assert.deepEqual(await queue.stored(red), ['/b0', '/b1', '/b2'])
    await queue.store(red, paths(AHEAD_FROM, '/a'))
    // What has fewer pages is left to its own transaction.
    assert.equal(await purgeAhead(pool, red, prefix('/a')), 0)
    await transaction(pool, async (client) => {
      await client.query(`update page set rendered_at = now() where path = '/a7'`)
      assert.equal(await purgeAhead(pool, red, { kind: 'all' }), AHEAD_FROM + 2)
    })
    assert.deepEqual([await queue.stored(red), await queue.stored(blue)], [['/a7'], ['/a1', '/a2']])
  })
})

describe('what goes with a page, by the reason', async () => {
  const domain = await queue.domain()
  const path = '/a' as PagePath
  beforeEach(async () => {
    await pool.query('truncate page, redirect, sitemap, page_digest, inspection, known_path, job cascade')
    await queue.store(domain, [path])
    await pool.query(
      `insert into page (domain_id, path, variant, status, headers, body_br, html_bytes, etag, rendered_at)
         select domain_id, path, 'mobile', status, headers, body_br, html_bytes, etag, rendered_at from page;
       insert into page_form (domain_id, path, variant, form, page_etag, body_br, etag, facts)
         select domain_id, path, variant, 'card', etag, '', 'e', '{}' from page;
       insert into redirect (domain_id, path, variant, status, location, stored_at)
         select domain_id, path, variant, 301, '/', now() from page;
       insert into redirect (domain_id, path, status, location, stored_at) values (${domain}, '/other', 301, '/', now());
       insert into sitemap values (${domain}, '/sitemap.xml', '{}', '', now());
       insert into page_digest (domain_id, path, variant, etag, status, html_bytes, rendered_at, facts)
         select domain_id, path, variant, 'e', 200, 1, now(), '' from page;
       insert into inspection (domain_id, path, variant, state) select domain_id, path, variant, 'done' from page;
       insert into job (domain_id, account_id, path, priority, turn, state)
         select id, account_id, '/a', 0, 1, 'running' from domain where id = ${domain}`,
    )
  })

  const TABLES = [
    'page',
    'page_form',
    'redirect',
    'sitemap',
    'page_digest',
    'inspection',
    'known_path',
  ] as const
  /** How many rows are left: a page has two variants, and another path has one redirect. */
  const left = () =>
    queue.column<number>(
      `select n::integer from (${TABLES.map((table, at) => `select ${at} as at, count(*) as n from ${table} where domain_id = $1`).join(' union all ')}
        union all select 9, count(*) from job where domain_id = $1 and superseded) c order by at`,
      domain,
    )
  const page = { kind: 'page', page: pageId(domain, path) } as const
  const unchanged = (etag: string) => ({ kind: 'unchanged', pages: [{ path, etag }] }) as const

  const cases: [why: DeletionReason, what: string, which: DeletedPages, left: number[], heard: object[]][] = [
    [
      'purge',
      'all that is derived, every redirect and sitemap; the path stays known',
      { kind: 'path', path },
      [0, 0, 0, 0, 0, 0, 1, 1],
      [{ domain, path, purged: true }],
    ],
    [
      'domain-deleted',
      'all of it, and no path stays known',
      { kind: 'all' },
      [0, 0, 0, 0, 0, 0, 0, 1],
      [{ domain }],
    ],
    [
      'refresh',
      'the page and its redirect; digests and inspections stay',
      { kind: 'paths', paths: [path] },
      [0, 0, 1, 1, 2, 2, 1, 1],
      [{ domain, path }],
    ],
    [
      'must-not-be-stored',
      'the variant, its redirect and its digests; inspections stay',
      page,
      [1, 1, 2, 1, 1, 2, 0, 0],
      [{ domain, path }],
    ],
    [
      'soft-404',
      'nothing of a page that was stored anew meanwhile',
      unchanged('newer'),
      [2, 2, 3, 1, 2, 2, 0, 0],
      [],
    ],
    [
      'one-device',
      'all of the mobile variant; renders of desktops go on',
      { kind: 'mobile' },
      [1, 1, 2, 1, 1, 1, 0, 0],
      [{ domain }],
    ],
  ]
  for (const [why, what, which, expected, heard] of cases) {
    it(`${why}: ${what}`, async () => {
      const announced = await invalidatedBy(queue, () =>
        transaction(pool, (client) => deletePages(client, domain, which, why)),
      )
      assert.deepEqual(await left(), expected, [...TABLES, 'superseded'].join())
      assert.deepEqual(announced, heard)
    })
  }

  it('soft-404: the pages only, if they are as they were judged', async () => {
    const [etag] = await queue.column<string>('select etag from page limit 1')
    const announced = await invalidatedBy(queue, async () => {
      assert.equal(await deletePages(pool, domain, unchanged(etag!), 'soft-404'), 2)
    })
    assert.deepEqual(await left(), [0, 0, 3, 1, 2, 2, 0, 0])
    assert.deepEqual(announced[0], { domain, path })
  })
})

describe('removal of what has expired', () => {
  const DAY = 24
  const MINUTE = 1 / 60
  beforeEach(() => pool.query('delete from domain'))

  const known = (of: DomainId, path: string, source: string, age: string) =>
    pool.query('insert into known_path values ($1, $2, $3, now() - $4::interval)', [of, path, source, age])
  const sitemap = (of: DomainId, path: string, age: string) =>
    pool.query(`insert into sitemap values ($1, $2, '{}', '', now() - $3::interval)`, [of, path, age])
  const left = (table: 'page' | 'redirect' | 'known_path' | 'sitemap') =>
    queue.column(`select path from ${table} order by path`)

  // Proves decided "Retention"
  it('pages and redirects go at the age to which their domain keeps them, not before', async () => {
    const [usual, brief, unreadable] = [await queue.domain(), await queue.domain(), await queue.domain()]
    await queue.set(brief, { keep_seconds: 60 })
    await queue.set(unreadable, { keep_seconds: 'a week' })
    await queue.store(unreadable, ['/unreadable-in-time'], 29 * DAY)
    await queue.store(unreadable, ['/unreadable-past'], 31 * DAY)
    await queue.store(usual, ['/in-time'], 30 * DAY - MINUTE)
    await queue.store(usual, ['/past'], 30 * DAY + MINUTE)
    await queue.store(brief, ['/brief-past'], 1.1 * MINUTE)
    const redirect = `insert into redirect values ($1, $2, 301, '/', now() - $3::interval)`
    await pool.query(redirect, [brief, '/moved-in-time', '50 seconds'])
    await pool.query(redirect, [brief, '/moved-past', '61 seconds'])

    assert.equal(await removeExpired(pool), 4)
    assert.deepEqual(await left('page'), ['/in-time', '/unreadable-in-time'])
    assert.deepEqual(await left('redirect'), ['/moved-in-time'])
  })

  it('pages go in steps, over all domains; one that is being rendered at this moment stays', async () => {
    for (const pages of [['/again', '/a', '/b'], ['/c']])
      await queue.store(await queue.domain(), pages, 31 * DAY)
    await transaction(pool, async (client) => {
      await client.query(`update page set rendered_at = now() where path = '/again'`)
      assert.equal(await removeExpired(pool, { step: 2 }), 3)
    })
    assert.deepEqual(await left('page'), ['/again'])
  })

  // Proves decided "Retention"
  it('known paths go when no crawler asked for them in 30 days; those of a sitemap when every sitemap was read two days later', async () => {
    const id = await queue.domain()
    await sitemap(id, '/sitemap.xml', '1 day')
    await sitemap(id, '/sitemap-2.xml', '4 days')
    await known(id, '/named-by-the-older', 'sitemap', '5 days 23:59')
    await known(id, '/named-by-none', 'sitemap', '6 days 00:01')
    await known(id, '/asked', 'crawler', '29 days 23:59')
    await known(id, '/asked-long-ago', 'crawler', '30 days 00:01')
    await known(await queue.domain(), '/never-read-again', 'sitemap', '80 days')
    assert.equal(await removeExpired(pool), 2)
    assert.deepEqual(await left('known_path'), ['/asked', '/named-by-the-older', '/never-read-again'])
  })

  it('sitemaps that nobody asked for in 90 days go', async () => {
    const id = await queue.domain()
    await sitemap(id, '/in-time.xml', '89 days 23:59')
    await sitemap(id, '/past.xml', '90 days 00:01')
    await removeExpired(pool)
    assert.deepEqual(await left('sitemap'), ['/in-time.xml'])
  })
})

it('pages that are read at once come in one statement, each as it comes alone', async () => {
  const statements: string[] = []
  const read = createStoredReader(
    seenQueries(pool, ({ name }) => void statements.push(name)),
    queue.bodies,
  )
  const id = (domain: DomainId, path: string, variant?: PageVariant) =>
    pageId(domain, path as PagePath, variant)
  const store = (domain: DomainId, path: string, etag: string, variant = 'desktop') =>
    pool.query(
      `insert into page (domain_id, path, variant, status, headers, body_br, html_bytes, etag, rendered_at)
       values ($1, $2, $4, 200, '[["X-One", "1"]]', 'body', 1, $3, now())`,
      [domain, path, etag, variant],
    )
  const [red, blue] = [await queue.domain(), await queue.domain()]
  await store(red, '/', 'red')
  await store(red, '/', 'red-phone', 'mobile')
  await store(blue, '/', 'blue')
  await store(red, '/moved', 'older')
  await pool.query(`insert into redirect values (${red}, '/moved', 301, '/', now() + interval '1 minute')`)
  const pages = [id(blue, '/'), id(red, '/none'), id(red, '/', 'mobile'), id(red, '/moved')]
  pages.push(id(red, '/'), id(red, '/'))
  const together = await Promise.all(pages.map((page) => read(page)))
  assert.deepEqual(statements, ['stored-pages-read'])
  assert.deepEqual(
    together.map((entry) => (entry?.kind === 'page' ? entry.etag : (entry?.kind ?? null))),
    ['blue', null, 'red-phone', 'redirect', 'red', 'red'],
  )
  assert.deepEqual(await Promise.all(pages.map((page) => readStored(pool, page, queue.bodies))), together)
})

import assert from 'node:assert/strict'
import { before, beforeEach, describe, it } from 'node:test'
import { PAGE_ORDERS } from '@prepaint/contract/api/pages.ts'
import type { DomainId, DomainName, PagePath } from '@prepaint/contract/ids.ts'
import { freshnessOf, freshUntil } from '@prepaint/contract/page/freshness.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { DEFAULT_DOMAIN_SETTINGS, type DomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import { etagOf } from '@prepaint/runtime/http/etag.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { lifetimesOf, RuleBook } from '@prepaint/runtime/rule-book.ts'
import { columns, openQueue } from '../../../../test/support/queue.ts'
import {
  countByFilter,
  countPages,
  type ListedPage,
  type ListPlace,
  type ListWanted,
  listPages,
  matchingPaths,
  type PageFilter,
  pageMatch,
} from './list-pages.ts'
import {
  DIGEST_LIMIT_CHARS,
  DIGESTS_A_PAGE,
  Digester,
  keepDigests,
  listDigests,
  PACKED_BESIDE_STORE,
  removeOldDigests,
  WAITING_LIMIT,
} from './page-digests.ts'
import { deletePages } from './purge.ts'
import { pageBody } from './stored-page.ts'

const queue = await openQueue()
const { pool } = queue

const MANY = 6_000
const NOW = '2026-11-15T12:00:00.000Z'
const NOW_MS = Date.parse(NOW)

// Their numbers are 1, 2 and 3.
for (let n = 0; n < 3; n++) await queue.domain()
const SITE = await queue.domain()
before(() =>
  pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     select 1, '/p/' || n, case when n % 10 = 0 then 404 else 200 end, '[]', '\\x00', n % 997, 'e',
            timestamptz '${NOW}' - (n % 5000) * interval '1 minute'
       from generate_series(1, ${MANY}) n;
     insert into last_visit
     select 1, '/p/' || n, 'Googlebot', 'search', timestamptz '${NOW}' - (n % 100) * interval '1 second'
       from generate_series(1, ${MANY}) n where n % 3 = 0;
     insert into last_render
     select 1, '/p/' || n, case when n % 4 = 0 then 'timed-out' else 'rendered' end, now()
       from generate_series(1, ${MANY}) n where n % 2 = 0;
     -- Visits and renders of what is no longer stored, and of another domain, are in no list.
     insert into last_visit values (1, '/gone', 'Googlebot', 'search', now()), (3, '/p/1', 'x', 'ai', now());
     insert into last_render values (1, '/gone', 'blank', now());
     analyze page, last_visit, last_render`,
  ),
)

const domain = (id: number, settings: Partial<DomainSettings> = {}) => ({
  id: id as DomainId,
  settings: { ...DEFAULT_DOMAIN_SETTINGS, ...settings },
})
const wanted = (given: Partial<ListWanted> = {}): ListWanted => ({
  ...{ match: null, order: 'path', direction: 'asc', after: null, limit: 100, nowMs: NOW_MS },
  ...given,
})

/** The whole list, piece by piece. */
async function all(of: ReturnType<typeof domain>, given: Partial<ListWanted>): Promise<ListedPage[]> {
  const found: ListedPage[] = []
  let after: ListPlace | null = null
  do {
    const piece = await listPages(pool, of, wanted({ ...given, after, limit: 1_000 }))
    found.push(...piece.pages)
    after = piece.next
  } while (after !== null)
  return found
}

const KEYS: Record<(typeof PAGE_ORDERS)[number], (page: ListedPage) => string | number | null> = {
  path: ({ path }) => path,
  status: ({ status }) => status,
  size: ({ htmlBytes }) => htmlBytes,
  rendered: ({ renderedAt }) => renderedAt.getTime(),
  fresh_until: ({ freshUntilMs }) => freshUntilMs,
  last_crawler: ({ lastCrawler }) => lastCrawler?.visitedAt.getTime() ?? null,
  last_render: ({ lastRender }) => lastRender?.outcome ?? null,
}

describe(`a list of ${MANY} pages`, () => {
  for (const order of PAGE_ORDERS) {
    it(`by ${order}: each page once, in order; what has nothing to be ordered by comes last`, async () => {
      const ranks = (pages: ListedPage[]) => pages.map((page) => [KEYS[order](page), page.path] as const)
      const listed = await all(domain(1), { order })
      const rising = ranks(listed)
      assert.equal(new Set(listed.map(({ path }) => path)).size, MANY)
      for (const [at, [key, path]] of rising.entries()) {
        const [before, pathBefore] = rising[at - 1] ?? [key, '']
        const isAfter = key === before ? path > pathBefore : key === null || (before !== null && key > before)
        assert(isAfter, `${pathBefore} (${before}), then ${path} (${key})`)
      }
      const falling = ranks(await all(domain(1), { order, direction: 'desc' }))
      const withKey = falling.filter(([key]) => key !== null)
      assert.deepEqual(withKey, rising.filter(([key]) => key !== null).reverse())
      assert.deepEqual(falling.slice(0, withKey.length), withKey)
    })
  }

  // Proves decided "Lists of pages"
  it('a list is searched by the beginning and by parts of paths, and counted', async () => {
    const cases = [
      [pageMatch('prefix', '/p/599'), 11],
      [pageMatch('contains', '/P/599'), 11],
      [pageMatch('prefix', '/P/599'), 0],
      [pageMatch('contains', '5999'), 1],
      [pageMatch('contains', '%'), 0],
      [pageMatch('contains', '_'), 0],
      [null, MANY],
    ] as const
    for (const [match, count] of cases) {
      assert.equal(await countPages(pool, domain(1), { match, nowMs: NOW_MS }), count)
      for (const order of PAGE_ORDERS) {
        if (match === null) continue
        assert.equal((await all(domain(1), { match, order })).length, count, `${order} ${match.text}`)
      }
    }
    const match = pageMatch('prefix', '/p/599')
    const first = await matchingPaths(pool, domain(1), { match, nowMs: NOW_MS }, 3)
    assert.deepEqual(first, ['/p/599', '/p/5990', '/p/5991'])
  })

  const FILTERS: Record<string, PageFilter> = {
    'one status': { status: [404] },
    'several statuses': { status: [200, 404] },
    'a status that no page has': { status: [500] },
    freshness: { freshness: ['stale', 'kept'] },
    'the last outcome': { outcome: ['timed-out'] },
    'the device': { variant: ['mobile'] },
    'visits in the last 30 days': { unvisited: false },
    'no visit in the last 30 days': { unvisited: true },
    'several filters': { status: [200], freshness: ['fresh'], outcome: ['rendered'], unvisited: true },
  }
  const rules = [{ path: '/p/1*', fresh_seconds: 600, stale_seconds: 60, keep_seconds: 50_000 }]
  const settings = { fresh_seconds: 86_400, stale_seconds: 43_200, keep_seconds: 3 * 86_400, rules }
  it('filters are counted for as many pages as the limit, and not for one more, of which the total is known', async () => {
    const asked = { match: null, filter: { status: [404] }, nowMs: NOW_MS }
    const within = await countByFilter(pool, domain(1), asked, MANY)
    assert.deepEqual(within.counts?.status, { 200: MANY * 0.9, 404: MANY * 0.1 })
    const beyond = await countByFilter(pool, domain(1), asked, MANY - 1)
    assert.deepEqual(beyond, { matching: MANY * 0.1, counts: null })
  })

  it('pages for desktops and for phones are counted by path, also where a page has only one of them', async () => {
    const id = await queue.domain()
    const counted = async () => {
      const asked = { match: null, nowMs: NOW_MS }
      const { matching, counts } = await countByFilter(pool, { ...domain(1), id }, asked)
      return [matching, counts?.variant]
    }
    await queue.store(id, ['/both', '/desktop'])
    assert.deepEqual(await counted(), [2, { desktop: 2 }])
    await pool.query(
      `insert into page (domain_id, path, variant, status, headers, body_br, html_bytes, etag, rendered_at)
       select $1, path, 'mobile', 200, '[]', '\\x00', 1, 'e', now() from unnest('{/both,/phone}'::text[]) path`,
      [id],
    )
    assert.deepEqual(await counted(), [3, { desktop: 2, mobile: 2 }])
  })

  for (const [name, filter] of Object.entries(FILTERS)) {
    // Proves decided "Filters of pages"
    it(`a filter by ${name} finds in every order, counts and names the same pages`, async () => {
      const of = domain(1, settings)
      const every = await all(of, {})
      const expected = every.filter((page) => passes(page, filter)).map(({ path }) => path)
      for (const order of PAGE_ORDERS) {
        const found = await all(of, { filter, order })
        assert.deepEqual(found.map(({ path }) => path).sort(), expected, order)
      }
      const asked = { match: null, filter, nowMs: NOW_MS }
      assert.equal(await countPages(pool, of, asked), expected.length)
      assert.deepEqual(await matchingPaths(pool, of, asked, MANY), expected)
      const { matching, counts } = await countByFilter(pool, of, asked)
      assert.equal(matching, expected.length)
      assert(counts !== null)
      for (const status of [200, 404]) {
        const beside = every.filter((page) => passes(page, { ...filter, status: [status] }))
        assert.equal(counts.status[status] ?? 0, beside.length, `${status}`)
      }
      for (const freshness of ['fresh', 'stale', 'kept', 'gone'] as const) {
        const beside = every.filter((page) => passes(page, { ...filter, freshness: [freshness] }))
        assert.equal(counts.freshness[freshness] ?? 0, beside.length, freshness)
      }
      for (const outcome of ['rendered', 'timed-out']) {
        const beside = every.filter((page) => passes(page, { ...filter, outcome: [outcome] }))
        assert.equal(counts.outcome[outcome] ?? 0, beside.length, outcome)
      }
      for (const unvisited of [true, false]) {
        const beside = every.filter((page) => passes(page, { ...filter, unvisited }))
        assert.equal(counts.unvisited[`${unvisited}`], beside.length, `${unvisited}`)
      }
    })
  }

  // Proves decided "Lists of pages"
  it('a list goes on where it was, whatever is purged meanwhile', async () => {
    const first = await listPages(pool, domain(1), wanted({ order: 'size', limit: 500 }))
    const last = first.pages.at(-1)!
    await pool.query(`delete from page where domain_id = 1 and path = $1`, [last.path])
    const next = await listPages(pool, domain(1), wanted({ order: 'size', limit: 1, after: first.next }))
    assert(next.pages[0]!.htmlBytes >= last.htmlBytes && next.pages[0]!.path !== last.path)
  })
})

it('a listed page is fresh for as long as the edge takes it to be, whatever the rules, its status and events say', async () => {
  const settings: Partial<DomainSettings> = {
    fresh_seconds: 7_200,
    rules: [
      { path: '/shop/pass*', action: 'render' },
      { path: '/shop*', fresh_seconds: 60 },
      { path: '/a_b%*', fresh_seconds: 600 },
      { path: '*.html', fresh_seconds: 30_000_000 },
    ],
  }
  const paths = '/ /shop /shop/pass/1 /a_b%41 /axb%41 /x.html /shop.html /back\\slash'.split(' ')
  await pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at, stale_since)
     select 2, path || suffix, status, '[]', '\\x0000', 5, 'e', $2::timestamptz - interval '50 minutes', stale
       from unnest($1::text[]) path,
            (values ('', 200, null::timestamptz), ('?n=404', 404, null),
                    ('?s', 200, $2::timestamptz - interval '1 minute')) as kinds (suffix, status, stale)`,
    [paths, new Date(NOW_MS)],
  )
  const of = domain(2, settings)
  const listed = await all(of, { order: 'fresh_until' })
  assert.equal(listed.length, paths.length * 3)
  const book = new RuleBook(settings.rules!)
  for (const page of listed) {
    const lifetimes = lifetimesOf(of.settings, book.chosen(page.path)?.rule ?? null)
    const renderedAtMs = NOW_MS - 50 * 60_000
    const staleSinceMs = page.path.endsWith('?s') ? NOW_MS - 60_000 : null
    const aged = { status: page.status, renderedAtMs, staleSinceMs }
    assert.equal(page.freshUntilMs, freshUntil(aged, lifetimes), page.path)
    assert.equal(page.freshness, freshnessOf(aged, lifetimes, NOW_MS), page.path)
  }
  const times = columns(listed, 'freshUntilMs').flat() as number[]
  assert(times.every((time, at) => at === 0 || time >= times[at - 1]!))
  assert(new Set(times).size >= 5, 'the rules tell them apart')
})

const path = (text: string) => text as PagePath

/** As a render does that has been completed. */
async function store(of: string, html: string): Promise<void> {
  const { bodyBr, htmlBytes, etag } = await pageBody(html)
  await pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     values ($5, $1, 200, '[]', $2, $3, $4, now())
     on conflict (domain_id, path, variant) do update set body_br = $2, html_bytes = $3, etag = $4, rendered_at = now()`,
    [of, bodyBr, htmlBytes, etag, SITE],
  )
}
const stored = (of: string, html: string) => ({
  ...{ page: pageId(SITE, path(of)), customDomain: 'red.example' as DomainName, html },
})
async function render(of: string, html: string): Promise<boolean> {
  await store(of, html)
  return (await keepDigests(pool, [stored(of, html)]))[0]!
}
const titles = async (of: string) =>
  (await listDigests(pool, pageId(SITE, path(of)))).map(({ facts }) => facts.title)
const page = (title: string) => `<title>${title}</title><p>Text of ${title}</p><a href="/x">x</a>`

describe('the history of a page', () => {
  beforeEach(() => pool.query('truncate page, page_digest, redirect, sitemap cascade'))

  // Proves decided "Page details"
  it('the history has what each different snapshot said, newest first, up to its limit', async () => {
    for (let n = 0; n < DIGESTS_A_PAGE; n++) assert.equal(await render('/', page(`${n}`)), true)
    assert.equal(await render('/', page('4')), false, 'the same document again')
    assert.deepEqual(await titles('/'), ['4', '3', '2', '1', '0'])
    await render('/', page('5'))
    assert.deepEqual(await titles('/'), ['5', '4', '3', '2', '1'])
    await render('/', page('4'))
    assert.equal((await titles('/'))[0], '4', 'what was said before is said again')
    const [newest] = await listDigests(pool, pageId(SITE, path('/')))
    assert.deepEqual(newest?.facts.text, ['Text of 4', 'x'])
    assert.deepEqual([newest?.status, newest?.htmlBytes], [200, page('4').length])
    assert.deepEqual(await titles('/other'), [])
  })

  it('a purge deletes the history and does not count it, a refresh leaves it, and a page that is not stored has none', async () => {
    await render('/', page('1'))
    await deletePages(pool, SITE, { kind: 'paths', paths: [path('/')] }, 'refresh')
    assert.deepEqual(await titles('/'), ['1'])
    await store('/', page('1'))
    assert.equal(await queue.purge(SITE, { kind: 'prefix', prefix: '/' }), 1)
    assert.deepEqual(await titles('/'), [])
    await store('/', page('stored'))
    const neither = [stored('/', page('another')), stored('/gone', page('gone'))]
    assert.deepEqual(await keepDigests(pool, neither), [false, false])
  })

  it('the history is kept for 30 days', async () => {
    await render('/', page('1'))
    await render('/', page('2'))
    await pool.query(
      `update page_digest set rendered_at = now() - interval '30 days 1 minute'
        where id = (select min(id) from page_digest)`,
    )
    assert.equal(await removeOldDigests(pool), 1)
    assert.deepEqual(await titles('/'), ['2'])
  })

  it('a digest beside an object store has 1,800 bytes at most, with the beginnings of all lists, and others are whole', async () => {
    const words = Array.from({ length: 4_000 }, (_, at) => etagOf(`${at}`).slice(0, 8))
    const lines = words.map((word, at) => `<p>${word}</p><a href="/${at}">${word} link</a>`).join('')
    const json = JSON.stringify({ '@type': 'Thing', words })
    const html = `<title>long</title><script type="application/ld+json">${json}</script><h1>Head</h1>${lines}`
    const address = stored('/', html)
    await store('/', html)
    assert.deepEqual(await keepDigests(pool, [address], PACKED_BESIDE_STORE), [true])
    const [{ bytes }] = (await pool.query('select octet_length(facts) as bytes from page_digest')).rows
    assert.ok(bytes <= PACKED_BESIDE_STORE && bytes > PACKED_BESIDE_STORE / 2, `${bytes}`)
    await store('/', `${html} `)
    await keepDigests(pool, [{ ...address, html: `${html} ` }])
    const [whole, short] = (await listDigests(pool, address.page)).map(({ facts }) => facts)
    assert.ok(whole !== undefined && short !== undefined)
    const { text, links, structured, ...others } = short
    assert.deepEqual(
      { ...whole, text: [], links: [], structured: [] },
      { ...others, text: [], links: [], structured: [] },
    )
    assert.ok(text.length > 0 && text.length < whole.text.length)
    assert.equal(whole.text.join('\n').startsWith(text.join('\n')), true)
    assert.deepEqual(links, whole.links.slice(0, links.length))
    assert.equal(whole.structured[0]!.json.startsWith(structured[0]!.json), true)
  })

  it('digests are kept beside the renders; those past the limit of waiting ones, and of larger pages, are dropped', async () => {
    const digester = new Digester(pool, queue.bodies, silentLog())
    const count = WAITING_LIMIT + 1
    for (let n = 0; n < count; n++) await store(`/${n}`, page(`${n}`))
    for (let n = 0; n < count; n++) digester.note(stored(`/${n}`, page(`${n}`)))
    await digester.close()
    assert.deepEqual(await titles(`/${WAITING_LIMIT - 1}`), [`${WAITING_LIMIT - 1}`])
    assert.deepEqual(await titles(`/${WAITING_LIMIT}`), [])

    const sizes = { '/fits': DIGEST_LIMIT_CHARS, '/does-not': DIGEST_LIMIT_CHARS + 1 }
    for (const [name, chars] of Object.entries(sizes)) {
      const html = page('large').padEnd(chars, ' ')
      await store(name, html)
      digester.note(stored(name, html))
    }
    await digester.close()
    assert.deepEqual([await titles('/fits'), await titles('/does-not')], [['large'], []])
  })
})

function passes(page: ListedPage, { status, freshness, outcome, variant, unvisited }: PageFilter): boolean {
  return (
    (status?.includes(page.status) ?? true) &&
    (freshness?.includes(page.freshness) ?? true) &&
    (outcome?.includes(page.lastRender?.outcome ?? '') ?? true) &&
    (variant?.some((each) => page.variants.includes(each)) ?? true) &&
    (unvisited === undefined || unvisited === (page.lastCrawler === null))
  )
}

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { MonthlyReport } from '@prepaint/contract/api/reports.ts'
import type { DomainId } from '@prepaint/contract/ids.ts'
import { addMember } from '@prepaint/service/accounts/members.ts'
import { addPerson } from '@prepaint/service/accounts/persons.ts'
import { createShareLink } from '@prepaint/service/accounts/share-links.ts'
import { startSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { assertAnswer, openApi, type TestRequest } from '../../../../test/support/api.ts'

const api = await openApi()
const account = await api.account()
const stranger = await api.account()
const shop = await api.domain(account, 'shop.example.com')
const blog = await api.domain(account, 'blog.example.com')
await api.domain(stranger, 'foreign.example.com')

/** `counts`: the histogram of response times; its tenth step ends at about 1.4 ms. */
async function visited(domain: DomainId, day: string, crawler: string, verdict: string, visits: number) {
  await api.pool.query(
    `insert into traffic_day values ($1, $2, $3, $4, $5, $6::bigint, 0, 0, 0, 0, array_fill(0, array[9]) || $6::bigint::integer)`,
    [domain, day, crawler === 'GPTBot' ? 'ai-training' : 'search', crawler, verdict, visits],
  )
}

await visited(shop.id, '2026-10-01', 'Googlebot', 'hit', 60)
await visited(shop.id, '2026-10-31', 'Googlebot', 'rendered', 20)
await visited(shop.id, '2026-10-31', 'GPTBot', 'stale', 10)
await visited(shop.id, '2026-10-31', 'GPTBot', 'pass; origin-error', 10)
await visited(shop.id, '2026-10-31', 'GPTBot', 'pass; soft-404', 3)
await visited(shop.id, '2026-09-30', 'Googlebot', 'hit', 50)
await visited(shop.id, '2026-08-31', 'Googlebot', 'hit', 1_000)
await visited(shop.id, '2026-11-01', 'Googlebot', 'hit', 7)
await visited(blog.id, '2026-10-15', 'Bingbot', 'hit', 5)
await api.pool.query(
  `insert into traffic_path values ($1, '2026-10-01', false, '/b', 9, 'hit', 200), ($1, '2026-10-02', false, '/a', 5, 'hit', 200),
     ($1, '2026-10-03', false, '/a', 5, 'hit', 200), ($1, '2026-10-03', false, '', 99, '', 0),
     ($1, '2026-10-03', true, '/failing', 99, 'pass; origin-error', 500), ($1, '2026-11-01', false, '/later', 99, 'hit', 200)`,
  [shop.id],
)
const evidence = { count: 1, pages: [], changes: [], level: null, advice: '', url: '' }
await api.pool.query(
  `insert into incident (account_id, domain_id, kind, state, since, resolved_at, summary, evidence)
   values ($1, $2, 'blocked', 'resolved', '2026-09-30T23:00:00Z', '2026-10-01T01:00:00Z', 'Blocked until October.', $3),
          ($1, $2, 'dns_lost', 'resolved', '2026-09-01T00:00:00Z', '2026-09-30T00:00:00Z', 'In September.', $3),
          ($1, $2, 'dns_lost', 'open', '2026-10-20T10:00:00Z', null, 'Still lost.', $3),
          ($1, $2, 'certificate_failing', 'open', '2026-11-01T00:00:00Z', null, 'In November.', $3)`,
  [account.id, shop.id, evidence],
)
await api.pool.query(
  `insert into event (account_id, domain_id, type, body, created_at)
   values ($1, $2, 'deploy.detected', '{}', '2026-10-05T10:00:00Z'), ($1, $2, 'deploy.detected', '{}', '2026-10-05T12:00:00Z'),
          ($1, $2, 'deploy.detected', '{}', '2026-11-05T12:00:00Z'), ($1, $2, 'warm.finished', '{}', '2026-10-05T12:00:00Z')`,
  [account.id, shop.id],
)
await api.pool.query(`insert into domain_tags values ($1, '{Blogs}')`, [blog.id])

const ask = (query: string, as: TestRequest = { key: account.key }) =>
  api.call('GET', `/api/reports/monthly${query}`, as)

async function report(query: string, as?: TestRequest): Promise<MonthlyReport> {
  const answer = await ask(query, as)
  assert.equal(answer.status, 200, answer.text)
  return answer.body as MonthlyReport
}

const namesIn = ({ domains }: MonthlyReport) => domains.map(({ domain }) => domain)

// Proves decided "Monthly reports"
describe('GET /api/reports/monthly', () => {
  it('200: each site with visits by day and crawler, answers, incidents, pages and changes, and one sentence', async () => {
    const { month, account: whose, domains, summary } = await report('?month=2026-10')
    assert.deepEqual([month, whose.name], ['2026-10', account.email])
    assert.deepEqual(
      domains.map(({ domain }) => domain),
      ['shop.example.com', 'blog.example.com'],
    )
    const { days, response_ms: responseMs, changes, ...figures } = domains[0]!
    assert.deepEqual(figures, {
      domain: 'shop.example.com',
      visits: 103,
      before: 50,
      by_crawler: [
        { crawler: 'Googlebot', category: 'search', visits: 80 },
        { crawler: 'GPTBot', category: 'ai', visits: 23 },
      ],
      hit_ratio: 0.7,
      rendered: 20,
      failed: 10,
      incidents: [
        {
          kind: 'dns_lost',
          summary: 'Still lost.',
          since: '2026-10-20T10:00:00.000Z',
          resolved_at: null,
        },
        {
          kind: 'blocked',
          summary: 'Blocked until October.',
          since: '2026-09-30T23:00:00.000Z',
          resolved_at: '2026-10-01T01:00:00.000Z',
        },
      ],
      top_pages: [
        { path: '/a', visits: 10 },
        { path: '/b', visits: 9 },
      ],
      left_out: { crawlers: 0, incidents: 0 },
    })
    assert.equal(days.length, 31)
    assert.deepEqual([days[0], days[30], days[14]], [60, 43, 0])
    assert(responseMs !== null && responseMs > 0.5 && responseMs < 2, String(responseMs))
    assert.deepEqual(changes, [{ what: 'deploy', at: '2026-10-05T12:00:00.000Z' }])
    assert.equal(
      summary,
      'Crawlers visited the 2 sites 108 times in October 2026, 116 % more than the month before, and 71 % of the pages came from the cache.',
    )
  })

  it('200: the running month until now, and without `month` the last whole one', async () => {
    const running = await report('?month=2026-11&domains=shop.example.com')
    assert.equal(running.domains[0]!.days.length, 15)
    assert.deepEqual([running.domains[0]!.visits, running.domains[0]!.before], [7, 103])
    assert.match(
      running.summary,
      /^Crawlers visited shop\.example\.com 7 times so far in November 2026, and 100 % /,
    )
    assert.equal((await report('')).month, '2026-10')
  })

  it('200: a month without visits says so', async () => {
    const { domains, summary } = await report('?month=2026-07&domains=blog.example.com')
    assert.deepEqual([domains[0]!.visits, domains[0]!.hit_ratio, domains[0]!.response_ms], [0, null, null])
    assert.equal(summary, 'No crawler visited blog.example.com in July 2026.')
  })

  it('200: all incidents, changes and crawlers of a busy month, and how many more there were than 500 incidents and 200 crawlers', async () => {
    const busy = await api.account()
    const { id } = await api.domain(busy, 'busy.example.com')
    const insert = (incidents: number, kind: string) =>
      api.pool.query(
        `insert into incident (account_id, domain_id, kind, state, since, resolved_at, summary, evidence)
         select $1, $2, $3, 'resolved', '2026-10-02T00:00:00Z'::timestamptz + make_interval(mins => n), '2026-10-30T00:00:00Z', n::text, $4
           from generate_series(1, $5::integer) n`,
        [busy.id, id, kind, evidence, incidents],
      )
    const read = async () => (await report('?month=2026-10', { key: busy.key })).domains[0]!
    await insert(500, 'blocked')
    await api.pool.query(
      `insert into event (account_id, domain_id, type, body, created_at)
       select $1, $2, type, '{}', '2026-10-01T10:00:00Z'::timestamptz + make_interval(days => n)
         from generate_series(0, 30) n, unnest('{domain.live,deploy.detected}'::text[]) type`,
      [busy.id, id],
    )
    for (let at = 1; at <= 200; at++) await visited(id, '2026-10-03', `Crawler ${at}`, 'hit', at)
    const whole = await read()
    assert.deepEqual(
      [whole.incidents.length, whole.changes.length, whole.by_crawler.length, whole.left_out],
      [500, 62, 200, { crawlers: 0, incidents: 0 }],
    )
    assert.deepEqual([whole.incidents[0]!.summary, whole.incidents[499]!.summary], ['500', '1'])
    await insert(1, 'dns_lost')
    await visited(id, '2026-10-03', 'Crawler 201', 'hit', 201)
    const cut = await read()
    assert.deepEqual([cut.incidents.length, cut.by_crawler.length], [500, 200])
    assert.deepEqual(cut.left_out, { crawlers: 1, incidents: 1 })
    assert.equal(cut.by_crawler[0]!.crawler, 'Crawler 201')
  })

  it('200: chosen domains, or those with a tag in any case of letters', async () => {
    assert.deepEqual(namesIn(await report('?month=2026-10&domains=blog.example.com,SHOP.example.com')), [
      'shop.example.com',
      'blog.example.com',
    ])
    assert.deepEqual(namesIn(await report('?month=2026-10&tag=blogs')), ['blog.example.com'])
    const none = await report('?month=2026-10&tag=none')
    assert.deepEqual([none.domains, none.summary], [[], 'There is no site in this report.'])
  })

  it('404 for a domain of another account, as for one that never was', async () => {
    for (const name of ['foreign.example.com', 'never.example.com', 'no name', '']) {
      assertAnswer(await ask(`?domains=shop.example.com,${name}`), 404, 'Domain not found')
    }
    assert.deepEqual(namesIn(await report('?month=2026-10', { key: stranger.key })), ['foreign.example.com'])
  })

  it('400 for what is no month, lies in the future or is older than 25 months', async () => {
    for (const month of ['2026', '2026-13', '2026-00', '2026-1', 'October', '']) {
      assertAnswer(await ask(`?month=${month}`), 400, 'month must be a month such as 2026-10')
    }
    assertAnswer(await ask('?month=2026-12'), 400, 'month must not lie in the future')
    assert.equal((await ask('?month=2024-10')).status, 200)
    assertAnswer(await ask('?month=2024-09'), 400, 'month must be one of the last 25 months')
    assertAnswer(await ask('?tag=a&domains=shop.example.com'), 400, 'tag must not be beside domains')
  })

  it('members and share links that are limited to domains see these only', async () => {
    const person = await addPerson(api.pool, { email: 'client@example.com', password: null })
    await addMember(api.pool, account.id, person, { role: 'client', domains: [blog.id] })
    const started = await startSession(api.pool, person, { address: '', userAgent: '' }, api.clock.nowMs())
    const cookie = `prepaint-session=${started!.token}`
    const shared = async (parts: ('report' | 'traffic')[]) => {
      const { token } = await createShareLink(
        api.pool,
        { account: account.id, domains: null },
        { member: null, role: 'owner' },
        { name: 'x', domains: [blog.name], parts, author: null },
        api.clock.nowMs(),
      )
      return { headers: { 'x-share-token': token } }
    }
    for (const as of [{ cookie }, await shared(['report'])]) {
      assert.deepEqual(namesIn(await report('?month=2026-10', as)), ['blog.example.com'])
      assert.deepEqual(namesIn(await report('?month=2026-10&tag=blogs', as)), ['blog.example.com'])
      assertAnswer(await ask('?domains=shop.example.com', as), 404, 'Domain not found')
    }
    assertAnswer(await ask('', await shared(['traffic'])), 403, 'This link does not allow this')
  })
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { PortfolioDomain } from '@prepaint/contract/api/portfolio.ts'
import type { DomainId } from '@prepaint/contract/ids.ts'
import { addMember } from '@prepaint/service/accounts/members.ts'
import { addPerson } from '@prepaint/service/accounts/persons.ts'
import { startSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { assertAnswer, openApi, type TestAccount } from '../../../../test/support/api.ts'

const api = await openApi()
const DAY_MS = 86_400_000
const day = (back: number) => new Date(api.clock.atMs - back * DAY_MS).toISOString().slice(0, 10)

const list = async ({ key }: TestAccount, query = '') => {
  const { status, body, text } = await api.get(`/api/portfolio${query}`, key)
  assert.equal(status, 200, text)
  return body as { domains: PortfolioDomain[]; counts: Record<string, number>; next: string | null }
}
const names = async (account: TestAccount, query = '') =>
  (await list(account, query)).domains.map(({ custom_domain }) => custom_domain.split('.')[0])

/** A request has come the chosen way. */
async function isSeen(domain: DomainId, way = 'proxy'): Promise<void> {
  await api.pool.query(`insert into integration_way values ($1, $2, now(), now(), 'Googlebot', '/')`, [
    domain,
    way,
  ])
}
async function incident(account: TestAccount, domain: DomainId, kind: string, level: number | null = null) {
  await api.pool.query(
    `insert into incident (account_id, domain_id, kind, since, summary, evidence)
     values ($1, $2, $3, '2026-11-15T10:00:00Z', $3 || ' since ten', $4)`,
    [
      account.id,
      domain,
      kind,
      { count: 1, pages: [], changes: [], level, advice: '', url: `/domains/${kind}` },
    ],
  )
}
async function visited(domain: DomainId, back: number, [visits, pages, hits, failed]: readonly number[]) {
  await api.pool.query(
    `insert into traffic_folded_day (domain_id, day, search_visits, pages, hits, hourly_pages, hourly_hits, lines, visits, failed)
     values ($1, $2, 0, $4, $5, '{}', '{}', '[]', $3, $6)`,
    [domain, day(back), visits, pages, hits, failed],
  )
}
const change = (account: TestAccount, name: string, body: unknown) =>
  api.call('PUT', `/api/domains/${name}`, { key: account.key, body })

it('200: an account without domains has an empty list', async () => {
  const counts = { all: 0, trouble: 0, warning: 0, setup: 0, paused: 0, ok: 0 }
  assert.deepEqual(await list(await api.account()), { domains: [], counts, next: null })
})

it('200: visits of fourteen days with those not added up yet, ratios, renders, and the last crawler', async () => {
  const owner = await api.account()
  const { id } = await api.domain(owner, 'shop.example.com')
  await isSeen(id)
  await visited(id, 13, [7, 7, 7, 0])
  await visited(id, 14, [1_000, 1, 1, 0])
  await visited(id, 6, [10, 8, 4, 2])
  await visited(id, 0, [5, 5, 5, 0])
  await api.pool.query(
    `insert into traffic_minute (minute, node, flush, domain_id, lines, pages, hits, visits, failed)
     values ($2, gen_random_uuid(), 1, $1, '[]', 3, 1, 4, 1)`,
    [id, new Date(api.clock.atMs - 60_000)],
  )
  await api.pool.query(
    `insert into traffic_last values ($1, 'Googlebot', 'search', '2026-11-15T12:26:00Z')`,
    [id],
  )
  await api.pool.query(`insert into render_count values ($1, '2026-11-01', 12)`, [id])
  const { domains } = await list(owner)
  const forecast = domains[0]!.renders.forecast
  assert.deepEqual(domains, [
    {
      ...{
        id,
        custom_domain: 'shop.example.com',
        is_active: true,
        way: 'dns',
        tags: [],
        state: 'ok',
        reasons: [],
      },
      visits: { days: [10, 0, 0, 0, 0, 0, 9], total: 19, before: 7 },
      ...{ hit_ratio: 0.625, failed_ratio: 0.1875, renders: { used: 12, limit: 200_000, forecast } },
      last_crawler: { name: 'Googlebot', category: 'search', at: '2026-11-15T12:26:00.000Z' },
      ...{ certificate_ends_at: null, open_incidents: 0 },
    },
  ])
})

// Proves decided "Portfolio"
it('200: the state is the worst that applies, with its reasons, the worst first', async () => {
  const owner = await api.account()
  const add = async (name: string) => (await api.domain(owner, `${name}.state.example.com`)).id
  const fine = await add('fine')
  const paused = await add('paused')
  await add('setup')
  const front = await add('front')
  const certificate = await add('certificate')
  const quota = await add('quota')
  const full = await add('full')
  const down = await add('down')
  for (const id of [fine, paused, front, certificate, quota, full, down]) await isSeen(id)
  await change(owner, 'paused.state.example.com', { is_active: false })
  await change(owner, 'front.state.example.com', { settings: { way: 'middleware' } })
  await api.pool.query(
    `insert into certificate (domain_id, source, chain, key_sealed, not_before, not_after)
     values ($1, 'acme', '', '', now(), $2)`,
    [certificate, new Date(api.clock.atMs + 3.5 * DAY_MS)],
  )
  await incident(owner, quota, 'quota_reached', 90)
  await incident(owner, full, 'quota_reached', 100)
  await incident(owner, down, 'quota_forecast')
  await incident(owner, down, 'dns_lost')
  const { domains, counts } = await list(owner, '?sort=name')
  const states = domains.map(({ custom_domain, state, reasons }) => [
    custom_domain.split('.')[0],
    state,
    ...reasons.map(({ text }) => text),
  ])
  assert.deepEqual(states, [
    ['certificate', 'warning', 'The certificate ends in 3 days.'],
    ['down', 'trouble', 'dns_lost since ten', 'quota_forecast since ten'],
    ['fine', 'ok'],
    ['front', 'setup', 'Waiting for the first request from the middleware.'],
    ['full', 'trouble', 'quota_reached since ten'],
    ['paused', 'paused'],
    ['quota', 'warning', 'quota_reached since ten'],
    ['setup', 'setup', 'Waiting for the first request.'],
  ])
  assert.deepEqual(counts, { all: 8, trouble: 2, warning: 2, setup: 2, paused: 1, ok: 1 })
  const [first] = domains.find(({ custom_domain }) => custom_domain.startsWith('down'))!.reasons
  assert.deepEqual(first, {
    ...{ kind: 'dns_lost', text: 'dns_lost since ten', since: '2026-11-15T10:00:00.000Z' },
    ...{ url: '/domains/dns_lost', acknowledged_by: null },
  })
  assert.deepEqual(await names(owner), [
    'down',
    'full',
    'certificate',
    'quota',
    'front',
    'setup',
    'fine',
    'paused',
  ])
  assert.deepEqual(await names(owner, '?state=trouble'), ['down', 'full'])
  assert.deepEqual((await list(owner, '?state=trouble')).counts, counts)
})

it('200: a reason says who takes care of its incident, but not to a client', async () => {
  const owner = await api.account()
  const { id, name } = await api.domain(owner, 'care.example.com')
  await incident(owner, id, 'dns_lost')
  await api.pool.query(
    `insert into incident_acknowledged (incident_id, acknowledged_by, note)
     select id, 'anna@example.com', 'Asked the host.' from incident where domain_id = $1`,
    [id],
  )
  const [shown] = (await list(owner)).domains
  assert.equal(shown!.reasons[0]!.acknowledged_by, 'anna@example.com')
  const person = await addPerson(api.pool, { email: 'client@care.example.com', password: null })
  await addMember(api.pool, owner.id, person, { role: 'client', domains: [id] })
  const started = await startSession(api.pool, person, { address: '', userAgent: '' }, api.clock.nowMs())
  const { status, body, text } = await api.call('GET', '/api/portfolio', {
    cookie: `prepaint-session=${started!.token}`,
  })
  assert.equal(status, 200, text)
  assert.equal((body['domains'] as PortfolioDomain[])[0]!.custom_domain, name)
  assert.doesNotMatch(text, /acknowledged|anna/)
})

it('200: a site whose people come is not to set up, and one whose front asks for pages is, if its DNS was chosen', async () => {
  const owner = await api.account()
  const people = await api.domain(owner, 'people.seen.example.com')
  const asked = await api.domain(owner, 'asked.seen.example.com')
  await isSeen(asked.id, 'middleware')
  await api.pool.query('update health set live_at = now() where domain_id = any ($1)', [
    [people.id, asked.id],
  ])
  const states = (await list(owner, '?sort=name')).domains.map(({ state }) => state)
  assert.deepEqual(states, ['setup', 'ok'])
})

it('200: search in names and tags, tag, way, sort and parts', async () => {
  const owner = await api.account()
  for (const [name, visits] of [
    ['a', 1],
    ['b', 3],
    ['c', 2],
  ] as const) {
    const { id } = await api.domain(owner, `${name}.parts.example.com`)
    await isSeen(id)
    await visited(id, 1, [visits, visits, visits, 0])
  }
  const put = (name: string, tags: string[]) =>
    api.call('PUT', `/api/domains/${name}.parts.example.com/tags`, { key: owner.key, body: { tags } })
  await put('a', ['Müller GmbH'])
  await put('c', ['müller gmbh', 'x'])
  await change(owner, 'b.parts.example.com', { settings: { way: 'middleware' } })
  assert.deepEqual(await names(owner, '?search=MÜLL&sort=name'), ['a', 'c'])
  assert.deepEqual(await names(owner, '?search=b.part'), ['b'])
  assert.deepEqual(await names(owner, `?tag=${encodeURIComponent('MÜLLER GMBH')}&sort=name`), ['a', 'c'])
  assert.deepEqual(await names(owner, '?tag=mull'), [])
  assert.deepEqual(await names(owner, '?way=middleware'), ['b'])
  assert.deepEqual(await names(owner, '?sort=visits'), ['b', 'c', 'a'])
  assert.deepEqual(await names(owner, '?sort=-visits'), ['a', 'c', 'b'])
  for (const sort of ['attention', 'name', '-name', 'visits', 'hit_ratio', 'renders', '-last_crawler']) {
    const whole = await names(owner, `?sort=${sort}`)
    const parts: unknown[] = []
    for (let next: string | null = ''; next !== null; ) {
      const part: Awaited<ReturnType<typeof list>> = await list(
        owner,
        `?sort=${sort}&limit=1${next && `&after=${next}`}`,
      )
      assert.equal(part.counts['all'], 3)
      parts.push(...part.domains.map(({ custom_domain }) => custom_domain[0]))
      next = part.next
    }
    assert.deepEqual(parts, whole, sort)
  }
})

it('200: as CSV, where cells that begin like a formula are defused', async () => {
  const owner = await api.account()
  const { id } = await api.domain(owner, 'csv.example.com')
  await isSeen(id)
  await api.call('PUT', '/api/domains/csv.example.com/tags', {
    key: owner.key,
    body: { tags: ['=1+1', 'b'] },
  })
  const answer = await api.get('/api/portfolio?format=csv', owner.key)
  assert.match(answer.headers.get('content-disposition')!, /^attachment; filename="sites-2026-11-15\.csv"$/)
  assert.equal(
    answer.text,
    'custom_domain,is_active,way,tags,state,visits,hit_ratio,failed_ratio,renders_used,renders_limit,last_crawler,certificate_ends_at,open_incidents\r\n' +
      `csv.example.com,true,dns,"'=1+1;b",ok,0,,,0,200000,,,0\r\n`,
  )
})

it('400: an unknown value of each filter is named, and an `after` that was made for no list in this order', async () => {
  const owner = await api.account()
  for (const name of ['one', 'two']) await api.domain(owner, `${name}.after.example.com`)
  const wrong = {
    ...{ state: 'broken', way: 'dns2', sort: 'size', limit: '0', format: 'xml' },
    after: Buffer.from('["name",1]').toString('base64url'),
  }
  for (const [field, value] of Object.entries(wrong)) {
    assertAnswer(
      await api.get(
        `/api/portfolio?sort=name&${field}=${value}`.replace('sort=name&sort', 'sort'),
        owner.key,
      ),
      400,
      new RegExp(`^${field} `),
    )
  }
  const { next } = await list(owner, '?limit=1&sort=name')
  assertAnswer(await api.get(`/api/portfolio?sort=-name&after=${next}`, owner.key), 400, /^after /)
})

it('200: a member limited to domains sees and counts these only', async () => {
  const owner = await api.account()
  const own = await api.domain(owner, 'own.limited.example.com')
  const { id: other } = await api.domain(owner, 'other.limited.example.com')
  await api.pool.query('insert into domain_tags select unnest($1::integer[]), $2', [
    [own.id, other],
    ['shared'],
  ])
  await api.pool.query('update domain_tags set tags = tags || $2 where domain_id = $1', [other, ['hidden']])
  const person = await addPerson(api.pool, { email: 'limited@example.com', password: null })
  await addMember(api.pool, owner.id, person, { role: 'viewer', domains: [own.id] })
  const started = await startSession(api.pool, person, { address: '', userAgent: '' }, api.clock.nowMs())
  const cookie = `prepaint-session=${started!.token}`
  const seen = (await api.call('GET', '/api/portfolio', { cookie })).body as Awaited<ReturnType<typeof list>>
  assert.deepEqual([seen.domains.map(({ id }) => id), seen.counts['all']], [[own.id], 1])
  assert.deepEqual((await api.call('GET', '/api/tags', { cookie })).body, {
    tags: [{ name: 'shared', domains: 1 }],
  })
  assert.equal(
    (await api.call('GET', '/api/portfolio?search=hidden', { cookie })).text.includes('other'),
    false,
  )
})

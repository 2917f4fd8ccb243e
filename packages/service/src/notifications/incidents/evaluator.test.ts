import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type DomainId, wholeAccount } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { assertAnswer, openApi, type TestAccount, valuesOf } from '../../../../../test/support/api.ts'
import type { Probes } from '../../sites/reachability/checks.ts'
import { createEndpoint } from '../delivery/endpoints.ts'
import { evaluate, lookAtSites } from './evaluator.ts'
import { readSamples } from './facts.ts'
import { type Incident, listIncidents } from './incidents.ts'

const api = await openApi()

/** Holding and quiet times become fractions of a millisecond: each round is later than them. */
const SPEED = 10_000_000
const round = (speed = SPEED) =>
  evaluate(api.pool, { plans: DEFAULT_PLANS, publicUrl: 'https://prepaint.example', speed })
const rounds = async (count = 3) => {
  for (let n = 0; n < count; n++) await round()
}

let names = 0
async function site(): Promise<{ account: TestAccount; id: DomainId; name: string }> {
  const account = await api.account()
  return { account, ...(await api.domain(account, `site-${++names}.example.com`)) }
}

const at = (n: number) => `/${n}`
async function rendered(domain: DomainId, outcomes: readonly string[], path = at, detail = '<b>') {
  await api.pool.query(
    `insert into render_record (domain_id, path, job_id, outcome, detail, queued_ms, stored_ms, record, ended_at)
     select $1, path, gen_random_uuid(), outcome, $4, 0, 0, '{}', clock_timestamp()
       from unnest($2::text[], $3::text[]) as t (path, outcome)`,
    [domain, outcomes.map((_, n) => path(n)), outcomes, detail],
  )
  await api.pool.query(
    `insert into render_outcome_day select $1, (now() at time zone 'UTC')::date, outcome, count(*)
       from unnest($2::text[]) outcome group by outcome
     on conflict (domain_id, day, outcome) do update set renders = render_outcome_day.renders + excluded.renders`,
    [domain, outcomes],
  )
}
const many = (count: number, outcome: string) => Array<string>(count).fill(outcome)
/** Looks at the sites that are due. Origins answer with 200 and no name is found, unless `probes` says otherwise. */
const lookAtDue = async (probes: Partial<Probes>) => {
  const usual: Probes = {
    tryOrigin: async () => ({ status: 200, problem: null }),
    checkDns: async () => null,
  }
  await lookAtSites(api.pool, { ...usual, ...probes }, await round(), SPEED)
}

const incidents = async ({ key }: TestAccount, query = '') =>
  (await api.get(`/api/incidents${query}`, key)).body['incidents'] as Incident[]
const kinds = async (account: TestAccount) =>
  (await incidents(account)).map(({ kind, state }) => `${kind} ${state}`)
const activate = ({ key }: TestAccount, name: string, is_active: boolean) =>
  api.call('PUT', `/api/domains/${name}`, { key, body: { is_active } })
/** What the account is told, by which channels and of which level. */
const events = ({ id }: TestAccount) =>
  api.database.column<string>(
    `select concat_ws(' ', e.type, e.body::json #>> '{data,incident,evidence,level}',
                      string_agg(c.format, ' ' order by c.format))
       from event e join delivery d on d.event_id = e.id join channel c on c.id = d.channel_id
      where e.account_id = $1 and e.type <> 'mail.reminder' group by e.id order by e.created_at`,
    id,
  )

it('renders that fail: one incident with evidence, two events, and its end', async () => {
  const { account, id, name } = await site()
  await createEndpoint(api.pool, api.parts.vault, account.id, { url: 'https://hooks.example.com/' })
  await api.pool.query(
    `insert into freshness (domain_id, deploys) values ($1, array[now() - interval '1 hour'])`,
    [id],
  )
  await rendered(id, many(20, 'rendered'))
  await rendered(id, many(3, 'origin-error'))
  await rounds()
  assert.deepEqual(await kinds(account), [])
  await rendered(id, many(9, 'site-error'), (n) => `/new-${n}`, 'status 503')
  await rounds()
  await rounds()
  const [incident, ...others] = await incidents(account)
  assert.deepEqual(others, [])
  assert.deepEqual([incident!.kind, incident!.state, incident!.domain], ['renders_failing', 'open', name])
  const summary =
    /^10 of the last 10 renders failed\. Normally (none|\d+ %) do\. The last one: the page says that it is an error \(status 503\)\.$/
  assert.match(incident!.summary, summary)
  const { pages, changes, url, advice, count, level } = incident!.evidence
  const last = { path: '/new-8', outcome: 'site-error', detail: 'status 503' }
  assert.deepEqual([pages.length, pages[0]], [3, { ...last, at: pages[0]!.at }])
  assert.deepEqual(valuesOf(changes, 'what'), ['deploy'])
  assert.deepEqual([url, count, level], [`https://prepaint.example/domains/${name}/renders`, 10, null])
  assert(advice.length > 20 && incident!.since < incident!.opened_at)

  await rendered(id, ['rendered'])
  await rounds(4)
  const [ended] = await incidents(account)
  assert.deepEqual([ended!.state, ended!.resolution], ['resolved', 'recovered'])
  assert.deepEqual(await events(account), [
    'incident.opened mail standard',
    'incident.resolved mail standard',
  ])
})

it('an origin that is away is one incident, which the own requests of the node end', async () => {
  const { account, id } = await site()
  await rendered(id, many(30, 'rendered'))
  await rendered(id, ['origin-unreachable', 'timed-out'])
  await rounds()
  assert.deepEqual(await kinds(account), [])
  const look = async (status: number | null) =>
    lookAtDue({ tryOrigin: async () => ({ status, problem: null }) })
  await rendered(id, many(12, 'origin-unreachable'), (n) => `/x${n}`)
  await round()
  await look(null)
  await rounds()
  assert.deepEqual(await kinds(account), ['origin_unreachable open'])
  await look(503)
  await rounds()
  assert.deepEqual(await kinds(account), ['origin_unreachable resolved'])
})

it('the quota: at once, one incident, each higher level reported, and ends with a larger plan', async () => {
  const { account, id } = await site()
  await api.pool.query(`update account set plan = 'starter' where id = $1`, [account.id])
  for (const used of [799, 800, 1_005, 1_005]) {
    await api.pool.query(
      `insert into render_count values ($1, date_trunc('month', now() at time zone 'UTC')::date, $2)
       on conflict (domain_id, month) do update set renders = excluded.renders`,
      [id, used],
    )
    await round()
  }
  await api.pool.query(`update account set plan = 'agency_plus' where id = $1`, [account.id])
  assert.deepEqual(await kinds(account), ['quota_reached open'])
  await round()
  assert.deepEqual(await kinds(account), ['quota_reached resolved'])
  const told = ['incident.opened 80 mail', 'incident.updated 100 mail', 'incident.resolved 100 mail']
  assert.deepEqual(await events(account), told)
})

it('a certificate that fails, a name that leads elsewhere, and neither for one that never led here', async () => {
  const { account, id, name } = await site()
  const failing = (values: string) =>
    api.pool.query(`update certificate_order set ${values} where domain_id = $1`, [id])
  await api.pool.query('update health set live_at = now() where domain_id = $1', [id])
  const looks = async (state: 'reaches-us' | 'elsewhere' | 'not-checked') =>
    lookAtDue({ checkDns: async () => ({ state, addresses: [], aliases: [], records: ['192.0.2.7'] }) })
  await failing(`failures = 5, failure = 'not-here'`)
  await looks('elsewhere')
  await looks('elsewhere')
  await rounds()
  assert.deepEqual(await kinds(account), [])
  await failing(`failures = 2, failure = 'refused', reason = 'no'`)
  await looks('reaches-us')
  await looks('elsewhere')
  await looks('not-checked')
  await rounds()
  assert.deepEqual(await kinds(account), ['certificate_failing open'])
  await looks('elsewhere')
  await rounds()
  assert.deepEqual((await kinds(account)).sort(), ['certificate_failing open', 'dns_lost open'])
  const lost = (await incidents(account)).find(({ kind }) => kind === 'dns_lost')
  assert.equal(lost?.summary, 'The DNS pointed here and now points to 192.0.2.7.')
  const stranger = await api.account()
  const foreign = await api.get(`/api/incidents?domain=${name}&state=open`, stranger.key)
  assertAnswer(foreign, 404, 'Domain not found')

  await activate(account, name, false)
  const ended = await incidents(account)
  assert(ended.every(({ state, resolution }) => state === 'resolved' && resolution === 'inactive'))
  await rounds()
  assert.equal((await incidents(account, '?state=open')).length, 0)
  await api.call('DELETE', `/api/domains/${name}`, { key: account.key })
  assert.deepEqual(await incidents(account), [])
})

it('what held before a domain was switched off or its account suspended does not afterwards; the end of its incident is remembered', async () => {
  const { account, id, name } = await site()
  await rendered(id, many(6, 'challenge'))
  await round(1)
  const suspend = (since: Date | null) =>
    api.pool.query('update account set suspended_at = $2 where id = $1', [account.id, since])
  await suspend(new Date())
  await round(1)
  await suspend(null)
  await round()
  assert.deepEqual(await kinds(account), [])
  await activate(account, name, false)
  await activate(account, name, true)
  await round()
  assert.deepEqual(await kinds(account), [])
  await round()
  assert.deepEqual(await kinds(account), ['blocked open'])
  await activate(account, name, false)
  const [watch] = await api.database.column('select watch from health where domain_id = $1', id)
  assert.deepEqual(Object.keys((watch as { blocked: object }).blocked), ['resolvedMs'])
})

it('two rounds at once record everything once; pages of the list follow each other', async () => {
  const { account } = await site()
  for (let n = 0; n < 5; n++) {
    const { id } = await api.domain(account, `many-${n}.example.com`)
    await rendered(id, many(6, 'challenge'))
  }
  await Promise.all([rounds(), rounds(), rounds()])
  const all = await incidents(account)
  assert.equal(all.length, 5)
  const first = await api.get('/api/incidents?limit=2', account.key)
  const second = await api.get(`/api/incidents?limit=200&after=${first.body['next']}`, account.key)
  const ids = [first, second].flatMap(({ body }) => valuesOf(body['incidents'], 'id'))
  assert.deepEqual([ids, second.body['next']], [valuesOf(all, 'id'), null])
  for (const [query, error] of Object.entries({
    'limit=0': 'limit must be at least 1',
    'limit=201': 'limit must be at most 200',
    'limit=1e1': 'limit must be a whole number',
    'after=0': 'after must be at least 1',
    'state=x': 'state must be "open" or "resolved"',
  })) {
    assertAnswer(await api.get(`/api/incidents?${query}`, account.key), 400, error)
  }
})

it('no list of incidents is sorted, even without statistics', async () => {
  const { account, id } = await site()
  await api.pool.query(
    `insert into incident (account_id, domain_id, kind, state, since, summary, evidence)
     select $1, $2, 'blocked', 'resolved', now(), '', '{}' from generate_series(1, 20000)`,
    [account.id, id],
  )
  const plans: unknown[] = []
  const explain = async (sql: string, values: unknown[]) => {
    plans.push(...valuesOf((await api.pool.query(`explain ${sql}`, values)).rows, 'QUERY PLAN'))
    return { rows: [] }
  }
  const explaining: Queryable = Object.create(api.pool, { query: { value: explain } })
  for (const after of [undefined, 10_000])
    await listIncidents(explaining, wholeAccount(account.id), { limit: 100, after })
  assert.match(plans.join('\n'), /incident_list/)
  assert.doesNotMatch(plans.join('\n'), /Sort/)
})

it('probes and tries of rules that fail open no incident', async () => {
  const { account, id } = await site()
  await rendered(id, many(30, 'rendered'))
  await rendered(id, many(12, 'site-error'), (n) => `/prepaint-try-x-${n}`)
  await rendered(id, many(12, 'origin-unreachable'), (n) => `/prepaint-probe-x${n}`)
  await rounds()
  await rounds()
  assert.deepEqual(await kinds(account), [])
})

it('visits of search crawlers are compared by 24 whole hours: without the one that runs, and the one of which minutes wait', async () => {
  const { id } = await site()
  const client = await api.pool.connect()
  try {
    // In one transaction `now()` stands still.
    await client.query('begin')
    await client.query(
      `insert into traffic_folded_day (domain_id, day, search_visits, pages, hits, hourly_pages, hourly_hits, lines)
       values ($1, (now() at time zone 'UTC')::date - 30, 1, 0, 0, '{}', '{}', '[]')`,
      [id],
    )
    await client.query(
      `insert into traffic_folded_hour
       select $1, date_trunc('hour', now() - interval '10 minutes') - ago * interval '1 hour', visits, '[]'
         from (values (-1, 1000), (0, 100), (1, 1), (24, 2), (25, 10000), (168, 100), (169, 4), (192, 8), (193, 10000)) v (ago, visits)`,
      [id],
    )
    await client.query(`update health set usual_at = now() - interval '1 day' where domain_id = $1`, [id])
    const read = async () => {
      const [sample] = await readSamples(client, DEFAULT_PLANS, { after: id - 1, limit: 1, speed: 1 })
      return sample?.read?.search
    }
    assert.deepEqual(await read(), [3, 12, 0, 0, 0])

    const wait = (minute: string) =>
      client.query(
        `insert into traffic_minute (minute, node, flush, domain_id, lines)
         values (date_trunc('hour', now() - interval '10 minutes') ${minute}, gen_random_uuid(), 1, $1, '[]')`,
        [id],
      )
    await wait('')
    assert.deepEqual(await read(), [3, 12, 0, 0, 0], 'a minute of the hour that runs may wait')
    await wait(`- interval '1 minute'`)
    assert.equal(await read(), null, 'hours are not whole yet, and none were before')
    await client.query(`update health set usual = '{"search": [50, 60]}' where domain_id = $1`, [id])
    assert.deepEqual(await read(), [50, 60])
  } finally {
    await client.query('rollback')
    client.release()
  }
})

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { brotliCompressSync } from 'node:zlib'
import {
  startTestApi,
  storePages,
  storeRedirectAndSitemap,
  TEST_START_MS,
  type TestAccount,
  type TestApi,
  type TestRequest,
} from '../../../test/support/api.ts'
import { exampleBody, type Operation } from '../../../test/support/api-contract.ts'
import { createTestCa } from '../../../test/support/certificate-authority.ts'
import { createKey, createToken } from '../../accounts/keys.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { setPassword } from '../../accounts/sign-in/passwords.ts'
import { startSession } from '../../accounts/sign-in/sessions.ts'
import { testEndpoint } from '../../notifications/delivery/deliveries.ts'
import { createEndpoint } from '../../notifications/delivery/endpoints.ts'

// Two worlds: in one, blue is alone; in the other, amber is there too. Whatever
// blue asks, of his own things or of amber's by their names, he is answered the
// same in both: so he sees, counts and infers nothing of amber. And amber's
// rows stay as they are. That amber does see them shows that there was something.

type World = { api: TestApi; blue: Furnished; amber: Furnished | null }

/** `spare`: ids of a key, a webhook token and a session that can be ended and leave the others. */
type Furnished = TestAccount & { token: string; jobId: string; inspectionId: string; spare: Spare }
type Spare = {
  keys: number
  tokens: number
  sessions: number
  endpoints: number
  deliveries: number
  versions: number
  tries: string
}

const RENDER_RECORD = JSON.stringify({
  phases: { slot: 0, tab: 0, navigate: 0, firstResponse: 0, settled: 0, snapshot: 0 },
  capture: 'budget',
  requests: { made: 1, spared: 0, blocked: 0, failed: 0 },
  troubles: [],
  consoleErrors: { count: 0, texts: [] },
  htmlBytes: 1,
})
const CERTIFICATE = createTestCa('ca', TEST_START_MS).leaf({
  names: ['amber.example.com', 'blue.example.com'],
})
const PASSWORD = 'correct horse'
const NO_JOB = '00000000-0000-4000-8000-000000000000'
const NOTHING: Spare = {
  keys: 987_654,
  tokens: 987_654,
  sessions: 987_654,
  endpoints: 987_654,
  deliveries: 987_654,
  versions: 987_654,
  tries: NO_JOB,
}

let alone: World
let together: World
before(async () => {
  alone = await world(false)
  together = await world(true)
})
after(async () => {
  await alone.api.close()
  await together.api.close()
})

async function world(withAmber: boolean): Promise<World> {
  const api = await startTestApi()
  const blue = await api.account()
  const amber = withAmber ? await furnish(api, await api.account(), 'amber') : null
  return { api, blue: await furnish(api, blue, 'blue'), amber }
}

/** A domain with pages, redirect, sitemap, token, and a job, all of which carry the name. */
async function furnish(api: TestApi, account: TestAccount, colour: string): Promise<Furnished> {
  await setPassword(api.pool, account.id, PASSWORD)
  const domain = await api.domain(account, `${colour}.example.com`)
  await storePages(api, domain.id, ['/', `/${colour}-1`, `/${colour}-2`])
  await storeRedirectAndSitemap(api, domain.id)
  const { token } = await createToken(api.pool, account.id, domain.name, 'cms', DEFAULT_PLANS)
  await api.pool.query(`insert into last_visit values ($1, '/', $2, 'search', now())`, [domain.id, colour])
  const { body } = await api.post('/api/cache/refresh', account.key, {
    domain: domain.name,
    paths: [`/${colour}-job`],
  })
  const jobId = (body['jobs'] as { jobId: string }[])[0]!.jobId
  await api.pool.query(
    `insert into traffic_hour values ($1, date_trunc('hour', $2::timestamptz), 'search', $3, 'hit', 1, 0, 0, 0, 0, '{1}')`,
    [domain.id, new Date(TEST_START_MS), `${colour} crawler`],
  )
  await api.pool.query(
    `insert into traffic_forbidden values ($1, $2, 'search', 'Googlebot', 1, array['/' || $3::text])`,
    [domain.id, new Date(TEST_START_MS), colour],
  )
  await api.pool.query(`insert into traffic_path values ($1, $2, false, $3, 1, 'hit', 200)`, [
    domain.id,
    new Date(TEST_START_MS),
    `/${colour}`,
  ])
  await api.pool.query(
    `insert into render_record (domain_id, path, job_id, outcome, queued_ms, stored_ms, record)
     values ($1, $2, $3, 'rendered', 0, 0, $4)`,
    [domain.id, `/${colour}-job`, jobId, RENDER_RECORD],
  )
  await api.pool.query('update account set email = $2 where id = $1', [account.id, `${colour}@example.com`])
  await api.pool.query('update recipient set email = $2 where account_id = $1', [
    account.id,
    `${colour}@example.com`,
  ])
  const spareKey = { name: `${colour} spare`, expiresAt: null }
  const now = { plans: DEFAULT_PLANS, nowMs: TEST_START_MS }
  const spare = {
    keys: (await createKey(api.pool, account.id, spareKey, now)).id,
    tokens: (await createToken(api.pool, account.id, domain.name, `${colour} spare`, DEFAULT_PLANS)).id,
    sessions: await spareSession(api, account, colour),
    ...(await stockNotifications(api, account, domain, colour)),
    versions: await spareVersion(api, domain.id, colour),
    tries: await spareTry(api, domain.id, colour),
  }
  const inspectionId = randomUUID()
  await storeInspectedPage(api, account, inspectionId, colour)
  return { ...account, token, jobId, inspectionId, spare }
}

/** An incident, an endpoint, and a delivery that failed. */
async function stockNotifications(
  api: TestApi,
  account: TestAccount,
  domain: { id: number },
  colour: string,
) {
  const url = `https://${colour}.example.com/hook`
  const { id } = await createEndpoint(api.pool, api.deps.vault, account.id, { url })
  await api.pool.query(
    `insert into incident (account_id, domain_id, kind, since, summary, evidence) values ($1, $2, 'blocked', now(), $3, $4)`,
    [
      account.id,
      domain.id,
      colour,
      JSON.stringify({ count: 1, pages: [], changes: [], level: null, advice: '', url }),
    ],
  )
  const { id: delivery } = await testEndpoint(api.pool, account.id, id)
  await api.pool.query(`update delivery set state = 'failed', answer = $2 where id = $1`, [delivery, colour])
  return { endpoints: id, deliveries: delivery }
}

/** A page that can be read, and an inspection with a picture. */
async function storeInspectedPage(api: TestApi, { id }: TestAccount, inspectionId: string, colour: string) {
  await api.pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     select id, '/', 200, '[]', $2, 1, 'e', now() from domain where account_id = $1
     on conflict (domain_id, path, variant) do update set body_br = excluded.body_br`,
    [id, brotliCompressSync(`<title>${colour}</title>`)],
  )
  await api.pool.query(
    `insert into inspection (id, domain_id, path, state, person, person_picture)
     select $2, id, '/looked-at', 'done', $3, $4 from domain where account_id = $1 limit 1
     on conflict do nothing`,
    [id, inspectionId, JSON.stringify({ reason: colour }), Buffer.from(colour)],
  )
}

/** Redirects in force, and one use of them. */
async function spareVersion(api: TestApi, domain: number, colour: string): Promise<number> {
  const content = JSON.stringify([{ from: `/${colour}-old`, to: `/${colour}-new`, status: 301 }])
  await api.pool.query(`insert into redirect_use values ($1, $2, 1, now())`, [domain, `/${colour}-old`])
  const { rows } = await api.pool.query<{ id: number }>(
    `insert into site_version (domain_id, kind, content, author) values ($1, 'redirects', $2, $3) returning id`,
    [domain, content, `${colour}@example.com`],
  )
  return rows[0]!.id
}

async function spareTry(api: TestApi, domain: number, colour: string): Promise<string> {
  const { rows } = await api.pool.query<{ id: string }>(
    `with made as (insert into rule_try (domain_id) values ($1) returning id)
     insert into rule_try_page (try_id, place, job_id, path)
     select id, 0, gen_random_uuid(), $2 from made returning try_id as id`,
    [domain, `/${colour}-tried`],
  )
  return rows[0]!.id
}

async function spareSession(api: TestApi, account: TestAccount, colour: string): Promise<number> {
  const client = { address: '192.0.2.1', userAgent: `${colour} spare` }
  return (await startSession(api.pool, account.id, client, api.clock.nowMs()))!.session.id
}

type Secrets = { key: string; token: string; cookie: string }
const SENDS: Record<string, (as: Secrets) => TestRequest> = {
  ApiKey: ({ key }) => ({ key }),
  BearerKey: ({ key }) => ({ token: key }),
  PrerenderKey: ({ key }) => ({ headers: { 'x-prerender-token': key } }),
  WebhookToken: ({ token }) => ({ token }),
  Session: ({ cookie }) => ({ cookie }),
}

/** With a session of its own, as some requests end theirs. */
async function secretsOf({ api }: World, whose: Furnished): Promise<Secrets> {
  return { key: whose.key, token: whose.token, cookie: await api.session(whose) }
}

/** The request that the document describes, about this domain and this job. */
async function ask(
  api: TestApi,
  operation: Operation,
  as: Secrets,
  about: { domain: string; jobId: string; inspectionId: string; newName: string; spare: Spare },
  by = operation.security ?? '',
) {
  const url = `https://${about.domain}/`
  const path = operation.url
    .replace('{domain}', about.domain)
    .replace('{jobId}', about.jobId)
    .replace('keys/{id}', `keys/${about.spare.keys}`)
    .replace('tokens/{id}', `tokens/${about.spare.tokens}`)
    .replace('sessions/{id}', `sessions/${about.spare.sessions}`)
    .replace('endpoints/{id}', `endpoints/${about.spare.endpoints}`)
    .replace('deliveries/{id}', `deliveries/${about.spare.deliveries}`)
    .replace('versions/{id}', `versions/${about.spare.versions}`)
    .replace(/versions$/, 'versions?kind=redirects')
    .replace('{tryId}', about.spare.tries)
    .replace('{inspectionId}', about.inspectionId)
    .replace('{picture}', 'person')
    .replace('{url}', encodeURIComponent(url))
  assert.doesNotMatch(path, /[{}]/, 'a parameter without a value')
  const body = exampleBody(operation, {
    certificate_chain: CERTIFICATE.chain,
    private_key: CERTIFICATE.key,
    domain: about.domain,
    custom_domain: about.newName,
    origin_url: 'https://origin.example.com',
    is_active: true,
    settings: { fresh_seconds: 60 },
    path: '/amber-1',
    variant: 'desktop',
    paths: ['/', '/amber-1'],
    urls: ['/', '/amber-1'],
    all: true,
    which: 'outdated',
    paused: true,
    url,
    format: 'standard',
    events: ['domain.live'],
    emails: [{ email: `${about.domain.split('.')[0]}@example.net` }],
    user_agent: 'Googlebot',
    accept: 'text/html',
    name: 'amber new',
    expires_at: null,
    redirects: [{ from: '/amber-moved', to: '/amber-new' }],
    crawler: 'Googlebot',
    rules: [{ path: '/amber-1', action: 'pass' }],
    mode: 'replace',
    text: 'User-agent: *\nDisallow: /amber-1',
    current_password: PASSWORD,
    new_password: PASSWORD,
  })
  const request = SENDS[by]?.(as)
  assert(request !== undefined, `${operation.method} ${operation.url} needs what the test does not have`)
  return api.call(operation.method, path, { ...request, body })
}

/** All that belongs to amber, row by row. `last_used_at` may follow his own use. */
async function rowsOfAmber({ api, amber }: World): Promise<string> {
  const of = `in (select id from domain where account_id = ${amber!.id})`
  const queries = [
    `select * from account where id = ${amber!.id}`,
    `select id, name, revoked_at from api_key where account_id = ${amber!.id} order by id`,
    `select id, token_hash, expires_at from sign_in_session where account_id = ${amber!.id} order by id`,
    `select password_hash from account where id = ${amber!.id}`,
    `select * from domain where account_id = ${amber!.id} order by id`,
    ...[
      'page',
      'redirect',
      'sitemap',
      'known_path',
      'webhook_window',
      'render_count',
      'render_day',
      'traffic_hour',
      'traffic_day',
      'traffic_path',
      'traffic_last',
      'traffic_forbidden',
      'traffic_summary',
      'warm',
      'warm_count',
      'render_record',
      'last_visit',
      'last_render',
      'page_digest',
      'device_page',
      'inspection',
      'rule_try',
      'origin_header',
      'certificate',
      'certificate_order',
      'redirect_use',
      'site_version',
      'origin_robots',
      'page_fact',
      'indexnow_url',
    ].map((table) => `select t::text as row from ${table} t where domain_id ${of} order by 1`),
    ...['incident', 'endpoint', 'recipient', 'event', 'delivery', 'confirmation'].map(
      (table) => `select t::text as row from ${table} t where account_id = ${amber!.id} order by 1`,
    ),
    `select id, path, priority, state, superseded from job where domain_id ${of} order by id`,
    `select id, name, revoked_at from webhook_token where domain_id ${of} order by id`,
  ]
  const found = []
  for (const sql of queries) found.push((await api.pool.query(sql)).rows)
  return JSON.stringify(found)
}

/** What two worlds may differ in without telling anything: times, random ids, numbers from a counter. */
function withoutChance(text: string): string {
  return text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
    .replace(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"<time>"')
    .replace(/"(id|replay_of)":\d+/g, '"$1":<n>')
    .replace(/evt_[0-9a-f]{32}|whsec_[A-Za-z0-9+/=]+/g, '<id>')
    .replace(/pp_(live|wh)_[\w-]+/g, '<secret>')
}

describe('isolation, for every route of the document', () => {
  it('knows the routes', () => {
    assert(routes().length >= 14)
  })

  // Proves interface 4/4, interface 4.2/7, decided "Unknown domain, or another account's"
  it("with another's key, about the owner's things: the same answer as if he did not exist, and nothing changes", async () => {
    for (const operation of routes()) {
      const about = {
        domain: 'amber.example.com',
        jobId: NO_JOB,
        inspectionId: NO_JOB,
        newName: 'first.example.com',
        spare: NOTHING,
      }
      const { jobId, inspectionId, spare } = together.amber!
      for (const by of operation.securities) {
        const before = await rowsOfAmber(together)
        const answers = [
          await ask(alone.api, operation, await secretsOf(alone, alone.blue), about, by),
          await ask(
            together.api,
            operation,
            await secretsOf(together, together.blue),
            { ...about, jobId, inspectionId, spare },
            by,
          ),
        ] as const
        const name = `${operation.method} ${operation.url} by ${by}`
        assert.equal(answers[1].status, answers[0].status, name)
        assert.equal(withoutChance(answers[1].text), withoutChance(answers[0].text), name)
        assert.equal(await rowsOfAmber(together), before, name)
      }
    }
  })

  it('with his own key, about his own things: the same answer whoever else is there, and nothing of them changes', async () => {
    for (const operation of routes()) {
      // Deletes what the others need.
      if (operation.method === 'DELETE') continue
      const before = await rowsOfAmber(together)
      const about = {
        domain: 'blue.example.com',
        jobId: NO_JOB,
        inspectionId: NO_JOB,
        newName: 'second.example.com',
        spare: NOTHING,
      }
      const [first, second] = [
        await ask(alone.api, operation, await secretsOf(alone, alone.blue), about),
        await ask(together.api, operation, await secretsOf(together, together.blue), about),
      ]
      const name = `${operation.method} ${operation.url}`
      assert.equal(withoutChance(second.text), withoutChance(first.text), name)
      assert.equal(await rowsOfAmber(together), before, name)
    }
  })

  it('the owner, with the same requests, sees or changes something on each route', async () => {
    const amber = together.amber!
    // Deletion last, that of the whole domain after what belongs to it.
    const last = ({ method, url }: Operation) =>
      method !== 'DELETE' ? 0 : url === '/api/domains/{domain}' ? 2 : 1
    const order = routes().toSorted((a, b) => last(a) - last(b))
    for (const operation of order) {
      const secrets = await secretsOf(together, amber)
      const about = {
        domain: 'amber.example.com',
        jobId: amber.jobId,
        inspectionId: amber.inspectionId,
        newName: 'amber2.example.com',
        // A change of the password has ended those before.
        spare: { ...amber.spare, sessions: await spareSession(together.api, amber, 'amber') },
      }
      const before = await rowsOfAmber(together)
      const answer = await ask(together.api, operation, secrets, about)
      const name = `${operation.method} ${operation.url}`
      assert(answer.status < 300, `${name} answered ${answer.status}: ${answer.text}`)
      const sees =
        /amber/.test(answer.text) ||
        Number(answer.body['totalKeys']) > 0 ||
        /"sites":\{"used":[1-9]/.test(answer.text)
      assert(sees || (await rowsOfAmber(together)) !== before, name)
      // So that the next route finds something again.
      if (operation.method !== 'DELETE') await restock(together)
    }
  })
})

/**
 * Those of operators are about all accounts, and have tests of their own: operator-accounts.test.ts. So has the
 * one whose answer does not end: events.test.ts has two accounts that listen at once. The way out is the same for all.
 */
function routes(): Operation[] {
  return together.api.contract.operations.filter(
    ({ security, url }) =>
      security !== null && !url.startsWith('/api/operator/') && !['/api/events', '/api/egress'].includes(url),
  )
}

async function restock({ api, amber }: World): Promise<void> {
  await api.pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     select id, '/amber-1', 200, '{}', '\\x00', 1, 'e', now() from domain where account_id = $1
     on conflict do nothing`,
    [amber!.id],
  )
  await storeInspectedPage(api, amber!, amber!.inspectionId, 'amber')
}

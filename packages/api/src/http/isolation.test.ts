import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, it } from 'node:test'
import { brotliCompressSync } from 'node:zlib'
import { type DomainId, wholeAccount } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { SHARE_PARTS, type SharePart } from '@prepaint/contract/share-parts.ts'
import { inviteMember } from '@prepaint/service/accounts/invitations.ts'
import { createKey, createToken } from '@prepaint/service/accounts/keys.ts'
import { addMember, findMember } from '@prepaint/service/accounts/members.ts'
import { addPerson, findContact, updatePerson } from '@prepaint/service/accounts/persons.ts'
import { createShareLink } from '@prepaint/service/accounts/share-links.ts'
import { setPassword } from '@prepaint/service/accounts/sign-in/passwords.ts'
import { startSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { createSiteToken } from '@prepaint/service/fronts/site-tokens.ts'
import { testEndpoint } from '@prepaint/service/notifications/delivery/deliveries.ts'
import { createEndpoint } from '@prepaint/service/notifications/delivery/endpoints.ts'
import {
  startTestApi,
  storePages,
  storeRedirectAndSitemap,
  TEST_START_MS,
  type TestAccount,
  type TestApi,
  type TestRequest,
} from '../../../../test/support/api.ts'
import type { Operation } from '../../../../test/support/api-contract.ts'
import {
  EXAMPLE_PASSWORD,
  type ExampleIds,
  exampleRequest,
  NOTHING,
} from '../../../../test/support/example-request.ts'
import { renderRecord } from '../../../../test/support/render-record.ts'

// Two worlds: in one, blue is alone; in the other, amber is there too. Whatever
// blue asks, of his own things or of amber's by their names, he is answered the
// same in both: so he sees, counts and infers nothing of amber. And amber's
// rows stay as they are. That amber does see them shows that there was something.

type World = { api: TestApi; blue: Furnished; amber: Furnished | null }
/** `ids`: what is named in paths, such as a key, a token and a session that can be ended and leave the others. */
type Furnished = TestAccount & { token: string; share: string; ids: ExampleIds }

const alone = await world(false)
const together = await world(true)
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

/** A domain with something of every kind, all of which carries the colour. */
async function furnish(api: TestApi, account: TestAccount, colour: string): Promise<Furnished> {
  const { pool, parts } = api
  await setPassword(pool, (await findContact(pool, account.id)).id, EXAMPLE_PASSWORD)
  const domain = await api.domain(account, `${colour}.example.com`)
  await storePages(api, domain.id, ['/', `/${colour}-1`, `/${colour}-2`])
  await storeRedirectAndSitemap(api, domain.id)
  const paths = [`/${colour}-job`]
  const { body } = await api.post('/api/cache/refresh', account.key, { domain: domain.name, paths })
  const { jobId } = (body['jobs'] as { jobId: string }[])[0]!

  const email = `${colour}@example.com`
  await pool.query('update account set email = $2, name = $3 where id = $1', [
    account.id,
    email,
    `${colour} account`,
  ])
  const { id: owner } = await findContact(pool, account.id)
  await updatePerson(pool, owner, { name: `${colour} person` })
  await pool.query(`update channel set address = $2 where account_id = $1 and format = 'mail'`, [
    account.id,
    email,
  ])
  const now = new Date(TEST_START_MS)
  const inserted = async <Id>(sql: string, ...values: unknown[]) =>
    (await api.database.column<Id>(sql, domain.id, ...values))[0]!
  await inserted(`insert into last_visit values ($1, '/', $2, 'search', now())`, colour)
  await inserted(
    `insert into traffic_hour values ($1, date_trunc('hour', $2::timestamptz), 'search', $3, 'hit', 1, 0, 0, 0, 0, '{1}')`,
    ...[now, `${colour} crawler`],
  )
  await inserted(
    `insert into traffic_forbidden values ($1, $2, 'search', 'Googlebot', 1, array['/' || $3::text])`,
    ...[now, colour],
  )
  await inserted(`insert into traffic_path values ($1, $2, false, $3, 1, 'hit', 200)`, now, `/${colour}`)
  await inserted(
    `insert into render_record (domain_id, path, job_id, outcome, queued_ms, stored_ms, record)
     values ($1, $2, $3, 'rendered', 0, 0, $4)`,
    ...[`/${colour}-job`, jobId],
    renderRecord(),
  )
  await inserted(`insert into redirect_use values ($1, $2, 1, now())`, `/${colour}-old`)
  const url = `https://${colour}.example.com/hook`
  const incidents = await inserted<number>(
    `insert into incident (account_id, domain_id, kind, since, summary, evidence) values ($2, $1, 'blocked', now(), $3, $4) returning id`,
    ...[account.id, colour, { count: 1, pages: [], changes: [], level: null, advice: '', url }],
  )

  await pool.query('insert into account_branding (account_id, name) values ($1, $2)', [
    account.id,
    `${colour} brand`,
  ])
  const { id: endpoints } = await createEndpoint(pool, parts.vault, account.id, { url })
  const { id: deliveries } = await testEndpoint(pool, account.id, endpoints)
  await pool.query(`update delivery set state = 'failed', answer = $2 where id = $1`, [deliveries, colour])
  const spare = { name: `${colour} spare`, expiresAt: null }
  const ids = {
    account: account.id,
    members: await addedMember(api, account, `${colour} removed`),
    heir: await addedMember(api, account, `${colour} heir`),
    invitations: await invited(api, account, colour),
    ...{ jobId, inspectionId: randomUUID(), endpoints, deliveries, incidents },
    keys: (await createKey(pool, account.id, spare, { plans: DEFAULT_PLANS, nowMs: TEST_START_MS })).id,
    tokens: (await createToken(pool, account.id, domain.name, spare.name, DEFAULT_PLANS)).id,
    sessions: await spareSession(api, account, colour),
    links: (await shared(api, account, domain.name, ['traffic'])).shareLink.id,
    versions: await inserted<number>(
      `insert into site_version (domain_id, kind, content, author) values ($1, 'redirects', $2, $3) returning id`,
      ...[JSON.stringify([{ from: `/${colour}-old`, to: `/${colour}-new`, status: 301 }]), email],
    ),
    templates: await inserted<number>(
      `insert into settings_template (account_id, name, settings)
       select account_id, $2, '{"cards": "on"}' from domain where id = $1 returning id`,
      `${colour} template`,
    ),
    tryId: await inserted<string>(
      `insert into rule_try (id, place, domain_id, job_id, tried)
       values (gen_random_uuid(), 0, $1, gen_random_uuid(), $2) returning id`,
      { path: `/${colour}-tried`, category: 'search', variant: 'desktop', before: null, after: null },
    ),
  }
  await storeInspectedPage(api, account, ids.inspectionId, colour)
  await inserted('insert into domain_tags values ($1, array[$2])', `${colour} tag`)
  await inserted(`insert into dns_look (domain_id, addresses) values ($1, array[$2])`, `${colour} address`)
  await createSiteToken(pool, account.id, domain.name, { author: email, nowMs: TEST_START_MS })
  const { token } = await createToken(pool, account.id, domain.name, 'cms', DEFAULT_PLANS)
  const share = await shared(api, account, domain.name, SHARE_PARTS)
  return { ...account, token, share: share.token, ids }
}

/** A page that can be read, and an inspection and a try of rules with pictures. */
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
    [id, inspectionId, { reason: colour }, Buffer.from(colour)],
  )
  await api.pool.query(
    `update rule_try t set before_picture = $2 from domain d where d.id = t.domain_id and d.account_id = $1`,
    [id, Buffer.from(colour)],
  )
}

async function spareSession(api: TestApi, account: TestAccount, colour: string): Promise<number> {
  const client = { address: '192.0.2.1', userAgent: `${colour} spare` }
  const { id } = await findContact(api.pool, account.id)
  return (await startSession(api.pool, id, client, api.clock.nowMs()))!.session.id
}

async function addedMember(api: TestApi, { id }: TestAccount, name: string): Promise<number> {
  const email = `${name.replace(' ', '-')}@example.com`
  const person = await addPerson(api.pool, { email, password: null })
  await addMember(api.pool, id, person, { role: 'editor', domains: null })
  return findMember(api.pool, id, email)
}

function shared(api: TestApi, { id, email }: TestAccount, domain: string, parts: readonly SharePart[]) {
  const asked = { name: 'shared', domains: [domain], parts, author: email }
  const actor = { member: null, role: 'owner' } as const
  return createShareLink(api.pool, wholeAccount(id), actor, asked, TEST_START_MS)
}

async function invited(api: TestApi, { id }: TestAccount, colour: string): Promise<number> {
  const asked = { email: `${colour}-guest@example.com`, role: 'editor' as const, invitedBy: colour }
  const how = { isHandedOver: true, nowMs: TEST_START_MS }
  return (await inviteMember(api.pool, wholeAccount(id), { member: null, role: 'owner' }, asked, how))
    .invitation.id
}

type Secrets = { key: string; token: string; share: string; cookie: string }
const SENDS: Record<string, (as: Secrets) => TestRequest> = {
  ApiKey: ({ key }) => ({ key }),
  BearerKey: ({ key }) => ({ token: key }),
  PrerenderKey: ({ key }) => ({ headers: { 'x-prerender-token': key } }),
  WebhookToken: ({ token }) => ({ token }),
  Session: ({ cookie }) => ({ cookie }),
  ShareLink: ({ share }) => ({ headers: { 'x-share-token': share } }),
}

/** The request that the document describes, about this domain and these things. Some requests end their session: it is a new one. */
async function ask(
  api: TestApi,
  operation: Operation,
  whose: Furnished & { cookie?: string },
  about: { domain: string; newName: string; ids: ExampleIds },
  by = operation.security ?? '',
) {
  const { path, body, headers } = exampleRequest(operation, about)
  const request = SENDS[by]?.({ ...whose, cookie: whose.cookie ?? (await api.session(whose)) })
  assert(request !== undefined, `${operation.method} ${operation.url} needs what the test does not have`)
  return api.call(operation.method, path, { ...request, body, headers: { ...request.headers, ...headers } })
}

/** All that belongs to amber, row by row. `last_used_at` may follow his own use. */
async function rowsOfAmber({ api, amber }: World): Promise<string> {
  const of = `in (select id from domain where account_id = ${amber!.id})`
  const ofDomain =
    'page redirect sitemap known_path webhook_window render_count render_day traffic_hour traffic_day traffic_path ' +
    'traffic_minute traffic_folded_hour traffic_folded_day traffic_last traffic_forbidden warm warm_count render_record last_visit last_render ' +
    'page_digest device_page inspection rule_try origin_header certificate certificate_order redirect_use ' +
    'site_version origin_robots page_fact integration_way integration_visits integration_refusal integration_check domain_tags domain_checklist dns_look domain_proof domain_month'
  const ofAccount =
    'domain incident channel event delivery confirmation settings_template account_branding account_month'
  const parts: [table: string, where: string, columns?: string][] = [
    ['account', `id = ${amber!.id}`],
    ['api_key', `account_id = ${amber!.id}`, 'id, name, revoked_at'],
    ['member', `account_id = ${amber!.id}`, 'id, person_id, role, domains, sessions_ended_at'],
    ['person', `id in (select person_id from member where account_id = ${amber!.id})`],
    ['invitation', `account_id = ${amber!.id}`],
    [
      'session',
      `person_id in (select person_id from member where account_id = ${amber!.id})`,
      'id, token_hash, expires_at',
    ],
    ['job', `domain_id ${of}`, 'id, path, priority, state, superseded'],
    ['share_link', `account_id = ${amber!.id}`, 'id, name, domains, parts, expires_at'],
    ['site_token', `account_id = ${amber!.id}`, 'id, token_hash, ends_at'],
    ['webhook_token', `domain_id ${of}`, 'id, name, revoked_at'],
    ...ofDomain.split(' ').map((table): [string, string] => [table, `domain_id ${of}`]),
    ...ofAccount.split(' ').map((table): [string, string] => [table, `account_id = ${amber!.id}`]),
  ]
  const sql = parts.map(
    ([table, where, columns = '*']) =>
      `select '${table}' as kind, t::text as row from (select ${columns} from ${table} where ${where}) t`,
  )
  return (
    await api.database.column<string>(`select kind || row from (${sql.join(' union all ')}) t order by 1`)
  ).join('\n')
}

/** What two worlds may differ in without telling anything: times, random ids, numbers from a counter. */
function withoutChance(text: string): string {
  return text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
    .replace(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"<time>"')
    .replace(/"(id|replay_of|next)":\d+/g, '"$1":<n>')
    .replace(/evt_[0-9a-f]{32}|whsec_[A-Za-z0-9+/=]+/g, '<id>')
    .replace(/pp_(live|wh|site|in|sh)_[\w-]+/g, '<secret>')
    .replace(/(prepaint-proof(?:=|\\" content=\\"))[0-9a-f]{40}/g, '$1<secret>')
    .replace(/\/logos\/[\w-]{43}/g, '<logo>')
    .replace(/127\.0\.0\.1:\d+/g, '<server>')
}

/** They are about the caller's own login, need an authenticator or e-mail, and have tests of their own: second-factor.test.ts, email.test.ts. */
const OF_FACTORS = /^\/api\/(second-factor|passkeys|session\/confirm|person\/email)/

/**
 * Those of operators are about all accounts, and have tests of their own: operator.test.ts. So has the one whose
 * answer does not end: events.test.ts has two accounts that listen at once. The way out is the same for all.
 */
const routes = together.api.contract.operations.filter(
  ({ security, url, operationId }) =>
    security !== null &&
    !OF_FACTORS.test(url) &&
    !url.startsWith('/api/operator/') &&
    !['/api/events', '/api/egress'].includes(url) &&
    operationId !== 'deletePerson',
)

const atFirst = await rowsOfAmber(together)
/** Blue asks in both worlds: the answer is the same, and amber's rows stay as they are. */
async function askInBoth(operation: Operation, domain: string, newName: string, ids = NOTHING, by?: string) {
  const first = await ask(alone.api, operation, alone.blue, { domain, newName, ids: NOTHING }, by)
  const second = await ask(together.api, operation, together.blue, { domain, newName, ids }, by)
  const name = `${operation.method} ${operation.url} by ${by}`
  assert.equal(second.status, first.status, name)
  assert.equal(withoutChance(second.text), withoutChance(first.text), name)
  assert.equal(await rowsOfAmber(together), atFirst, name)
  return { ...second, name }
}

// Proves interface 4/4, interface 4.2/7, decided "Unknown domain, or another account's"
it("with another's key, about the owner's things: the same answer as if he did not exist, and nothing changes", async () => {
  assert(routes.length >= 14)
  for (const operation of routes) {
    for (const by of operation.securities) {
      const { amber } = together
      const asked = await askInBoth(operation, 'amber.example.com', 'first.example.com', amber!.ids, by)
      if (operation.url.includes('{domain}') || 'domain' in (operation.body?.properties ?? {})) {
        assert.deepEqual([asked.status, asked.body['error']], [404, 'Domain not found'], asked.name)
      }
    }
  }
})

it('with his own key, about his own things: the same answer whoever else is there, and nothing of them changes', async () => {
  // Deletions take away what the others need.
  for (const operation of routes.filter(({ method }) => method !== 'DELETE')) {
    await askInBoth(operation, 'blue.example.com', 'second.example.com')
  }
})

it('the owner, with the same requests, sees or changes something on each route', async () => {
  const { api } = together
  const amber = together.amber!
  // Deletion last: that of the whole domain after what belongs to it, and then the owner hands over and leaves.
  const lastly = ['deleteDomain', 'transferAccount', 'leaveAccount']
  const last = ({ method, operationId }: Operation) =>
    lastly.includes(operationId)
      ? 2 + lastly.indexOf(operationId)
      : Number(method === 'DELETE' && operationId !== 'endSessionsOfMember')
  let cookie = ''
  for (const operation of routes.toSorted((a, b) => last(a) - last(b))) {
    // A change of the password has ended the sessions before.
    const ids = { ...amber.ids, sessions: await spareSession(api, amber, 'amber') }
    const about = { domain: 'amber.example.com', newName: 'amber2.example.com', ids }
    // Whoever handed the account over leaves it.
    if (operation.operationId !== 'leaveAccount') cookie = await api.session(amber)
    const before = await rowsOfAmber(together)
    const answer = await ask(api, operation, { ...amber, cookie }, about)
    const name = `${operation.method} ${operation.url}`
    assert(answer.status < 300, `${name} answered ${answer.status}: ${answer.text}`)
    const sees =
      /amber/.test(answer.text) ||
      Number(answer.body['totalKeys']) > 0 ||
      /"sites":\{"used":[1-9]/.test(answer.text)
    assert(sees || (await rowsOfAmber(together)) !== before, name)
    if (operation.method === 'DELETE') continue
    // So that the next route finds something again.
    const [own] = await api.database.column<DomainId>('select id from domain where account_id = $1', amber.id)
    await api.pool.query(`delete from page where domain_id = $1 and path = '/amber-1'`, [own])
    await storePages(api, own!, ['/amber-1'])
    await storeInspectedPage(api, amber, ids.inspectionId, 'amber')
  }
})

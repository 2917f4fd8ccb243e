import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import { type AccountId, type PersonId, wholeAccount } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { createAccount } from '@prepaint/service/accounts/accounts.ts'
import { inviteMember } from '@prepaint/service/accounts/invitations.ts'
import { addMember } from '@prepaint/service/accounts/members.ts'
import { createPerson, findContact, setOperator } from '@prepaint/service/accounts/persons.ts'
import { createLink } from '@prepaint/service/accounts/sign-in/links.ts'
import { setPassword } from '@prepaint/service/accounts/sign-in/passwords.ts'
import { endSessionsOfOtherWays, startSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import type { SsoSettings } from '@prepaint/service/accounts/sign-in/single-sign-on.ts'
import { forgetSsoLogin } from '@prepaint/service/accounts/sign-in/sso-person.ts'
import {
  assertAnswer,
  cookieOf,
  openApi,
  type TestAnswer,
  type TestApi,
} from '../../../../test/support/api.ts'
import { emptyTables } from '../../../../test/support/database.ts'
import { CLIENT, type Issue, startIdentityProvider } from '../../../../test/support/identity-provider.ts'

const HOME = { 'sec-fetch-site': 'same-origin' }
const PASSWORD = 'correct horse'
const PUBLIC_URL = 'https://prepaint.example'
const CALLBACK = '/sign-in/sso/callback'

const provider = await startIdentityProvider()
after(() => provider.close())
const settings: SsoSettings = {
  issuer: provider.issuer,
  clientId: CLIENT.id,
  clientSecret: CLIENT.secret,
  name: 'Acme',
  operatorGroup: null,
  isOnly: false,
}
const api = await openApi({ sso: settings, publicUrl: PUBLIC_URL })
const grouped = await openApi({ sso: { ...settings, operatorGroup: 'admins' }, publicUrl: PUBLIC_URL })
const only = await openApi({ sso: { ...settings, isOnly: true }, publicUrl: PUBLIC_URL })
const without = await openApi({ publicUrl: PUBLIC_URL })

beforeEach(async () => {
  for (const { pool } of [api, grouped, only]) {
    await emptyTables(pool, 'account, person, rate, link restart identity cascade')
  }
  Object.assign(provider, { auth: 'client_secret_basic', isAway: false, asked: [] })
})

const startIn = (on: TestApi, body: object = {}, request: object = { headers: HOME }) =>
  on.call('POST', '/api/session/sso', { body, ...request })

type Started = { url: string; cookie: string; state: string }

async function started(on: TestApi = api, body: object = {}, request?: object): Promise<Started> {
  const answer = await startIn(on, body, request)
  assert.equal(answer.status, 200, answer.text)
  const url = answer.body['url'] as string
  const cookie = cookieOf(answer.headers.getSetCookie().filter((line) => line.includes('prepaint-sso=')))
  return { url, cookie, state: new URL(url).searchParams.get('state')! }
}

/** What the document does not describe: a page, and what only the dashboard asks for. */
async function page(on: TestApi, path: string, headers: Record<string, string> = {}): Promise<TestAnswer> {
  const answer = await fetch(on.url + path, { headers, redirect: 'manual' })
  const text = await answer.text()
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true
  const body = isJson ? (JSON.parse(text) as Record<string, unknown>) : {}
  return { status: answer.status, headers: answer.headers, body, text }
}

const offered = async (on: TestApi) => (await page(on, '/api/installation')).body['single_sign_on']

/** The browser comes back from the provider. */
function back(on: TestApi, query: Record<string, string>, cookie: string | null): Promise<TestAnswer> {
  const headers: Record<string, string> = { 'sec-fetch-site': 'cross-site' }
  if (cookie !== null) headers['cookie'] = cookie
  return page(on, `${CALLBACK}?${new URLSearchParams(query)}`, headers)
}

const ANN = { sub: 'ann-1', email: 'Ann@Example.com', email_verified: true }

/** A whole sign-in of the person with these claims. */
async function signIn(
  claims: Issue['claims'],
  on: TestApi = api,
  more: Partial<Issue> = {},
): Promise<TestAnswer> {
  const { url, cookie, state } = await started(on)
  const code = provider.issue({ startUrl: url, claims, ...more })
  return back(on, { code, state, iss: provider.issuer }, cookie)
}

const SESSION = '__Host-prepaint-session'

/** The cookie of the session that began. */
function sessionOf(answer: TestAnswer): string {
  assert.equal(answer.status, 200, answer.headers.get('location') ?? answer.text)
  const line = answer.headers.getSetCookie().find((each) => each.startsWith(`${SESSION}=`))
  return cookieOf([line!])
}

async function assertFailed(answer: TestAnswer, error: string, on: TestApi = api): Promise<void> {
  assert.deepEqual(
    [answer.status, answer.headers.get('location')],
    [303, `/sign-in?error=${error}`],
    answer.text,
  )
  assert.deepEqual(answer.headers.getSetCookie(), [])
  const { rows } = await on.pool.query('select from session')
  assert.equal(rows.length, 0, 'no session began')
}

const whoIs = async (cookie: string, on: TestApi = api) => {
  const answer = await on.call('GET', '/api/session', { cookie })
  return answer.status === 200 ? (answer.body['person'] as { email: string; is_operator: boolean }) : null
}

const newAccount = (email: string, on: TestApi = api, password: string | null = PASSWORD) =>
  createAccount(on.pool, DEFAULT_PLANS, { email, plan: 'agency', password })

describe('the way to the provider', () => {
  // Proves decided "Single sign-on"
  it('404 if no provider is configured, and its callback is none', async () => {
    assertAnswer(await startIn(without), 404, 'Sign-in not found')
    assertAnswer(await back(without, { state: 'x' }, null), 404, 'Sign-in not found')
    assert.equal(await offered(without), null)
  })

  it('200: code flow with PKCE, state and nonce, and a Lax cookie of ten minutes', async () => {
    const answer = await startIn(api)
    const url = new URL(answer.body['url'] as string)
    assert.equal(url.origin + url.pathname, `${provider.issuer}/auth`)
    const { state, nonce, code_challenge: challenge, ...asked } = Object.fromEntries(url.searchParams)
    assert.deepEqual(asked, {
      client_id: CLIENT.id,
      redirect_uri: PUBLIC_URL + CALLBACK,
      response_type: 'code',
      scope: 'openid email',
      code_challenge_method: 'S256',
      max_age: '2592000',
    })
    for (const random of [state, nonce, challenge]) assert.match(random!, /^[\w-]{43}$/)
    const lines = answer.headers.getSetCookie()
    assert.equal(lines.length, 1)
    assert.match(
      lines[0]!,
      /^__Host-prepaint-sso=pp_so_\S+; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    )
    assert.deepEqual(await offered(api), { name: 'Acme', is_only: false })
  })

  it('groups are asked for where a group makes operators and the provider lists that scope', async () => {
    const scopeOf = ({ url }: Started) => new URL(url).searchParams.get('scope')
    assert.equal(scopeOf(await started(grouped)), 'openid email groups')
    assert.equal(scopeOf(await started(api)), 'openid email')
  })

  it('403: another site cannot begin it; 502 if the provider is away', async () => {
    assertAnswer(
      await startIn(api, {}, { headers: { 'sec-fetch-site': 'cross-site' } }),
      403,
      'Request from another site refused',
    )
    provider.isAway = true
    api.clock.atMs += 2 * 3_600_000
    assertAnswer(await startIn(api), 502, 'The provider of single sign-on cannot be reached, try again later')
    provider.isAway = false
    assert.equal((await startIn(api)).status, 200, 'a failure is not kept')
  })

  it('starts and returns while the provider is away do not count', async () => {
    const before = await started()
    const code = provider.issue({ startUrl: before.url, claims: ANN })
    provider.isAway = true
    const query = { code, state: before.state, iss: provider.issuer }
    await assertFailed(await back(api, query, before.cookie), 'provider')
    api.clock.atMs += 2 * 3_600_000
    for (let n = 0; n < 31; n++) assert.equal((await startIn(api)).status, 502)
    provider.isAway = false
    for (let n = 0; n < 30; n++) await started()
    assert.equal((await startIn(api)).status, 429)
    const { rows } = await api.pool.query(`select from rate where what = 'sso address'`)
    assert.equal(rows.length, 1)
  })

  it('returns count that the provider refuses', async () => {
    for (let n = 0; n < 30; n++) {
      const { cookie, state } = await started()
      await assertFailed(await back(api, { code: 'x', state, iss: provider.issuer }, cookie), 'provider')
    }
    assert.equal((await startIn(api)).status, 429)
  })

  it('429: 30 starts of an address in 15 minutes, of which those do not count that ended well', async () => {
    for (let n = 0; n < 29; n++) await started()
    sessionOf(await signIn(ANN))
    await started()
    const refused = await startIn(api)
    assertAnswer(refused, 429, 'Too many failed attempts, try again later')
    assert.equal(refused.headers.get('retry-after'), '900')
    api.clock.atMs += 15 * 60_000
    assert.equal((await startIn(api)).status, 200)
  })
})

describe('the way back', () => {
  it('an unknown person is made, in no account, and gets a session of 12 hours', async () => {
    const answer = await signIn(ANN)
    const cookie = sessionOf(answer)
    assert.match(answer.text, /<meta http-equiv="refresh" content="0;url=\/domains">/)
    assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8')
    assert.match(answer.headers.get('content-security-policy')!, /^default-src 'none'; style-src 'sha256-/)
    const lines = answer.headers.getSetCookie()
    assert.match(lines.find((line) => line.startsWith(SESSION))!, /HttpOnly; Secure; SameSite=Strict$/)
    assert.match(lines.find((line) => line.includes('sso='))!, /Max-Age=0/)
    const session = await api.call('GET', '/api/session', { cookie })
    assert.equal(session.body['account'], null)
    assert.equal((session.body['person'] as { email: string }).email, 'ann@example.com')
    assertAnswer(await api.call('GET', '/api/domains', { cookie }), 403, 'You are in no account')
    const { body } = await api.call('GET', '/api/sessions', { cookie })
    const [listed] = body['sessions'] as { way: string; second_factor: boolean }[]
    assert.deepEqual([listed!.way, listed!.second_factor], ['sso', false])
    api.clock.atMs += 12 * 3_600_000 - 1
    assert.notEqual(await whoIs(cookie), null)
    api.clock.atMs += 1
    assert.equal(await whoIs(cookie), null)
  })

  it('the person of the address is known by issuer and subject afterwards, whatever its address is then', async () => {
    const { id } = await newAccount('ann@example.com')
    const cookie = sessionOf(await signIn(ANN))
    assert.equal((await api.call('GET', '/api/domains', { cookie })).status, 200)
    const members = await api.call('GET', '/api/members', { cookie })
    assert.deepEqual((members.body['members'] as { ways: string[] }[])[0]!.ways, ['password', 'sso'])
    const entries = await api.call('GET', '/api/audit', { cookie })
    const [entry] = entries.body['entries'] as { action: string; way: string; actor: { kind: string } }[]
    assert.deepEqual([entry!.action, entry!.way, entry!.actor.kind], ['sign_in.succeeded', 'sso', 'person'])
    for (const later of [
      { sub: ANN.sub, email: 'other@example.com', email_verified: true },
      { sub: ANN.sub, email: 'ann@example.com', email_verified: false },
      { sub: ANN.sub },
    ]) {
      assert.equal((await whoIs(sessionOf(await signIn(later))))!.email, 'ann@example.com')
    }
    assert.equal((await findContact(api.pool, id)).email, 'ann@example.com')
  })

  it('an address that the provider gives to another of its users stays with the first one: the other is refused', async () => {
    await newAccount('ann@example.com')
    const before = sessionOf(await signIn(ANN))
    const refused = await signIn({ ...ANN, sub: 'ann-2' })
    assert.deepEqual(
      [refused.status, refused.headers.get('location'), refused.headers.getSetCookie()],
      [303, '/sign-in?error=no-access&reason=other-login', []],
    )
    assert.equal((await whoIs(before))!.email, 'ann@example.com')
    assert.equal((await whoIs(sessionOf(await signIn({ sub: 'ann-1' }))))!.email, 'ann@example.com')
    const { rows } = await api.pool.query('select subject from sso_identity')
    assert.deepEqual(rows, [{ subject: 'ann-1' }])
  })

  it('of two logins of the provider with one address that come at once, one is let in', async () => {
    const answers = await Promise.all(['ann-1', 'ann-2'].map((sub) => signIn({ ...ANN, sub })))
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 303])
    const { rows } = await api.pool.query('select from sso_identity')
    assert.equal(rows.length, 1)
  })

  it('the operator lets another login be the person: what the one of before knows is dropped', async () => {
    const { id } = await newAccount('ann@example.com')
    const before = sessionOf(await signIn(ANN))
    const person = (await findContact(api.pool, id)).id
    await api.pool.query(
      `insert into second_factor (person_id, created_at, confirmed_at) values ($1, now(), now())`,
      [person],
    )
    const { token } = await createLink(api.pool, DEFAULT_PLANS, { kind: 'reset', person }, api.clock.nowMs())
    await forgetSsoLogin(api.pool, person)
    assert.equal(await whoIs(before), null)
    const body = { email: 'ann@example.com', password: PASSWORD }
    assert.equal((await api.call('POST', '/api/session', { body, headers: HOME })).status, 401)
    assert.equal((await api.call('POST', '/api/links/read', { body: { token }, headers: HOME })).status, 404)
    const after = sessionOf(await signIn({ ...ANN, sub: 'ann-2' }))
    assert.equal((await api.call('GET', '/api/domains', { cookie: after })).status, 200)
    const { rows } = await api.pool.query('select from second_factor')
    assert.equal(rows.length, 0)
    assert.match((await signIn(ANN)).headers.get('location')!, /reason=other-login$/)
  })

  it('a provider that takes the secret in the body, and one that tells the address by userinfo only', async () => {
    provider.auth = 'client_secret_post'
    sessionOf(await signIn(ANN))
    const { sub, ...userinfo } = ANN
    const cookie = sessionOf(
      await signIn({ sub: 'bob' }, api, { userinfo: { ...userinfo, email: 'bob@example.com' } }),
    )
    assert.equal((await whoIs(cookie))!.email, 'bob@example.com')
    assert.equal(sub, 'ann-1')
    provider.auth = 'client_secret_basic'
    sessionOf(await signIn(ANN))
  })

  const now = () => Math.floor(Date.now() / 1_000)
  const SPOILT: [name: string, claims: () => Issue['claims'], error: string, more?: Partial<Issue>][] = [
    ['another nonce', () => ({ ...ANN, nonce: 'x' }), 'provider'],
    ['another issuer', () => ({ ...ANN, iss: 'https://evil.example' }), 'provider'],
    ['another audience', () => ({ ...ANN, aud: 'another' }), 'provider'],
    ['an expired token', () => ({ ...ANN, iat: now() - 900, exp: now() - 600 }), 'provider'],
    ['a signature of another key', () => ANN, 'provider', { isForged: true }],
    ['an unsigned token', () => ANN, 'provider', { header: { alg: 'none' } }],
    ['an unverified address', () => ({ ...ANN, email_verified: false }), 'not-verified'],
    ['a word instead of true', () => ({ ...ANN, email_verified: 'true' }), 'not-verified'],
    [
      'an address of which nothing is said',
      () => ({ sub: 'ann-1', email: 'ann@example.com' }),
      'not-verified',
    ],
    ['no address', () => ({ sub: 'ann-1' }), 'not-verified'],
    ['no address at all', () => ({ ...ANN, email: 'ann' }), 'not-verified'],
  ]
  for (const [name, claims, error, more] of SPOILT) {
    it(`${name}: ${error}, and no cookie`, async () => {
      await newAccount('ann@example.com')
      await assertFailed(await signIn(claims(), api, more), error)
    })
  }

  it('an answer for another state, of another issuer, of no issuer, or twice the same is refused', async () => {
    const { url, cookie, state } = await started()
    const code = provider.issue({ startUrl: url, claims: ANN })
    await assertFailed(
      await back(api, { code, state: `${state.slice(1)}A`, iss: provider.issuer }, cookie),
      'expired',
    )
    await assertFailed(await back(api, { code, state: '\0', iss: provider.issuer }, cookie), 'expired')
    await assertFailed(await back(api, { code, iss: provider.issuer }, cookie), 'expired')
    assert.deepEqual(provider.asked, [], 'the provider was not asked')
    await assertFailed(await back(api, { code, state, iss: 'https://evil.example' }, cookie), 'provider')
    const again = await started()
    const spare = provider.issue({ startUrl: again.url, claims: ANN })
    await assertFailed(await back(api, { code: spare, state: again.state }, again.cookie), 'provider')
    assert.deepEqual(provider.asked, [], 'no code was sent')
  })

  it('a return to a browser that did not start it is refused: nobody is signed in as another', async () => {
    const mine = await started()
    const theirs = await started()
    const code = provider.issue({ startUrl: mine.url, claims: ANN })
    const query = { code, state: mine.state, iss: provider.issuer }
    await assertFailed(await back(api, query, null), 'expired')
    await assertFailed(await back(api, query, theirs.cookie), 'expired')
    await assertFailed(await back(api, query, `${theirs.cookie.slice(0, -1)}!`), 'expired')
    sessionOf(await back(api, query, mine.cookie))
  })

  it('a second use of the same address is refused, and so is one after ten minutes', async () => {
    const { url, cookie, state } = await started()
    const code = provider.issue({ startUrl: url, claims: ANN })
    const query = { code, state, iss: provider.issuer }
    const first = sessionOf(await back(api, query, cookie))
    const again = await back(api, query, cookie)
    assert.deepEqual([again.status, again.headers.get('location')], [303, '/sign-in?error=expired'])
    assert.deepEqual(again.headers.getSetCookie(), [])
    assert.notEqual(await whoIs(first), null)
    await api.pool.query('delete from session')
    const late = await started()
    const lateCode = provider.issue({ startUrl: late.url, claims: ANN })
    api.clock.atMs += 10 * 60_000
    await assertFailed(
      await back(api, { code: lateCode, state: late.state, iss: provider.issuer }, late.cookie),
      'expired',
    )
  })

  it('the code of another browser does not fit the verifier', async () => {
    const mine = await started()
    const theirs = await started()
    const code = provider.issue({ startUrl: theirs.url, claims: ANN })
    await assertFailed(
      await back(api, { code, state: mine.state, iss: provider.issuer }, mine.cookie),
      'provider',
    )
  })

  it('a refusal by the provider is told: denied, or its own fault', async () => {
    for (const [error, shown] of [
      ['access_denied', 'denied'],
      ['server_error', 'provider'],
      ['<script>', 'provider'],
    ] as const) {
      const { cookie, state } = await started()
      await assertFailed(await back(api, { error, state, iss: provider.issuer }, cookie), shown)
    }
  })

  it('a person whose accounts are all suspended has no access', async () => {
    const { id } = await newAccount('ann@example.com')
    await api.pool.query('update account set suspended_at = now() where id = $1', [id])
    await assertFailed(await signIn(ANN), 'no-access')
  })

  it('it leads to a screen of the dashboard, and nowhere else', async () => {
    const leadsTo = async (next: string) => {
      const { url, cookie, state } = await started(api, { next })
      const code = provider.issue({ startUrl: url, claims: ANN })
      const { text } = await back(api, { code, state, iss: provider.issuer }, cookie)
      return /content="0;url=([^"]*)"/.exec(text)?.[1]
    }
    for (const screen of [
      '/account/security',
      '/domains/shop.example.com/traffic',
      '/domains/shop.example.com/settings/paths',
      '/reports/2026-10',
    ]) {
      assert.equal(await leadsTo(screen), screen)
    }
    for (const next of [
      'https://evil.example/',
      '//evil.example/domains',
      '/\\evil.example',
      '/domains?x=//evil.example',
      '/domains/..//evil.example',
      'javascript:alert(1)',
      '/sign-in/sso/callback',
      '/domains"><script>',
      '/api/session',
      '',
    ]) {
      assert.equal(await leadsTo(next), '/domains', next)
    }
  })

  it('who comes by a link that the inviter held: what was prepared in the name of the address is dropped', async () => {
    const person = await createPerson(api.pool, {
      email: 'ann@example.com',
      passwordHash: null,
      isUnproven: true,
    })
    await transaction(api.pool, (client) => setPassword(client, person!, PASSWORD))
    const client = { address: '127.0.0.1', userAgent: 'test' }
    const prepared = await startSession(api.pool, person!, client, api.clock.nowMs())
    const preparedCookie = `${SESSION}=${prepared!.token}`
    await api.pool.query(
      `insert into second_factor (person_id, created_at, confirmed_at) values ($1, now(), now())`,
      [person],
    )
    assert.notEqual(await whoIs(preparedCookie), null)
    const cookie = sessionOf(await signIn(ANN))
    assert.equal((await whoIs(cookie))!.email, 'ann@example.com')
    assert.equal(await whoIs(preparedCookie), null)
    const { rows } = await api.pool.query(
      `select password_hash, is_unproven, (select count(*)::int from second_factor) as factors from person where id = $1`,
      [person],
    )
    assert.deepEqual(rows, [{ password_hash: null, is_unproven: false, factors: 0 }])
    const body = { email: 'ann@example.com', password: PASSWORD }
    assert.equal((await api.call('POST', '/api/session', { body, headers: HOME })).status, 401)
  })

  it('a proven person keeps password and factors', async () => {
    await newAccount('ann@example.com')
    sessionOf(await signIn(ANN))
    const body = { email: 'ann@example.com', password: PASSWORD }
    assert.equal((await api.call('POST', '/api/session', { body, headers: HOME })).status, 200)
  })

  it('the second factor that an account requires is the provider’s', async () => {
    const { id } = await newAccount('ann@example.com')
    await api.pool.query('update account set second_factor_required = true where id = $1', [id])
    const cookie = sessionOf(await signIn(ANN))
    assert.equal((await api.call('GET', '/api/domains', { cookie })).status, 200)
  })
})

describe('operators by a group of the provider', () => {
  const isOperator = async (claims: Issue['claims'], on: TestApi) =>
    (await whoIs(sessionOf(await signIn(claims, on)), on))!.is_operator

  it('each sign-in sets or ends it, recorded as the provider’s', async () => {
    const { id } = await newAccount('ann@example.com', grouped)
    assert.equal(await isOperator({ ...ANN, groups: ['staff', 'admins'] }, grouped), true)
    assert.equal(await isOperator({ ...ANN, groups: 'admins' }, grouped), true)
    assert.equal(await isOperator({ ...ANN, groups: ['staff', 'Admins'] }, grouped), false)
    assert.equal(await isOperator({ ...ANN, groups: ['admins'] }, grouped), true)
    assert.equal(await isOperator(ANN, grouped), false)
    const { rows } = await grouped.pool.query(
      `select actor_kind, actor_name, way, target, details->'is_operator'->>'new' as new from audit_entry
        where account_id = $1 and action = 'person.operator_changed' order by id`,
      [id],
    )
    const entry = { actor_kind: 'sso', actor_name: 'Acme', way: 'sso', target: 'ann@example.com' }
    assert.deepEqual(rows, [
      { ...entry, new: 'true' },
      { ...entry, new: 'false' },
      { ...entry, new: 'true' },
      { ...entry, new: 'false' },
    ])
  })

  it('without a group, sign-ins change no operator', async () => {
    const { id } = await newAccount('ann@example.com')
    assert.equal(await isOperator({ ...ANN, groups: ['admins'] }, api), false)
    await setOperator(api.pool, (await findContact(api.pool, id)).id, true)
    assert.equal(await isOperator(ANN, api), true)
  })
})

describe('how long ago a sign-in proved who it is', () => {
  const fresh = async (cookie: string) => {
    const { status, body } = await api.call('POST', '/api/second-factor/totp', { cookie })
    return status === 200 ? true : body['confirm']
  }
  const secondsAgo = (seconds: number) => Math.floor(api.clock.nowMs() / 1_000) - seconds

  it('the provider says it: one who was signed in there long ago must confirm dangerous actions', async () => {
    const long = sessionOf(await signIn({ ...ANN, auth_time: secondsAgo(901) }))
    assert.deepEqual(await fresh(long), ['sso'])
    const soon = sessionOf(await signIn({ ...ANN, auth_time: secondsAgo(890) }))
    assert.equal(await fresh(soon), true)
  })

  it('where the provider does not say it, the sign-in itself counts', async () => {
    const cookie = sessionOf(await signIn(ANN))
    assert.equal(await fresh(cookie), true)
    api.clock.atMs += 900_000
    assert.deepEqual(await fresh(cookie), ['sso'])
  })

  it('a time to come counts as now', async () => {
    const cookie = sessionOf(await signIn({ ...ANN, auth_time: secondsAgo(-3_600) }))
    assert.equal(await fresh(cookie), true)
    api.clock.atMs += 900_000
    assert.deepEqual(await fresh(cookie), ['sso'])
  })
})

describe('proving again who it is', () => {
  const CONFIRM = { confirm: true, next: '/sign-in/confirmed' }
  const fresh = async (cookie: string) =>
    (await api.call('POST', '/api/second-factor/totp', { cookie })).status

  async function stale(): Promise<string> {
    const cookie = sessionOf(await signIn(ANN))
    api.clock.atMs += 3_600_000
    const refused = await api.call('POST', '/api/second-factor/totp', { cookie })
    assert.deepEqual([refused.status, refused.body['confirm']], [403, ['sso']])
    return cookie
  }

  async function confirm(cookie: string, claims: Issue['claims'], tookMs = 0): Promise<TestAnswer> {
    const { url, cookie: sso, state } = await started(api, CONFIRM, { cookie })
    const { prompt, max_age: maxAge } = Object.fromEntries(new URL(url).searchParams)
    assert.deepEqual([prompt, maxAge], ['login', '0'])
    const code = provider.issue({ startUrl: url, claims })
    api.clock.atMs += tookMs
    return back(api, { code, state, iss: provider.issuer }, sso)
  }

  const now = () => Math.floor(Date.now() / 1_000)

  it('by a new sign-in of the same person at the provider; no other session begins', async () => {
    const cookie = await stale()
    const answer = await confirm(cookie, { ...ANN, auth_time: now() })
    assert.equal(answer.status, 200)
    assert.match(answer.text, /0;url=\/sign-in\/confirmed"/)
    assert.deepEqual(
      answer.headers.getSetCookie().map((line) => line.split('=')[0]),
      ['__Host-prepaint-sso'],
    )
    assert.equal(await fresh(cookie), 200)
    const { rows } = await api.pool.query('select from session')
    assert.equal(rows.length, 1)
  })

  it('who takes minutes at the provider has confirmed it, too', async () => {
    const cookie = await stale()
    const answer = await confirm(cookie, { ...ANN, auth_time: now() - 100 }, 5 * 60_000)
    assert.equal(answer.status, 200, answer.headers.get('location') ?? '')
  })

  const REFUSED: [name: string, claims: () => Issue['claims'], error: string][] = [
    ['a sign-in of before', () => ({ ...ANN, auth_time: now() - 60 }), 'provider'],
    ['no time of the sign-in', () => ANN, 'provider'],
    ['another person', () => ({ ...ANN, sub: 'bob-1', auth_time: now() }), 'no-access'],
  ]
  for (const [name, claims, error] of REFUSED) {
    it(`${name}: ${error}, and the session stays as it was`, async () => {
      const cookie = await stale()
      const answer = await confirm(cookie, claims())
      assert.deepEqual([answer.status, answer.headers.get('location')], [303, `/sign-in?error=${error}`])
      assert.deepEqual(answer.headers.getSetCookie(), [])
      assert.equal(await fresh(cookie), 403)
      assert.notEqual(await whoIs(cookie), null)
    })
  }

  it('a confirmation of a session that has ended is nobody’s', async () => {
    const cookie = await stale()
    const { url, cookie: sso, state } = await started(api, CONFIRM, { cookie })
    const code = provider.issue({ startUrl: url, claims: { ...ANN, auth_time: now() } })
    await api.call('DELETE', '/api/session', { cookie })
    await assertFailed(await back(api, { code, state, iss: provider.issuer }, sso), 'expired')
  })

  it('401 without a session, and 403 in one that did not begin so', async () => {
    assertAnswer(await startIn(api, CONFIRM), 401, 'Sign in first')
    const account = await newAccount('bob@example.com')
    const cookie = await api.session(account)
    const refused = await startIn(api, CONFIRM, { cookie })
    assert.deepEqual([refused.status, refused.body['confirm']], [403, ['password']])
    const sso = await stale()
    const byPassword = await api.call('POST', '/api/session/confirm', {
      cookie: sso,
      body: { password: PASSWORD },
    })
    assert.deepEqual([byPassword.status, byPassword.body['confirm']], [403, ['sso']])
  })
})

describe('single sign-on as the only way', () => {
  let account = 0 as AccountId
  let person = 0 as PersonId
  beforeEach(async () => {
    account = (await newAccount('ann@example.com', only)).id
    person = (await findContact(only.pool, account)).id
  })

  const use = (token: string, body: object = {}, cookie?: string) =>
    only.call('POST', '/api/links/use', { body: { token, ...body }, headers: HOME, cookie })

  it('the dashboard is told so', async () => {
    assert.deepEqual(await offered(only), { name: 'Acme', is_only: true })
    const reset = await only.call('GET', '/api/password-reset')
    assert.deepEqual(reset.body, { by_mail: false })
  })

  it('404: passwords, passkeys and codes are closed, for who is signed in as well', async () => {
    await setOperator(only.pool, person, true)
    const cookie = sessionOf(await signIn(ANN, only))
    const closed: [method: string, path: string, body?: object][] = [
      ['POST', '/api/session', { email: 'ann@example.com', password: PASSWORD }],
      ['POST', '/api/session/passkey/options'],
      ['POST', '/api/session/passkey', { token: 'x', response: {} }],
      ['PUT', '/api/password', { current_password: PASSWORD, new_password: 'another horse' }],
      ['POST', '/api/password-reset', { email: 'ann@example.com' }],
      ['POST', '/api/second-factor/totp'],
      ['POST', '/api/second-factor/totp/confirm', { code: '123456' }],
      ['POST', '/api/second-factor/recovery-codes'],
      ['POST', '/api/passkeys/options'],
      ['POST', '/api/passkeys', { name: 'x', response: {} }],
      ['POST', `/api/operator/accounts/${account}/reset-link`],
    ]
    for (const [method, path, body] of closed) {
      const answer = await only.call(method, path, { cookie, body, headers: HOME })
      assertAnswer(answer, 404, 'Sign-in not found')
      assert.deepEqual(answer.headers.getSetCookie(), [])
    }
    assert.equal((await only.call('GET', '/api/second-factor', { cookie })).status, 200)
  })

  it('links that set passwords are closed, but for those of the command line, which let in once', async () => {
    const at = only.clock.nowMs()
    const link = (wanted: Parameters<typeof createLink>[2]) =>
      createLink(only.pool, DEFAULT_PLANS, wanted, at)
    const first = await link({ kind: 'first', plan: 'agency' })
    const mailed = await link({ kind: 'reset', person })
    for (const { token } of [first, mailed]) {
      const read = await only.call('POST', '/api/links/read', { body: { token }, headers: HOME })
      assertAnswer(read, 404, 'This link is used, expired or invalid')
      const used = await use(token, { password: 'another horse', email: 'x@example.com' })
      assertAnswer(used, 404, 'This link is used, expired or invalid')
    }
    const { token } = await link({ kind: 'reset', person, isByCommand: true })
    const used = await use(token, { password: 'another horse' })
    assert.equal(used.status, 200, used.text)
    const cookie = cookieOf(used.headers.getSetCookie())
    assert.equal((await whoIs(cookie, only))!.email, 'ann@example.com')
    assert.equal((await use(token, { password: 'another horse' })).status, 404)
    const body = { email: 'ann@example.com', password: 'another horse' }
    assertAnswer(await only.call('POST', '/api/session', { body, headers: HOME }), 404, 'Sign-in not found')
  })

  it('an invitation is accepted in a session of its address, and by no password', async () => {
    const asked = { email: 'bob@example.com', role: 'viewer' as const, invitedBy: 'x' }
    const actor = { member: null, role: 'owner' } as const
    const { link } = await inviteMember(only.pool, wholeAccount(account), actor, asked, {
      isHandedOver: true,
      nowMs: only.clock.nowMs(),
    })
    const { token } = link!
    assertAnswer(await use(token, { password: 'another horse' }), 401, 'Sign in first')
    const ann = sessionOf(await signIn(ANN, only))
    assertAnswer(await use(token, {}, ann), 409, 'This invitation is for bob@example.com')
    const bob = sessionOf(await signIn({ sub: 'bob', email: 'bob@example.com', email_verified: true }, only))
    const joined = await use(token, {}, bob)
    assert.equal(joined.status, 200, joined.text)
    assert.equal((joined.body['account'] as { id: number }).id, account)
  })

  it('sessions of other ways end when a node starts so', async () => {
    const bySso = sessionOf(await signIn(ANN, only))
    const byPassword = await only.session({ id: account })
    assert.notEqual(await whoIs(byPassword, only), null)
    assert.equal(await endSessionsOfOtherWays(only.pool), 1)
    assert.equal(await whoIs(byPassword, only), null)
    assert.notEqual(await whoIs(bySso, only), null)
  })
})

it('rows of starts that ended nowhere are removed, those of persons go with them', async () => {
  await newAccount('ann@example.com')
  const cookie = sessionOf(await signIn(ANN))
  await started(api, { confirm: true }, { cookie })
  const { id } = (await api.pool.query<{ id: PersonId }>('select id from person')).rows[0]!
  await addMember(api.pool, (await newAccount('boss@example.com')).id, id, { role: 'viewer', domains: null })
  await api.pool.query('delete from person where id = $1', [id])
  const { rows } = await api.pool.query('select from sso_identity union all select from sso_start')
  assert.equal(rows.length, 0)
})

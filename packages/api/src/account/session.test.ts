import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { createAccount } from '@prepaint/service/accounts/accounts.ts'
import { findContact, setOperator } from '@prepaint/service/accounts/persons.ts'
import { MOST_RESETS } from '@prepaint/service/accounts/sign-in/attempts.ts'
import { createLink } from '@prepaint/service/accounts/sign-in/links.ts'
import type { Mail, MailSender } from '@prepaint/service/mail/mailer.ts'
import { assertAnswer, cookieOf, openApi } from '../../../../test/support/api.ts'
import { until } from '../../../../test/support/condition.ts'
import { emptyTables } from '../../../../test/support/database.ts'

const HOME = { 'sec-fetch-site': 'same-origin' }
const mails: Mail[] = []
const mailer: MailSender = {
  send: async (mail) => {
    mails.push(mail)
    return 'sent'
  },
}
const api = await openApi()
const mailed = await openApi({ mailer, publicUrl: 'https://prepaint.example' })

describe('sessions', async () => {
  const PASSWORD = 'correct horse'

  beforeEach(async () => {
    await emptyTables(api.pool, 'account, person, rate, link restart identity cascade')
    const account = { email: 'a@example.com', plan: 'starter', password: PASSWORD }
    await createAccount(api.pool, DEFAULT_PLANS, account)
  })

  const signIn = (body: object = {}, headers: Record<string, string> = HOME) =>
    api.call('POST', '/api/session', {
      body: { email: 'a@example.com', password: PASSWORD, ...body },
      headers,
    })
  const signedIn = async () => cookieOf((await signIn()).headers.getSetCookie())
  const whoIs = (cookie: string) => api.call('GET', '/api/session', { cookie })
  const WEAK = 'password must have 10 to 128 characters'

  it('200: sets the cookie and says who it is; the cookie is enough for what a key may do, also on a plan without keys', async () => {
    const limits = { name: 'starter', site_limit: 1, monthly_render_limit: 1_000 }
    const plan = { ...limits, api_keys: false, webhooks: false }
    const answer = await signIn({ email: 'A@Example.com' })
    const email = 'a@example.com'
    assertAnswer(answer, 200, {
      account: { id: 1, name: email, email, role: 'owner', domains: null, plan },
      person: { id: 1, email, name: null, locale: null, is_operator: false, second_factor: false },
    })
    const [line] = answer.headers.getSetCookie()
    assert.match(line!, /^prepaint-session=pp_se_\S+; Max-Age=604800; Path=\/; HttpOnly; SameSite=Strict$/)
    const cookie = cookieOf([line!])
    assertAnswer(await whoIs(cookie), 200, answer.body)
    assertAnswer(await api.call('GET', '/api/domains', { cookie }), 200, { domains: [] })
  })

  it('a sign-in without a field gets 400, which names the field', async () => {
    assertAnswer(await signIn({ password: '' }), 400, 'password must not be empty')
    assert.equal((await signIn({ password: 'x'.repeat(1_001) })).status, 400)
  })

  it('403: a request of another site signs nobody in, and changes nothing with a cookie that comes along', async () => {
    const cookie = await signedIn()
    const sites = ['cross-site', 'same-site', 'none'].map((site) => ({ 'sec-fetch-site': site }))
    const origins = ['https://evil.example', 'null'].map((origin) => ({ origin }))
    const both = { 'sec-fetch-site': 'cross-site', origin: api.url }
    for (const from of [{}, ...sites, ...origins, both] as Record<string, string>[]) {
      assertAnswer(await signIn({}, from), 403, 'Request from another site refused')
      const body = { custom_domain: 'a.example.com', origin_url: 'https://o.example.com' }
      const created = await api.call('POST', '/api/domains', { body, headers: { ...from, cookie } })
      assertAnswer(created, 403, 'Request from another site refused')
    }
    assert.equal((await signIn({}, { origin: api.url })).status, 200, 'older browsers send Origin only')
    assert.equal((await api.call('GET', '/api/domains', { headers: { cookie } })).status, 200)
  })

  it('401: without a cookie, with a key instead, with a cookie that was changed; a key that was sent counts, whatever the cookie', async () => {
    const owner = await api.account()
    for (const request of [{}, { key: owner.key }, { cookie: 'prepaint-session=abc.def' }]) {
      assertAnswer(await api.call('GET', '/api/session', request), 401, 'Sign in first')
    }
    const both = { cookie: await signedIn(), key: 'pp_live_none' }
    assertAnswer(await api.call('GET', '/api/domains', both), 401, 'Invalid API key')
  })

  it('signing out: 204: here only; 200: everywhere', async () => {
    const [here, there] = [await signedIn(), await signedIn()]
    const answer = await api.call('DELETE', '/api/session', { cookie: here })
    assert.equal(answer.status, 204)
    assert.match(answer.headers.getSetCookie()[0] ?? '', /^prepaint-session=;.*Max-Age=0/)
    assert.deepEqual([(await whoIs(here)).status, (await whoIs(there)).status], [401, 200])
    const third = await signedIn()
    assertAnswer(await api.call('DELETE', '/api/sessions', { cookie: there }), 200, { ended: 2 })
    for (const cookie of [there, third]) assert.equal((await whoIs(cookie)).status, 401)
  })

  it('signing out at one place, that the list shows; 404 for one that is not his', async () => {
    const [here, there] = [await signedIn(), await signedIn()]
    const { body } = await api.call('GET', '/api/sessions', { cookie: here })
    const sessions = body['sessions'] as { id: number; current: boolean; address: string }[]
    const shown = sessions.map(({ current, address }) => `${current} ${address}`)
    assert.deepEqual(shown, ['false 127.0.0.1', 'true 127.0.0.1'])
    const end = async (id: number | string, cookie: string) =>
      (await api.call('DELETE', `/api/sessions/${id}`, { cookie })).status
    const strangers = await api.session(await api.account())
    for (const id of ['0', 'x', '99999999999', sessions[0]!.id]) assert.equal(await end(id, strangers), 404)
    assert.equal(await end(sessions[0]!.id, here), 204)
    assert.deepEqual([(await whoIs(here)).status, (await whoIs(there)).status], [200, 401])
  })

  const change = (cookie: string, current_password: string, new_password = 'another horse') =>
    api.call('PUT', '/api/password', { cookie, body: { current_password, new_password } })

  it('a change of password: 204: ends all other sessions and goes on in this one with a new cookie', async () => {
    const [here, there] = [await signedIn(), await signedIn()]
    const answer = await change(here, PASSWORD)
    assert.equal(answer.status, 204)
    assert.equal((await whoIs(cookieOf(answer.headers.getSetCookie()))).status, 200)
    for (const old of [here, there]) assert.equal((await whoIs(old)).status, 401)
    assert.equal((await signIn()).status, 401)
    assert.equal((await signIn({ password: 'another horse' })).status, 200)
  })

  it('a change of password: 403: not with a wrong password; 400: not to one that is too short; 429: not by guessing', async () => {
    const cookie = await signedIn()
    assertAnswer(await change(cookie, PASSWORD, 'short'), 400, `new_${WEAK}`)
    for (let at = 0; at < 5; at++) assertAnswer(await change(cookie, 'wrong'), 403, 'Wrong password')
    assert.equal((await change(cookie, PASSWORD)).status, 429)
    assert.equal((await whoIs(cookie)).status, 200)
  })

  const post = (what: 'read' | 'use', body: object, headers = HOME) =>
    api.call('POST', `/api/links/${what}`, { body, headers })
  const first = { kind: 'first', plan: 'pro' } as const

  it('a link that lets somebody in: says what it offers and what is wrong, makes the account and signs it in; then it is gone', async () => {
    const GONE = 'This link is used, expired or invalid'
    const nowMs = api.clock.nowMs()
    const { token } = await createLink(api.pool, DEFAULT_PLANS, first, nowMs)
    const boss = { token, email: 'boss@example.com', password: PASSWORD }
    const expires_at = new Date(nowMs + 86_400_000).toISOString()
    assertAnswer(await post('read', { token }), 200, { link: { kind: 'first', email: null, expires_at } })
    assertAnswer(await post('use', { ...boss, token: 'x' }), 404, GONE)
    assertAnswer(await post('use', { ...boss, password: 'short' }), 400, WEAK)
    assertAnswer(await post('use', { token, password: PASSWORD }), 400, 'email must be an e-mail address')
    assert.equal((await post('use', { ...boss, email: 'a@example.com' })).status, 409)
    const used = await post('use', boss)
    assertAnswer(await whoIs(cookieOf(used.headers.getSetCookie())), 200, used.body)
    assert.equal((used.body['person'] as { is_operator: boolean }).is_operator, true)
    for (const what of ['read', 'use'] as const) assertAnswer(await post(what, boss), 404, GONE)
  })

  it('a link: 403: a request of another site does not use it', async () => {
    const { token } = await createLink(api.pool, DEFAULT_PLANS, first, api.clock.nowMs())
    const boss = { token, email: 'boss@example.com', password: PASSWORD }
    assert.equal((await post('use', boss, { 'sec-fetch-site': 'cross-site' })).status, 403)
    assert.equal((await post('use', boss)).status, 200)
  })
})

describe('a new password by mail', async () => {
  const ask = (email: string, of = mailed, headers = HOME) =>
    of.call('POST', '/api/password-reset', { headers, body: { email } })

  it('where no mail is set up there is no such way, and the form is told', async () => {
    assert.deepEqual((await api.get('/api/password-reset')).body, { by_mail: false })
    assert.equal((await ask('owner@example.com', api)).status, 404)
    assert.deepEqual((await mailed.get('/api/password-reset')).body, { by_mail: true })
  })

  // Proves decided "Password reset"
  it('204: the owner gets a link that leads to this installation, whatever the request says; nobody else gets anything', async () => {
    const owner = await mailed.account()
    const forged = { ...HOME, host: 'evil.example', 'x-forwarded-host': 'evil.example' }
    assert.equal((await ask(` ${owner.email.toUpperCase()} `, mailed, forged)).status, 204)
    await until('the mail is there', () => mails.length === 1)
    const { to, text: letter } = mails.pop()!
    assert.equal(to, owner.email)
    const token = /^https:\/\/prepaint\.example\/welcome#(\S+)$/m.exec(letter)?.[1]
    const body = { token, password: 'correct horse' }
    const used = await mailed.call('POST', '/api/links/use', { headers: HOME, body })
    const [line] = used.headers.getSetCookie()
    assert.equal((used.body['account'] as { email: string }).email, owner.email)
    assert.match(line!, /^__Host-prepaint-session=.*; HttpOnly; Secure; SameSite=Strict$/)

    for (const unknown of ['nobody@example.com', 'not an address']) {
      assert.equal((await ask(unknown)).status, 204)
    }
    assert.equal((await ask(owner.email, mailed, { 'sec-fetch-site': 'cross-site' })).status, 403)
    await mailed.pool.query('update account set suspended_at = now() where id = $1', [owner.id])
    assert.equal((await ask(owner.email)).status, 204)
    assert.deepEqual(mails, [])
  })

  // Proves decided "Password reset"
  it('three mails of an account and ten requests of an address in a quarter of an hour, and not one more', async () => {
    mailed.clock.atMs += 3_600_000
    const owner = await mailed.account()
    for (let n = 0; n < MOST_RESETS.person + 1; n++) assert.equal((await ask(owner.email)).status, 204)
    await until('three mails are there', () => mails.length === MOST_RESETS.person)
    for (let n = MOST_RESETS.person + 1; n < MOST_RESETS.address; n++) {
      assert.equal((await ask(`nobody-${n}@example.com`)).status, 204)
    }
    const { status, body, headers: answered } = await ask('nobody@example.com')
    assert.deepEqual(
      [status, body['error'], answered.get('retry-after')],
      [429, 'Too many requests for a new password, try again later', '900'],
    )
    assert.equal(mails.splice(0).length, MOST_RESETS.person)
    mailed.clock.atMs += 900_000
    assert.equal((await ask(owner.email)).status, 204)
    await until('a mail is there again', () => mails.splice(0).length === 1)
  })

  it('invitations and links of an operator go by mail too, and he sees them whatever becomes of it', async (t) => {
    const boss = await mailed.account()
    await setOperator(mailed.pool, (await findContact(mailed.pool, boss.id)).id, true)
    const cookie = await mailed.session(boss)
    const invite = (email: string) =>
      mailed.call('POST', '/api/operator/invitations', { cookie, body: { email, plan: 'pro' } })
    const sent = await invite('Guest@Example.com')
    assert.equal(sent.body['mail'], 'sent')
    const { url } = sent.body['link'] as { url: string }
    assert.match(url, /^https:\/\/prepaint\.example\/welcome#pp_in_/)
    const mail = mails.pop()!
    assert.deepEqual([mail.to, mail.subject], ['guest@example.com', 'Your Prepaint account'])
    assert(mail.text.includes(url))

    const reset = await mailed.call('POST', `/api/operator/accounts/${boss.id}/reset-link`, { cookie })
    assert.deepEqual([reset.body['mail'], mails.pop()?.to], ['sent', boss.email])
    t.mock.method(mailer, 'send', async () => 'failed')
    const failed = await invite('guest-2@example.com')
    assert.deepEqual([failed.status, failed.body['mail']], [201, 'failed'])
  })
})

it('keys, 400, 403, 404: what is wrong is named', async () => {
  const cookie = await api.session(await api.account())
  const make = (body: object, by = cookie) => api.call('POST', '/api/keys', { cookie: by, body })
  for (const [expires_at, error] of [
    ['tomorrow', 'expires_at must be a time such as 2027-01-31T12:00:00Z'],
    ['2020-01-31T12:00:00Z', 'expires_at must be a time in the future'],
  ] as const) {
    assertAnswer(await make({ name: 'a', expires_at }), 400, error)
  }
  const account = await api.account('agency')
  const { name } = await api.domain(account, 'keys.example.com')
  const poor = await api.session(account)
  const rights = 'rights must be a list of read, refresh, write'
  for (const [body, error] of [
    [{ rights: ['admin'] }, rights],
    [{ rights: [] }, rights],
    [{ rights: 'read' }, rights],
    [{ domains: [] }, 'domains must have 1 to 1000 names'],
    [{ domains: Array.from({ length: 1_001 }, () => name) }, 'domains must have 1 to 1000 names'],
    [{ domains: ['foreign.example.com'] }, 'domains must name domains of this account'],
  ] as const) {
    assertAnswer(await make({ name: 'a', ...body }, poor), 400, error)
  }
  const limited = await make({ name: 'a', rights: ['write', 'read'], domains: [name, name] }, poor)
  assert.partialDeepStrictEqual(limited.body, { rights: ['read', 'write'], domains: [name] })
  const { keys } = (await api.call('GET', '/api/keys', { cookie: poor })).body
  assert.partialDeepStrictEqual(keys, [
    { rights: ['read', 'refresh', 'write'], domains: null, created_by: null },
    { rights: ['read', 'write'], domains: [name], created_by: account.email },
  ])
  assert.equal((await api.call('DELETE', `/api/domains/${name}`, { key: account.key })).status, 200)
  const reached = await api.get('/api/domains', limited.body['key'] as string)
  assertAnswer(reached, 200, { domains: [] })
  for (let at = 0; at < 3; at++) assert.equal((await make({ name: 'a' }, poor)).status, 201)
  assertAnswer(await make({ name: 'a' }, poor), 403, 'API key limit reached (5 per account)')
  for (const none of ['99999', '-1', '2147483648']) {
    assert.equal((await api.call('DELETE', `/api/keys/${none}`, { cookie })).status, 404, none)
    assert.equal((await api.call('DELETE', `/api/tokens/${none}`, { cookie })).status, 404, none)
  }
})

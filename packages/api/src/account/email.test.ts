import assert from 'node:assert/strict'
import { beforeEach, it } from 'node:test'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { createAccount } from '@prepaint/service/accounts/accounts.ts'
import { findPersonByEmail } from '@prepaint/service/accounts/persons.ts'
import { createLink } from '@prepaint/service/accounts/sign-in/links.ts'
import type { Mail, MailSender } from '@prepaint/service/mail/mailer.ts'
import { assertAnswer, cookieOf, openApi } from '../../../../test/support/api.ts'
import { emptyTables } from '../../../../test/support/database.ts'

const HOME = { 'sec-fetch-site': 'same-origin' }
const PASSWORD = 'correct horse'
const HOUR_MS = 3_600_000
const mails: Mail[] = []
const mailer: MailSender = {
  send: async (mail) => {
    mails.push(mail)
    return 'sent'
  },
}
const api = await openApi({ mailer, publicUrl: 'https://prepaint.example' })
const GONE = 'This link is used, expired or invalid'

beforeEach(async () => {
  await emptyTables(api.pool, 'account, person, rate, link restart identity cascade')
  mails.length = 0
  for (const email of ['ann@example.com', 'bo@example.com'])
    await createAccount(api.pool, DEFAULT_PLANS, { email, plan: 'pro', password: PASSWORD })
})

const signIn = (email: string) =>
  api.call('POST', '/api/session', { headers: HOME, body: { email, password: PASSWORD } })
const signedIn = async () => cookieOf((await signIn('ann@example.com')).headers.getSetCookie())
const ask = (cookie: string, email: string) =>
  api.call('POST', '/api/person/email', { cookie, body: { email } })
const use = (token: string) =>
  api.call('POST', '/api/person/email/confirm', { headers: HOME, body: { token } })
const whoIs = (cookie: string) => api.call('GET', '/api/session', { cookie })

/** Asks for another address, and returns the tokens of the two letters. */
async function asked(cookie: string, email = 'anna@example.com') {
  assertAnswer(await ask(cookie, email), 202, {})
  const [undo, confirm] = mails.splice(0)
  assert.deepEqual([undo!.to, confirm!.to], ['ann@example.com', email.toLowerCase()])
  const tokenOf = ({ text }: Mail) => /^https:\/\/prepaint\.example\/confirm#(pp_em_\S+)$/m.exec(text)![1]!
  return { undo: tokenOf(undo!), confirm: tokenOf(confirm!) }
}

// Proves decided "Another address"
it('a new address counts once its letter was answered; the session goes on', async () => {
  const cookie = await signedIn()
  const { confirm } = await asked(cookie, 'Anna@Example.com')
  assert.equal((await signIn('ann@example.com')).status, 200)
  assertAnswer(await use(confirm), 200, { email: 'anna@example.com', undone: false })
  assertAnswer(await use(confirm), 404, GONE)
  assert.equal((await signIn('ann@example.com')).status, 401)
  assert.equal((await signIn('anna@example.com')).status, 200)
  assert.partialDeepStrictEqual((await whoIs(cookie)).body, { person: { email: 'anna@example.com' } })
})

it('the old address undoes the change, before and after it counts, and all sessions end', async () => {
  for (const isConfirmed of [false, true]) {
    const cookie = await signedIn()
    const { undo, confirm } = await asked(cookie)
    if (isConfirmed) assert.equal((await use(confirm)).status, 200)
    assertAnswer(await use(undo), 200, { email: 'ann@example.com', undone: true })
    assert.equal((await whoIs(cookie)).status, 401)
    assert.equal((await signIn('ann@example.com')).status, 200)
    for (const token of [undo, confirm]) assertAnswer(await use(token), 404, GONE)
  }
})

it('a new password ends a change that waits, and reset links: who knew the old one may have asked for them', async () => {
  const cookie = await signedIn()
  const { confirm } = await asked(cookie)
  const person = await findPersonByEmail(api.pool, 'ann@example.com')
  const wanted = { kind: 'reset', person: person.id } as const
  const { token } = await createLink(api.pool, DEFAULT_PLANS, wanted, api.clock.nowMs())
  const body = { current_password: PASSWORD, new_password: 'another long horse' }
  assert.equal((await api.call('PUT', '/api/password', { cookie, body })).status, 204)
  assertAnswer(await use(confirm), 404, GONE)
  assertAnswer(await api.call('POST', '/api/links/read', { headers: HOME, body: { token } }), 404, GONE)
})

it('a password that is set by a link ends a change that waits, and not one that counts: that can be undone', async () => {
  const person = await findPersonByEmail(api.pool, 'ann@example.com')
  const cookie = await signedIn()
  const reset = async () => {
    const wanted = { kind: 'reset', person: person.id } as const
    const { token } = await createLink(api.pool, DEFAULT_PLANS, wanted, api.clock.nowMs())
    const body = { token, password: PASSWORD }
    assert.equal((await api.call('POST', '/api/links/use', { headers: HOME, body })).status, 200)
  }
  const waiting = await asked(cookie)
  await reset()
  assertAnswer(await use(waiting.confirm), 404, GONE)
  const done = await asked(await signedIn())
  await use(done.confirm)
  await reset()
  assertAnswer(await use(done.undo), 200, { email: 'ann@example.com', undone: true })
})

it('the first address undoes later changes with its own', async () => {
  const cookie = await signedIn()
  const { undo, confirm } = await asked(cookie)
  await use(confirm)
  assertAnswer(await ask(cookie, 'thief@example.com'), 202, {})
  const [second] = mails.splice(0).slice(1)
  await use(/confirm#(pp_em_\S+)/.exec(second!.text)![1]!)
  assert.equal((await use(undo)).status, 200)
  assert.equal((await signIn('thief@example.com')).status, 401)
  assert.equal((await signIn('ann@example.com')).status, 200)
})

it('links expire: after a day, and after three', async () => {
  const { undo, confirm } = await asked(await signedIn())
  api.clock.atMs += 24 * HOUR_MS
  assertAnswer(await use(confirm), 404, GONE)
  api.clock.atMs += 48 * HOUR_MS
  assertAnswer(await use(undo), 404, GONE)
})

it('the answer says nothing about an address with a login; its holder is told', async () => {
  const { confirm } = await asked(await signedIn(), 'bo@example.com')
  assertAnswer(await use(confirm), 409, 'This address has a login already')
  assert.equal((await signIn('ann@example.com')).status, 200)
})

it('it needs a fresh session, e-mail, and an address; five a day are the most', async () => {
  const cookie = await signedIn()
  assertAnswer(await ask(cookie, 'nobody'), 400, 'email must be an e-mail address')
  for (let at = 0; at < 5; at++) assert.equal((await ask(cookie, `a${at}@example.com`)).status, 202)
  assert.equal((await ask(cookie, 'a@example.com')).status, 429)
  api.clock.atMs += HOUR_MS
  assertAnswer(await ask(cookie, 'a@example.com'), 403, {
    error: 'Confirm that it is you',
    confirm: ['password'],
  })
  const silent = await openApi()
  const owner = await silent.session(await silent.account())
  const answer = await silent.call('POST', '/api/person/email', {
    cookie: owner,
    body: { email: 'a@example.com' },
  })
  assertAnswer(answer, 409, 'E-mail is not configured: ask the operator')
})

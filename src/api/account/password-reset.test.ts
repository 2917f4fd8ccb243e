import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { startTestApi } from '../../../test/support/api.ts'
import { until } from '../../../test/support/condition.ts'
import { setRole } from '../../accounts/accounts.ts'
import { MOST_RESETS } from '../../accounts/sign-in/attempts.ts'
import type { Mail } from '../../mail/mailer.ts'

const mails: Mail[] = []
let works = true
const mailer = {
  send: async (mail: Mail) => {
    if (works) mails.push(mail)
    return works
  },
}
const headers = { 'sec-fetch-site': 'same-origin' }

const api = await startTestApi({ mailer, publicUrl: 'https://prepaint.example' })
const silent = await startTestApi()
after(async () => {
  await api.close()
  await silent.close()
})

const ask = (email: string, of = api) => of.call('POST', '/api/password-reset', { headers, body: { email } })

it('where no mail is set up there is no such way, and the form is told', async () => {
  assert.deepEqual((await silent.get('/api/password-reset')).body, { by_mail: false })
  assert.equal((await ask('owner@example.com', silent)).status, 404)
  assert.deepEqual((await api.get('/api/password-reset')).body, { by_mail: true })
})

// Proves decided "Password reset"
it('204: the owner gets a link that leads to this installation, whatever the request says; nobody else gets anything', async () => {
  const owner = await api.account()
  const forged = { ...headers, host: 'evil.example', 'x-forwarded-host': 'evil.example' }
  const { status, text } = await api.call('POST', '/api/password-reset', {
    headers: forged,
    body: { email: ` ${owner.email.toUpperCase()} ` },
  })
  assert.deepEqual([status, text], [204, ''])
  await until('the mail is there', () => mails.length === 1)
  const { to, text: letter } = mails.pop()!
  assert.equal(to, owner.email)
  const token = /^https:\/\/prepaint\.example\/welcome#(\S+)$/m.exec(letter)?.[1]
  const used = await api.call('POST', '/api/links/use', {
    headers,
    body: { token, password: 'correct horse' },
  })
  assert.equal((used.body['account'] as { email: string }).email, owner.email)

  const unknown = await ask('nobody@example.com')
  assert.deepEqual([unknown.status, unknown.text], [204, ''])
  assert.equal((await ask('not an address')).status, 204)
  const other = { 'sec-fetch-site': 'cross-site' }
  assert.equal(
    (await api.call('POST', '/api/password-reset', { headers: other, body: { email: owner.email } })).status,
    403,
  )
  await api.pool.query('update account set suspended_at = now() where id = $1', [owner.id])
  assert.equal((await ask(owner.email)).status, 204)
  assert.deepEqual(mails, [])
})

// Proves decided "Password reset"
it('three mails of an account and ten requests of an address in a quarter of an hour, and not one more', async () => {
  api.clock.atMs += 3_600_000
  const owner = await api.account()
  for (let n = 0; n < MOST_RESETS.account + 1; n++) assert.equal((await ask(owner.email)).status, 204)
  await until('three mails are there', () => mails.length === MOST_RESETS.account)
  for (let n = MOST_RESETS.account + 1; n < MOST_RESETS.address; n++) {
    assert.equal((await ask(`nobody-${n}@example.com`)).status, 204)
  }
  const { status, body, headers: answered } = await ask('nobody@example.com')
  assert.deepEqual(
    [status, body['error'], answered.get('retry-after')],
    [429, 'Too many requests for a new password, try again later', '900'],
  )
  assert.equal(mails.splice(0).length, MOST_RESETS.account)
  api.clock.atMs += 900_000
  assert.equal((await ask(owner.email)).status, 204)
  await until('a mail is there again', () => mails.splice(0).length === 1)
})

it('invitations and links of an operator go by mail too, and he sees them whatever becomes of it', async () => {
  const boss = await api.account()
  await setRole(api.pool, boss.id, 'operator')
  const cookie = await api.session(boss)
  const invite = (email: string) =>
    api.call('POST', '/api/operator/invitations', { cookie, body: { email, plan: 'pro' } })
  const sent = await invite('Guest@Example.com')
  assert.equal(sent.body['mail'], 'sent')
  const { url } = sent.body['link'] as { url: string }
  const mail = mails.pop()!
  assert.deepEqual([mail.to, mail.subject], ['guest@example.com', 'Your Prepaint account'])
  assert(mail.text.includes(url))

  works = false
  const failed = await invite('guest-2@example.com')
  assert.deepEqual([failed.status, failed.body['mail']], [201, 'failed'])
  assert.match((failed.body['link'] as { url: string }).url, /^https:\/\/prepaint\.example\/welcome#pp_in_/)
  works = true
  const reset = await api.call('POST', `/api/operator/accounts/${boss.id}/reset-link`, { cookie })
  assert.deepEqual([reset.body['mail'], mails.pop()?.to], ['sent', boss.email])
})

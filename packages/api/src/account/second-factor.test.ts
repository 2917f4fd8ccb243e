import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type { PersonId } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { createAccount } from '@prepaint/service/accounts/accounts.ts'
import { inviteMember } from '@prepaint/service/accounts/invitations.ts'
import { createLink } from '@prepaint/service/accounts/sign-in/links.ts'
import { deleteSealedSecrets } from '@prepaint/service/certificates/vault/delete-secrets.ts'
import type { Mail, MailSender } from '@prepaint/service/mail/mailer.ts'
import { Secret, TOTP } from 'otpauth'
import { assertAnswer, cookieOf, openApi, type TestRequest } from '../../../../test/support/api.ts'
import { until } from '../../../../test/support/condition.ts'
import { emptyTables, waitingForLocks } from '../../../../test/support/database.ts'

const HOME = { 'sec-fetch-site': 'same-origin' }
const PASSWORD = 'correct horse'
const EMAIL = 'ann@example.com'
const mails: Mail[] = []
const mailer: MailSender = {
  send: async (mail) => {
    mails.push(mail)
    return 'sent'
  },
}
const api = await openApi({ mailer })
const { pool, clock } = api

let account = 0 as Awaited<ReturnType<typeof createAccount>>['id']
beforeEach(async () => {
  await emptyTables(pool, 'account, person, rate, link restart identity cascade')
  mails.length = 0
  clock.atMs += 86_400_000
  account = (await createAccount(pool, DEFAULT_PLANS, { email: EMAIL, plan: 'agency', password: PASSWORD }))
    .id
})

const open = (method: string, path: string, body?: object) => api.call(method, path, { headers: HOME, body })
const call = (cookie: string, method: string, path: string, body?: object) =>
  api.call(method, path, { cookie, body } as TestRequest)
const signIn = (email = EMAIL) => open('POST', '/api/session', { email, password: PASSWORD })
const signedIn = async () => cookieOf((await signIn()).headers.getSetCookie())
const whoIs = async (cookie: string) => (await call(cookie, 'GET', '/api/session')).status
const personId = async () =>
  (await pool.query<{ id: PersonId }>('select id from person where email = $1', [EMAIL])).rows[0]!.id
const STEP_MS = 30_000

/** Makes the codes of an authenticator app. */
function appOf(secret: string) {
  const totp = new TOTP({ secret: Secret.fromBase32(secret) })
  return { code: (steps = 0) => totp.generate({ timestamp: clock.atMs + steps * STEP_MS }) }
}

/** Sets up an authenticator app, and lets its first code pass. */
async function withApp() {
  const cookie = await signedIn()
  const { body } = await call(cookie, 'POST', '/api/second-factor/totp')
  const app = appOf(body['secret'] as string)
  const confirmed = await call(cookie, 'POST', '/api/second-factor/totp/confirm', { code: app.code() })
  assert.equal(confirmed.status, 200, confirmed.text)
  clock.atMs += 10 * STEP_MS
  return { cookie, app, codes: confirmed.body['recovery_codes'] as string[] }
}

type Awaited202 = { token: string; methods: string[]; expires_at: string }
async function awaited(answer?: Awaited<ReturnType<typeof signIn>>): Promise<Awaited202> {
  const { status, body, headers, text } = answer ?? (await signIn())
  assert.equal(status, 202, text)
  assert.deepEqual(headers.getSetCookie(), [])
  return body['second_factor'] as Awaited202
}
const give = (body: object) => open('POST', '/api/session/second-factor', body)

describe('an authenticator app', () => {
  // Proves decided "Second factor"
  it('counts from the first right code on: other sessions end, and sign-ins need a code', async () => {
    const [cookie, other] = [await signedIn(), await signedIn()]
    const { body } = await call(cookie, 'POST', '/api/second-factor/totp')
    assert.match(
      body['uri'] as string,
      /^otpauth:\/\/totp\/Prepaint:ann%40example\.com\?issuer=Prepaint&secret=[A-Z2-7]{32}&/,
    )
    assert.equal((await signIn()).status, 200, 'it does not count yet')
    const app = appOf(body['secret'] as string)
    const confirm = (code: string) => call(cookie, 'POST', '/api/second-factor/totp/confirm', { code })
    assertAnswer(await confirm('000000'), 400, 'Wrong code')
    const { body: made } = await confirm(app.code())
    const codes = made['recovery_codes'] as string[]
    assert.equal(new Set(codes).size, 10)
    for (const code of codes) assert.match(code, /^[a-z2-7]{5}-[a-z2-7]{5}$/)
    assert.deepEqual([await whoIs(cookie), await whoIs(other)], [200, 401])
    assert.deepEqual(
      mails.map(({ to, subject }) => [to, subject]),
      [[EMAIL, 'Your Prepaint login was changed']],
    )

    const step = await awaited()
    assert.deepEqual(step.methods, ['totp', 'recovery'])
    assertAnswer(await give({ token: step.token, code: app.code() }), 401, 'Wrong code')
    clock.atMs += STEP_MS
    const entered = await give({ token: step.token, code: app.code() })
    assert.equal(entered.status, 200, entered.text)
    assert.equal((entered.body['person'] as { second_factor: boolean }).second_factor, true)
    const { body: list } = await call(cookieOf(entered.headers.getSetCookie()), 'GET', '/api/sessions')
    assert.partialDeepStrictEqual(list['sessions'], [{ way: 'password', second_factor: true }, {}])
    assertAnswer(await give({ token: step.token, code: app.code(1) }), 401, 'Sign in again')
  })

  it('takes a code one step before and after its time, each once, and nothing further away', async () => {
    const { app } = await withApp()
    const outcomes: number[] = []
    for (const steps of [-2, 2, -1, 1, 0, -1, 0, 1]) {
      const { token } = await awaited()
      outcomes.push((await give({ token, code: app.code(steps) })).status)
    }
    assert.deepEqual(outcomes, [401, 401, 200, 200, 200, 401, 401, 401])
  })

  it('is set up once, and removed again with its recovery codes; nobody else is asked for codes then', async () => {
    const { cookie, codes } = await withApp()
    clock.atMs += 900_000
    assertAnswer(await call(cookie, 'POST', '/api/second-factor/totp'), 403, {
      error: 'Confirm that it is you',
      confirm: ['totp'],
    })
    clock.atMs -= 900_000
    assertAnswer(
      await call(cookie, 'POST', '/api/second-factor/totp'),
      409,
      'A second factor is set up already',
    )
    const left = { totp: true, passkeys: [], recovery_codes_left: codes.length, required_by: [] }
    assertAnswer(await call(cookie, 'GET', '/api/second-factor'), 200, left)
    assert.equal((await call(cookie, 'DELETE', '/api/second-factor/totp')).status, 204)
    const none = { totp: false, passkeys: [], recovery_codes_left: 0, required_by: [] }
    assertAnswer(await call(cookie, 'GET', '/api/second-factor'), 200, none)
    assert.equal((await signIn()).status, 200)
    assert.equal((await call(cookie, 'DELETE', '/api/second-factor/totp')).status, 204)
    assert.equal(mails.length, 2, 'a removal of nothing is no news')
  })

  it('400: a code confirms the secret that made it, and none that another window makes at the same moment', async () => {
    const cookie = await signedIn()
    const { body } = await call(cookie, 'POST', '/api/second-factor/totp')
    const code = appOf(body['secret'] as string).code()
    const client = await pool.connect()
    try {
      await client.query('begin')
      await client.query('select from person where id = $1 for no key update', [await personId()])
      const confirming = call(cookie, 'POST', '/api/second-factor/totp/confirm', { code })
      await until('the confirmation waits', async () => (await waitingForLocks(pool)) > 0)
      assert.equal((await call(cookie, 'POST', '/api/second-factor/totp')).status, 200)
      await client.query('commit')
      assertAnswer(await confirming, 400, 'Wrong code')
    } finally {
      client.release()
    }
    assert.partialDeepStrictEqual((await call(cookie, 'GET', '/api/second-factor')).body, { totp: false })
  })

  it('stands in the database sealed, and its recovery codes hashed', async () => {
    const cookie = await signedIn()
    const { body } = await call(cookie, 'POST', '/api/second-factor/totp')
    const { rows } = await pool.query<{ key_sealed: Buffer }>('select key_sealed from second_factor')
    const secret = Buffer.from(Secret.fromBase32(body['secret'] as string).bytes)
    assert(!rows[0]!.key_sealed.includes(secret))
  })

  it('after the master key was lost, it stays required: recovery codes let its person in', async () => {
    const { app, codes } = await withApp()
    await deleteSealedSecrets(pool, clock.atMs)
    const { token } = await awaited()
    assertAnswer(await give({ token, code: app.code() }), 401, 'Wrong code')
    assert.equal((await give({ token, recovery_code: codes[0] })).status, 200)
  })
})

describe('recovery codes', () => {
  it('let in once each, however they are spelled, and their person is told', async () => {
    const { codes } = await withApp()
    const spelled = ` ${codes[0]!.toUpperCase().replace('-', ' ')} `
    const { token } = await awaited()
    assert.equal((await give({ token, recovery_code: spelled })).status, 200)
    assert.match(mails.at(-1)!.text, /A recovery code was used/)
    const again = await awaited()
    assertAnswer(await give({ token: again.token, recovery_code: codes[0] }), 401, 'Wrong code')
    assert.equal((await give({ token: again.token, recovery_code: codes[1] })).status, 200)
  })

  it('are replaced together', async () => {
    const { cookie, codes } = await withApp()
    const { body } = await call(cookie, 'POST', '/api/second-factor/recovery-codes')
    const { token } = await awaited()
    assertAnswer(await give({ token, recovery_code: codes[0] }), 401, 'Wrong code')
    assert.equal((await give({ token, recovery_code: (body['recovery_codes'] as string[])[9] })).status, 200)
  })

  it('409: there are none without a second factor', async () => {
    const answer = await call(await signedIn(), 'POST', '/api/second-factor/recovery-codes')
    assertAnswer(answer, 409, 'Set up a second factor first')
  })
})

describe('guessing codes', () => {
  it('a token is tried five times, and is good for five minutes', async () => {
    const { app } = await withApp()
    const { token } = await awaited()
    for (let at = 0; at < 5; at++) assert.equal((await give({ token, code: '000000' })).status, 401)
    assertAnswer(await give({ token, code: app.code() }), 401, 'Sign in again')
    const late = await awaited()
    clock.atMs += 300_000
    assertAnswer(await give({ token: late.token, code: app.code() }), 401, 'Sign in again')
    assertAnswer(await give({ token: 'x', code: app.code() }), 401, 'Sign in again')
  })

  // Proves decided "Wrong codes"
  it('60 guesses at once count 60: ten are looked at, and none of the others gets in, also not with the right code', async () => {
    const { app } = await withApp()
    const steps: Awaited202[] = []
    for (let at = 0; at < 12; at++) steps.push(await awaited())
    const guesses = steps.flatMap(({ token }) =>
      Array.from({ length: 5 }, () => give({ token, code: '000000' })),
    )
    const answers = await Promise.all(guesses)
    const count = (status: number) => answers.filter((each) => each.status === status).length
    assert.deepEqual([count(401), count(429)], [10, 50])
    const { token } = await awaited()
    const refused = await give({ token, code: app.code() })
    assertAnswer(refused, 429, 'Too many failed attempts, try again later')
    assert.equal(refused.headers.get('retry-after'), '900')
  })

  it('30 wrong codes are the most in a day; right ones do not count', async () => {
    const { app } = await withApp()
    for (let round = 0; round < 3; round++) {
      for (let at = 0; at < 2; at++) {
        const { token } = await awaited()
        for (let wrong = 0; wrong < 5; wrong++)
          assert.equal((await give({ token, code: '000000' })).status, 401)
      }
      clock.atMs += 900_000
      if (round < 2)
        assert.equal((await give({ token: (await awaited()).token, code: app.code() })).status, 200)
    }
    const { token } = await awaited()
    assert.equal((await give({ token, code: app.code() })).status, 429)
  })
})

describe('links of a person with a second factor', () => {
  it('a reset link sets the password at once, and does not skip the second factor', async () => {
    const { cookie, app } = await withApp()
    const { token } = await createLink(
      pool,
      DEFAULT_PLANS,
      { kind: 'reset', person: await personId() },
      clock.atMs,
    )
    const step = await awaited(await open('POST', '/api/links/use', { token, password: 'another horse' }))
    assert.equal(await whoIs(cookie), 401)
    assert.equal((await signIn()).status, 401)
    assert.equal((await give({ token: step.token, code: app.code() })).status, 200)
  })

  it('a new password ends the sign-ins whose second factor is awaited', async () => {
    const { cookie, app } = await withApp()
    const { token } = await awaited()
    const body = { current_password: PASSWORD, new_password: 'another horse' }
    assert.equal((await call(cookie, 'PUT', '/api/password', body)).status, 204)
    assert.equal((await give({ token, code: app.code() })).status, 401)
  })

  it('an invitation is accepted with the second factor, not before', async () => {
    const { app } = await withApp()
    const { id } = await createAccount(pool, DEFAULT_PLANS, {
      email: 'bo@example.com',
      plan: 'pro',
      password: null,
    })
    const asked = { email: EMAIL, role: 'viewer', invitedBy: 'bo@example.com' } as const
    const { link } = await inviteMember(
      pool,
      { account: id, domains: null },
      { member: null, role: 'owner' },
      asked,
      { isHandedOver: true, nowMs: clock.atMs },
    )
    const members = async () => (await pool.query('select from member where account_id = $1', [id])).rowCount
    const step = await awaited(
      await open('POST', '/api/links/use', { token: link.token, password: PASSWORD }),
    )
    assert.equal(await members(), 1)
    const entered = await give({ token: step.token, code: app.code() })
    assert.equal(await members(), 2)
    assert.equal((entered.body['account'] as { id: number }).id, id)
  })
})

describe('proving again who it is', () => {
  const MOST_MS = 900_000

  // Proves decided "Confirmation"
  it('a sign-in is fresh for 15 minutes; then the password makes the session fresh again', async () => {
    const cookie = await signedIn()
    const makeKey = () => call(cookie, 'POST', '/api/keys', { name: 'k' })
    clock.atMs += MOST_MS - 1
    assert.equal((await makeKey()).status, 201)
    clock.atMs += 1
    assertAnswer(await makeKey(), 403, { error: 'Confirm that it is you', confirm: ['password'] })
    const confirm = (body: object) => call(cookie, 'POST', '/api/session/confirm', body)
    assertAnswer(await confirm({ password: 'wrong horse' }), 403, 'Wrong password')
    assert.equal((await makeKey()).status, 403)
    assert.equal((await confirm({ password: PASSWORD })).status, 204)
    assert.equal((await makeKey()).status, 201)
    for (let at = 1; at < 5; at++) assert.equal((await confirm({ password: 'wrong horse' })).status, 403)
    assert.equal((await confirm({ password: PASSWORD })).status, 429)
  })

  it('with an authenticator app the code is asked for, and the password is not enough', async () => {
    const { cookie, app } = await withApp()
    clock.atMs += MOST_MS
    const confirm = (body: object) => call(cookie, 'POST', '/api/session/confirm', body)
    const asked = { error: 'Confirm that it is you', confirm: ['totp'] }
    assertAnswer(await call(cookie, 'DELETE', '/api/second-factor/totp'), 403, asked)
    assertAnswer(await confirm({ password: PASSWORD }), 403, asked)
    assertAnswer(await confirm({ code: '000000' }), 403, 'Wrong code')
    assert.equal((await confirm({ code: app.code() })).status, 204)
    assert.equal((await call(cookie, 'DELETE', '/api/second-factor/totp')).status, 204)
  })

  it('API keys delete domains without it; inviting an admin needs it, inviting a viewer does not', async () => {
    const cookie = await signedIn()
    const { body } = await call(cookie, 'POST', '/api/keys', { name: 'k' })
    const owner = { id: account, email: EMAIL, key: body['key'] as string }
    await api.domain(owner, 'shop.example.com')
    clock.atMs += MOST_MS
    assert.equal((await call(cookie, 'DELETE', '/api/domains/shop.example.com')).status, 403)
    assert.equal((await api.call('DELETE', '/api/domains/shop.example.com', { key: owner.key })).status, 200)
    const invite = (role: string) =>
      call(cookie, 'POST', '/api/invitations', { email: `${role}@example.com`, role })
    assert.equal((await invite('viewer')).status, 201)
    assertAnswer(await invite('admin'), 403, { error: 'Confirm that it is you', confirm: ['password'] })
  })
})

describe('what an account asks of its members', () => {
  const change = (cookie: string, body: object) => call(cookie, 'PUT', '/api/account/policy', body)

  // Proves decided "Policy of an account"
  it('who has no second factor cannot enter, and is told where to set one up; the owner needs one first', async () => {
    const cookie = await signedIn()
    assertAnswer(await change(cookie, {}), 200, {
      policy: { second_factor: 'optional', session_hours: null },
    })
    assertAnswer(
      await change(cookie, { second_factor: 'required' }),
      409,
      'Set up a second factor for yourself first',
    )
    const { cookie: owner } = await withApp()
    assert.equal((await change(owner, { second_factor: 'required' })).status, 200)

    await createAccount(pool, DEFAULT_PLANS, { email: 'bo@example.com', plan: 'pro', password: PASSWORD })
    await pool.query(
      `insert into member (account_id, person_id, role) select $1, id, 'viewer' from person where email = 'bo@example.com'`,
      [account],
    )
    const guest = cookieOf((await signIn('bo@example.com')).headers.getSetCookie())
    const inAccount = { cookie: guest, headers: { 'x-prepaint-account': String(account) } }
    const asked = { error: 'This account requires a second factor', set_up: '/account/security' }
    assertAnswer(await api.call('GET', '/api/domains', inAccount), 403, asked)
    const { body } = await api.call('GET', '/api/session', inAccount)
    assert.partialDeepStrictEqual(body, { account: null, set_up: '/account/security' })
    assert.equal(
      (await call(guest, 'GET', '/api/domains')).status,
      200,
      'the other account does not ask for it',
    )
    const { body: factors } = await call(guest, 'GET', '/api/second-factor')
    assert.deepEqual(factors['required_by'], [EMAIL])
  })

  it('sessions that are too old for it must sign in again; values are checked', async () => {
    const cookie = await signedIn()
    const wrong = 'session_hours must be 1 to 720, or null'
    for (const hours of [0, 721, 1.5, 'x'])
      assertAnswer(await change(cookie, { session_hours: hours }), 400, wrong)
    assert.equal((await change(cookie, { session_hours: 2 })).status, 200)
    clock.atMs += 2 * 3_600_000 - 1
    assert.equal((await call(cookie, 'GET', '/api/domains')).status, 200)
    clock.atMs += 1
    assertAnswer(await call(cookie, 'GET', '/api/domains'), 401, 'Sign in first')
    assert.equal((await call(await signedIn(), 'GET', '/api/domains')).status, 200)
  })
})

describe('passkeys', () => {
  it('need a host name; what no authenticator signed is refused', async () => {
    const cookie = await signedIn()
    const noHost = 'Passkeys need a host name: set PREPAINT_PUBLIC_URL'
    assertAnswer(await call(cookie, 'POST', '/api/passkeys/options'), 409, noHost)
    assertAnswer(await open('POST', '/api/session/passkey/options'), 409, noHost)
    const named = await openApi({ publicUrl: 'https://prepaint.example' })
    const asked = await named.call('POST', '/api/session/passkey/options', { headers: HOME })
    assert.partialDeepStrictEqual(asked.body, {
      options: { rpId: 'prepaint.example', userVerification: 'required' },
    })
    const { challenge } = asked.body['options'] as { challenge: string }
    const clientData = (said: string) => Buffer.from(said).toString('base64url')
    const forged = clientData(
      JSON.stringify({ type: 'webauthn.get', challenge, origin: 'https://prepaint.example' }),
    )
    for (const clientDataJSON of [forged, forged, clientData('{}'), clientData('no JSON')]) {
      const response = { id: 'AAAA', rawId: 'AAAA', type: 'public-key', response: { clientDataJSON } }
      const body = { token: asked.body['token'], response }
      const answer = await named.call('POST', '/api/session/passkey', { headers: HOME, body })
      assertAnswer(answer, 401, 'Passkey not accepted')
    }
  })

  it('404: those of another person are as those that never were', async () => {
    const cookie = await signedIn()
    await createAccount(pool, DEFAULT_PLANS, { email: 'bo@example.com', plan: 'pro', password: PASSWORD })
    const { rows } = await pool.query<{ id: number }>(
      `insert into passkey (person_id, credential_id, public_key, counter, transports, name, created_at)
       select id, '\\x01', '\\x02', 0, '{}', 'Phone', now() from person where email = 'bo@example.com' returning id`,
    )
    for (const id of [rows[0]!.id, 987_654, 'x']) {
      assertAnswer(await call(cookie, 'DELETE', `/api/passkeys/${id}`), 404, 'Passkey not found')
      assertAnswer(
        await call(cookie, 'PUT', `/api/passkeys/${id}`, { name: 'Laptop' }),
        404,
        'Passkey not found',
      )
    }
    const { body } = await call(cookie, 'GET', '/api/second-factor')
    assert.deepEqual(body['passkeys'], [])
    assert.deepEqual((await pool.query('select name from passkey')).rows, [{ name: 'Phone' }])
  })
})

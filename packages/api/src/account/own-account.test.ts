import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { AccountDeletion } from '@prepaint/service/accounts/account-deletion.ts'
import { createToken } from '@prepaint/service/accounts/keys.ts'
import { addMember } from '@prepaint/service/accounts/members.ts'
import { addPerson, findContact } from '@prepaint/service/accounts/persons.ts'
import { startSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { findFrontKey } from '@prepaint/service/fronts/front-keys.ts'
import { removeOldFronts } from '@prepaint/service/fronts/retention.ts'
import { createSiteToken } from '@prepaint/service/fronts/site-tokens.ts'
import type { Mail, MailSender } from '@prepaint/service/mail/mailer.ts'
import { assertAnswer, openApi, type TestAccount } from '../../../../test/support/api.ts'
import { until } from '../../../../test/support/condition.ts'
import { waitingForLocks } from '../../../../test/support/database.ts'

const mails: Mail[] = []
const mailer: MailSender = {
  send: async (mail) => {
    mails.push(mail)
    return 'sent'
  },
}
const api = await openApi({ mailer, publicUrl: 'https://prepaint.example' })
const DAY_MS = 86_400_000

type Member = { id: number; email: string; cookie: string }

async function member(
  account: TestAccount,
  email: string,
  role: 'owner' | 'admin' | 'viewer',
): Promise<Member> {
  const id = await addPerson(api.pool, { email, password: null })
  await addMember(api.pool, account.id, id, { role, domains: null })
  const started = await startSession(api.pool, id, { address: '', userAgent: '' }, api.clock.nowMs())
  return { id, email, cookie: `__Host-prepaint-session=${started!.token}` }
}

/** As an invitation that is accepted: the person is locked, and a member once it commits. */
async function joins(person: number, { id }: TestAccount, role = 'viewer') {
  const client = await api.pool.connect()
  await client.query('begin')
  await client.query('select from person where id = $1 for no key update', [person])
  await client.query('insert into member (account_id, person_id, role) values ($1, $2, $3)', [
    id,
    person,
    role,
  ])
  return {
    async commit() {
      await client.query('commit')
      client.release()
    },
  }
}

const task = (account: TestAccount) =>
  ({ kind: '', key: String(account.id), accountId: account.id, payload: {}, failures: 0, lease: '' }) as const

const deletion = new AccountDeletion(api.pool, api.clock)
const runDeletion = (account: TestAccount) => deletion.run(task(account), AbortSignal.timeout(60_000))

describe('the account', async () => {
  const account = await api.account('agency_plus')
  const cookie = await api.session(account)
  const put = (body: object, as = cookie) => api.call('PUT', '/api/account', { cookie: as, body })

  it('is shown to viewers and keys, with its name, address and plan', async () => {
    const { cookie: viewer } = await member(account, 'viewer@example.com', 'viewer')
    const { body } = await api.call('GET', '/api/account', { cookie: viewer })
    const { created_at: created, ...shown } = body['account'] as Record<string, unknown>
    assert.equal(typeof created, 'string')
    const policy = { second_factor: 'optional', session_hours: null }
    const { id, email } = account
    assert.deepEqual(shown, { id, name: email, email, plan: 'agency_plus', policy, deletion: null })
    assert.equal((await api.get('/api/account', account.key)).status, 200)
  })

  it('is renamed by an admin; only an owner changes its contact address', async () => {
    const { cookie: admin } = await member(account, 'admin@example.com', 'admin')
    const renamed = await put({ name: ' Garden tools ' }, admin)
    assert.equal((renamed.body['account'] as { name: string }).name, 'Garden tools')
    assertAnswer(await put({ email: 'new@example.com' }, admin), 403, {
      error: 'Your role does not allow this',
      role: 'admin',
      needs: 'owner',
    })
    const moved = await put({ email: 'New@Example.com' })
    assert.equal((moved.body['account'] as { email: string }).email, 'new@example.com')
    assertAnswer(await put({}), 400, 'name or email is required')
    for (const name of ['', ' ', 'x'.repeat(81), 'a\u202eb', 'a\u0000']) {
      assert.match(String((await put({ name })).body['error']), /^name /)
    }
    assertAnswer(await put({ email: 'nobody' }), 400, 'email must be an e-mail address')
  })

  it('that had no name keeps being called as before when its address changes', async () => {
    const unnamed = await api.account()
    await api.pool.query('update account set name = null where id = $1', [unnamed.id])
    const answer = await put({ email: 'other@example.com' }, await api.session(unnamed))
    assert.equal((answer.body['account'] as { name: string }).name, unnamed.email)
  })
})

describe('GET /api/account/export', () => {
  it('has a line for everything and no secret, once a minute', async () => {
    const account = await api.account('agency_plus')
    const cookie = await api.session(account)
    const { name, id } = await api.domain(account, 'exported.example.com')
    const other = await api.account('agency_plus')
    await api.domain(other, 'foreign.example.com')
    const { token } = await createToken(api.pool, account.id, name, 'cms', DEFAULT_PLANS)
    const settings = {
      origin_headers: [{ name: 'x-secret', value: 'very-secret-value', for: 'renders' }],
      robots: { mode: 'replace', text: 'User-agent: *' },
    }
    const put = await api.call('PUT', `/api/domains/${name}`, { cookie, body: { settings } })
    assert.equal(put.status, 200, put.text)
    const redirects = { redirects: [{ from: '/a', to: '/b', status: 301 }] }
    await api.call('PUT', `/api/domains/${name}/redirects`, { cookie, body: redirects })
    await api.pool.query(
      `insert into incident (account_id, domain_id, kind, since, summary, evidence) values ($1, $2, 'blocked', now(), '', '{}')`,
      [account.id, id],
    )
    await api.pool.query(
      `insert into traffic_day (domain_id, day, category, crawler, verdict, visits, status_3xx, status_4xx, status_5xx, unanswered, times)
       values ($1, current_date, 'search', 'Googlebot', 'hit', 3, 0, 0, 0, 0, '{3}')`,
      [id],
    )
    const { text, headers } = await api.call('GET', '/api/account/export', { cookie })
    assert.match(headers.get('content-type') ?? '', /^application\/x-ndjson/)
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string })
    const kinds = [
      'account',
      'audit',
      'domain',
      'incident',
      'key',
      'member',
      'redirect',
      'robots',
      'token',
      'traffic',
    ]
    assert.deepEqual([...new Set(lines.map(({ kind }) => kind))].toSorted(), kinds)
    for (const secret of [account.key, token, 'very-secret-value', 'foreign.example.com']) {
      assert(!text.includes(secret), secret)
    }
    const again = await api.call('GET', '/api/account/export', { cookie })
    assertAnswer(again, 429, 'Too many exports, try again in a minute')
    api.clock.atMs += 60_000
    assert.equal((await api.call('GET', '/api/account/export', { cookie })).status, 200)
  })
})

// Proves decided "Deletion of accounts"
describe('deletion', () => {
  const ask = (cookie: string, name: string) =>
    api.call('POST', '/api/account/deletion', { cookie, body: { name } })

  it('400: unless the name is the account’s; 202: in 7 days, and owners are told; DELETE: it stays', async () => {
    const account = await api.account('agency_plus')
    const cookie = await api.session(account)
    assertAnswer(await ask(cookie, 'another'), 400, 'name does not match')
    mails.length = 0
    const requestedAt = api.clock.nowMs()
    const wanted = {
      requested_at: new Date(requestedAt).toISOString(),
      deletes_at: new Date(requestedAt + 7 * DAY_MS).toISOString(),
    }
    assertAnswer(await ask(cookie, account.email), 202, { deletion: wanted })
    assert.deepEqual(
      mails.map(({ to, subject }) => [to, subject]),
      [[account.email, `${account.email} will be deleted`]],
    )
    api.clock.atMs += DAY_MS
    const later = await api.session(account)
    assertAnswer(await ask(later, account.email), 202, { deletion: wanted })
    assert.equal(mails.length, 1, 'asked again, nobody is told again')
    const { body } = await api.call('GET', '/api/account', { cookie })
    assert.deepEqual((body['account'] as { deletion: object }).deletion, wanted)
    assert.equal(await runDeletion(account), 6 * DAY_MS)
    assert.equal((await api.get('/api/domains', account.key)).status, 200, 'all goes on')
    assertAnswer(await api.call('DELETE', '/api/account/deletion', { cookie: later }), 200, {
      deletion: null,
    })
    assertAnswer(
      await api.call('DELETE', '/api/account/deletion', { cookie: later }),
      409,
      'No deletion was requested',
    )
    assert.equal(await runDeletion(account), null)
    assert.equal((await api.call('GET', '/api/account', { cookie })).status, 200)
  })

  it('takes everything of the account, and persons who are in no other one; its fronts open', async () => {
    const account = await api.account('agency_plus')
    const other = await api.account('agency_plus')
    const both = await member(account, 'both@example.com', 'viewer')
    await addMember(api.pool, other.id, both.id as never, { role: 'viewer', domains: null })
    const only = await member(account, 'only@example.com', 'viewer')
    const { name } = await api.domain(account, 'gone.example.com')
    await api.domain(other, 'stays.example.com')
    const made = { author: 'x', nowMs: api.clock.nowMs() }
    const { token } = await createSiteToken(api.pool, account.id, name, made)
    assert.equal((await ask(await api.session(account), account.email)).status, 202)
    // The database's clock is the real one.
    await api.pool.query(`update account set deletes_at = '2000-01-01' where id = $1`, [account.id])
    assert.equal(await runDeletion(account), null)
    const rowsOf = (table: string, where: string, value: unknown) =>
      api.database.column(`select 1 from ${table} where ${where}`, value)
    for (const table of [
      'member',
      'api_key',
      'audit_entry',
      'domain',
      'invitation',
      'share_link',
      'channel',
    ]) {
      assert.deepEqual(await rowsOf(table, 'account_id = $1', account.id), [], table)
    }
    assert.deepEqual(await rowsOf('account', 'id = $1', account.id), [])
    assert.deepEqual(await rowsOf('person', 'id = $1', only.id), [])
    assert.equal((await rowsOf('person', 'id = $1', both.id)).length, 1)
    assert.equal((await rowsOf('domain', 'account_id = $1', other.id)).length, 1, 'the other account stays')
    for (const secret of [account.key, token]) {
      const found = await findFrontKey(api.pool, secret, api.clock.nowMs())
      assert.deepEqual(found, { state: 'dead', account: null, isSuspended: false })
    }
    assertAnswer(await api.get('/api/domains', account.key), 401, 'Invalid API key')
    await api.pool.query(`update ended_api_key set ended_at = now() - interval '91 days'`)
    assert((await removeOldFronts(api.pool)) > 0)
    assert.equal(await findFrontKey(api.pool, account.key, api.clock.nowMs()), null)
  })

  it('leaves a person who joins another account at the same moment', async () => {
    const account = await api.account('agency_plus')
    const other = await api.account('agency_plus')
    const both = await member(account, 'joins@example.com', 'viewer')
    await api.pool.query(`update account set deletes_at = '2000-01-01' where id = $1`, [account.id])
    const joining = await joins(both.id, other)
    const deleting = runDeletion(account)
    await until('the deletion waits', async () => (await waitingForLocks(api.pool)) > 0)
    await joining.commit()
    await deleting
    assert.deepEqual(
      await api.database.column('select account_id from member where person_id = $1', both.id),
      [other.id],
    )
  })

  it('is for owners: an admin gets 403, and a stranger changes nothing', async () => {
    const account = await api.account('agency_plus')
    const stranger = await api.account('agency_plus')
    const { cookie } = await member(account, 'admin-2@example.com', 'admin')
    assert.equal((await ask(cookie, account.email)).status, 403)
    const headers = { 'x-prepaint-account': String(account.id) }
    const asked = { cookie: await api.session(stranger), headers, body: { name: account.email } }
    assertAnswer(await api.call('POST', '/api/account/deletion', asked), 404, 'Account not found')
    assert.equal((await findContact(api.pool, account.id)).email, account.email)
  })
})

describe('DELETE /api/person', () => {
  it('409: an only owner; 200: everybody else leaves all accounts, which record it', async () => {
    const account = await api.account('agency_plus')
    const second = await api.account('agency_plus')
    const cookie = await api.session(account)
    const text = 'The account needs an owner: make another member owner first'
    assertAnswer(await api.call('DELETE', '/api/person', { cookie }), 409, text)
    const leaver = await member(account, 'leaver@example.com', 'owner')
    await addMember(api.pool, second.id, leaver.id as never, { role: 'viewer', domains: null })
    const answer = await api.call('DELETE', '/api/person', { cookie: leaver.cookie })
    assertAnswer(answer, 200, { deleted: { id: leaver.id, email: leaver.email } })
    assert.match(answer.headers.getSetCookie()[0] ?? '', /Max-Age=0/)
    assertAnswer(await api.call('GET', '/api/person', { cookie: leaver.cookie }), 401, 'Sign in first')
    for (const { id } of [account, second]) {
      const left = `select actor_name from audit_entry where account_id = $1 and action = 'member.left'`
      assert.deepEqual(await api.database.column(left, id), [leaver.email])
    }
  })

  it('409: of a person who becomes the only owner of another account at the same moment', async () => {
    const account = await api.account('agency_plus')
    const other = await api.account('agency_plus')
    const { id, cookie } = await member(account, 'becomes@example.com', 'viewer')
    await api.pool.query('delete from member where account_id = $1', [other.id])
    const joining = await joins(id, other, 'owner')
    const deleting = api.call('DELETE', '/api/person', { cookie })
    await until('the deletion waits', async () => (await waitingForLocks(api.pool)) > 0)
    await joining.commit()
    assert.equal((await deleting).status, 409)
    assert.equal((await api.database.column('select 1 from member where person_id = $1', id)).length, 2)
  })

  it('ends the invitations that the person sent', async () => {
    const account = await api.account('agency_plus')
    const leaver = await member(account, 'inviter@example.com', 'admin')
    for (const [cookie, email] of [
      [leaver.cookie, 'theirs@example.com'],
      [await api.session(account), 'ours@example.com'],
    ] as const) {
      const made = await api.call('POST', '/api/invitations', { cookie, body: { email, role: 'viewer' } })
      assert.equal(made.status, 201, made.text)
    }
    assert.equal((await api.call('DELETE', '/api/person', { cookie: leaver.cookie })).status, 200)
    const invited = 'select email from invitation where account_id = $1'
    assert.deepEqual(await api.database.column(invited, account.id), ['ours@example.com'])
  })

  it('of two owners who delete themselves at once, one stays', async () => {
    const account = await api.account('agency_plus')
    const first = await api.session(account)
    const { cookie: second } = await member(account, 'second-owner@example.com', 'owner')
    const answers = await Promise.all(
      [first, second].map((cookie) => api.call('DELETE', '/api/person', { cookie })),
    )
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409])
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type DomainName, type PersonId, wholeAccount } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { createAccount, setSuspended } from '@prepaint/service/accounts/accounts.ts'
import type { Actor } from '@prepaint/service/accounts/actor.ts'
import {
  INVITATION_LIMIT,
  inviteMember,
  inviteToNewAccount,
  MOST_LETTERS,
  resendInvitation,
  revokeInvitation,
} from '@prepaint/service/accounts/invitations.ts'
import { createToken, listKeys } from '@prepaint/service/accounts/keys.ts'
import {
  addMember,
  endSessionsOfMember,
  MEMBER_LIMIT,
  removeMember,
  transferAccount,
  updateMember,
} from '@prepaint/service/accounts/members.ts'
import { createPerson, findPersonByEmail, setOperator } from '@prepaint/service/accounts/persons.ts'
import { setEmailByOperator } from '@prepaint/service/accounts/sign-in/email-change.ts'
import { createLink } from '@prepaint/service/accounts/sign-in/links.ts'
import { setPassword } from '@prepaint/service/accounts/sign-in/passwords.ts'
import { startSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { createSiteToken } from '@prepaint/service/fronts/site-tokens.ts'
import type { Mail, MailSender } from '@prepaint/service/mail/mailer.ts'
import { setAddresses } from '@prepaint/service/notifications/delivery/addresses.ts'
import { createEndpoint } from '@prepaint/service/notifications/delivery/endpoints.ts'
import { updateDomain } from '@prepaint/service/sites/domain-changes.ts'
import { assertAnswer, cookieOf, openApi, type TestAccount, valuesOf } from '../../../../test/support/api.ts'
import { until } from '../../../../test/support/condition.ts'
import { waitingForLocks } from '../../../../test/support/database.ts'
import { heldRequest } from '../../../../test/support/held-request.ts'

const HOME = { 'sec-fetch-site': 'same-origin' }
const PASSWORD = 'correct horse'
const GONE = 'This link is used, expired or invalid'
const mails: Mail[] = []
const mailer: MailSender = {
  send: async (mail) => {
    mails.push(mail)
    return 'sent'
  },
}
const api = await openApi()
const mailed = await openApi({ mailer, publicUrl: 'https://prepaint.example' })
type Api = typeof api

type Shown = { id: number; email: string; role: string; domains: string[] | null; you: boolean }

const invite = (cookie: string, body: object, on: Api = api) =>
  on.call('POST', '/api/invitations', { cookie, body })
const use = (token: string, body: object = { password: PASSWORD }, cookie?: string) =>
  api.call('POST', '/api/links/use', { headers: HOME, cookie, body: { token, ...body } })
const read = (token: string) => api.call('POST', '/api/links/read', { headers: HOME, body: { token } })
const tokenOf = (body: Record<string, unknown>) => (body['link'] as { token: string }).token
const listed = async (cookie: string, headers: Record<string, string> = {}) =>
  (await api.call('GET', '/api/members', { cookie, headers })).body['members'] as Shown[]
const inAccount = ({ id }: { id: number }) => ({ 'x-prepaint-account': String(id) })

/** A person who has joined the account, and a session of it. */
async function joined(owner: string, email: string, grant: object) {
  const made = await invite(owner, { email, ...grant })
  assert.equal(made.status, 201, made.text)
  const used = await use(tokenOf(made.body))
  assert.equal(used.status, 200, used.text)
  const { id } = (await listed(owner)).find((each) => each.email === email)!
  return { id, email, cookie: cookieOf(used.headers.getSetCookie()) }
}

let people = 0
const newEmail = () => `person-${++people}@example.com`

async function teamOf(plan = 'enterprise') {
  const account = await api.account(plan)
  const owner = await api.session(account)
  const domain = await api.domain(account, `site-${account.id}.example.com`)
  const second = await api.domain(account, `second-${account.id}.example.com`)
  const you = (await listed(owner)).find((each) => each.you)!
  return { account, owner, domain: domain.name, second: second.name, you }
}

const sessionOf = async (email: string) => {
  const { id } = await findPersonByEmail(api.pool, email)
  const client = { address: '', userAgent: '' }
  return `prepaint-session=${(await startSession(api.pool, id, client, api.clock.nowMs()))!.token}`
}

describe('members', () => {
  it('are listed with role and domains; how they sign in is for admins and owners only', async () => {
    const { account, owner, domain, you } = await teamOf()
    const viewer = await joined(owner, newEmail(), { role: 'viewer', domains: [domain] })
    assert.partialDeepStrictEqual(you, { email: account.email, role: 'owner', domains: null, you: true })
    const [seenByOwner] = (await listed(owner)).filter(({ id }) => id === viewer.id)
    assert.partialDeepStrictEqual(seenByOwner, {
      ...{
        role: 'viewer',
        domains: [domain],
        name: null,
        second_factor: false,
        ways: ['password'],
        you: false,
      },
    })
    const [seenByViewer] = (await listed(viewer.cookie)).filter(({ id }) => id === viewer.id)
    assert.partialDeepStrictEqual(seenByViewer, {
      ...{ domains: [domain], second_factor: null, ways: null, last_seen_at: null, you: true },
    })
    const byKey = (await api.call('GET', '/api/members', { key: account.key })).body['members'] as Shown[]
    assert.deepEqual(
      byKey.map((each) => each.you),
      [false, false],
    )
  })

  it('200: another role and other domains, in effect with the next request; what is not named stays', async () => {
    const { owner, domain, second } = await teamOf()
    const member = await joined(owner, newEmail(), { role: 'editor', domains: [domain] })
    const put = (body: object) => api.call('PUT', `/api/members/${member.id}`, { cookie: owner, body })
    const sees = async () =>
      valuesOf(
        (await api.call('GET', '/api/domains', { cookie: member.cookie })).body['domains'],
        'custom_domain',
      )
    assert.deepEqual(await sees(), [domain])
    assert.equal((await put({ domains: [second] })).status, 200)
    assert.deepEqual(await sees(), [second])
    const viewer = (await put({ role: 'viewer' })).body['member'] as Shown
    assert.deepEqual([viewer.role, viewer.domains], ['viewer', [second]])
    const purged = await api.call('POST', '/api/cache/purge-all', { cookie: member.cookie })
    assertAnswer(purged, 403, { error: 'Your role does not allow this', role: 'viewer', needs: 'editor' })
    assert.equal(((await put({ domains: null })).body['member'] as Shown).domains, null)
    assert.deepEqual(await sees(), [second, domain].toSorted())
    const admin = (await put({ role: 'admin' })).body['member'] as Shown
    assert.deepEqual([admin.role, admin.domains], ['admin', null])
  })

  it('a deleted domain leaves the list, and a list that became empty reaches nothing', async () => {
    const { owner, domain } = await teamOf()
    const member = await joined(owner, newEmail(), { role: 'viewer', domains: [domain] })
    assert.equal((await api.call('DELETE', `/api/domains/${domain}`, { cookie: owner })).status, 200)
    assert.deepEqual((await listed(owner)).find(({ id }) => id === member.id)!.domains, [])
    assertAnswer(await api.call('GET', '/api/domains', { cookie: member.cookie }), 200, { domains: [] })
    const stats = await api.call('GET', '/api/cache/stats', { cookie: member.cookie })
    assertAnswer(stats, 200, { totalKeys: 0, domainCount: 0 })
  })

  it('400, 404: what is wrong with a role or with domains is named', async () => {
    const { owner, domain } = await teamOf()
    const { id } = await joined(owner, newEmail(), { role: 'viewer' })
    const roles = 'role must be one of owner, admin, editor, viewer, client'
    const none = 'domains must name at least one domain'
    const unfit = 'domains is for editor, viewer and client'
    for (const [body, status, error] of [
      [{ role: 'king' }, 400, roles],
      [{ role: 'client' }, 400, none],
      [{ role: 'client', domains: [] }, 400, none],
      [{ domains: [] }, 400, none],
      [{ role: 'admin', domains: [domain] }, 400, unfit],
      [{ role: 'owner', domains: [domain] }, 400, unfit],
      [{ domains: ['foreign.example.com'] }, 404, 'Domain not found'],
      [{ domains: ['not a name'] }, 404, 'Domain not found'],
      [{}, 400, 'role or domains is required'],
    ] as const) {
      assertAnswer(await api.call('PUT', `/api/members/${id}`, { cookie: owner, body }), status, error)
      if (!('role' in body)) continue
      assertAnswer(await invite(owner, { email: newEmail(), ...body }), status, error)
    }
    assertAnswer(await invite(owner, { email: newEmail() }), 400, roles)
    assertAnswer(
      await invite(owner, { email: 'nobody', role: 'viewer' }),
      400,
      'email must be an e-mail address',
    )
    for (const unknown of ['99999999', '0', 'x', '99999999999']) {
      for (const [method, path] of [
        ['PUT', ''],
        ['DELETE', ''],
        ['DELETE', '/sessions'],
      ] as const) {
        const body = method === 'PUT' ? { role: 'viewer' } : undefined
        const answer = await api.call(method, `/api/members/${unknown}${path}`, { cookie: owner, body })
        assertAnswer(answer, 404, 'Member not found')
      }
    }
  })

  it('403: an admin neither touches an owner nor makes one', async () => {
    const { owner, you } = await teamOf()
    const admin = await joined(owner, newEmail(), { role: 'admin' })
    const viewer = await joined(owner, newEmail(), { role: 'viewer' })
    const needed = { error: 'Your role does not allow this', role: 'admin', needs: 'owner' }
    const call = (method: string, path: string, body?: object) =>
      api.call(method, `/api/${path}`, { cookie: admin.cookie, body })
    const asOwner = await invite(owner, { email: newEmail(), role: 'owner' })
    const { id: waiting } = asOwner.body['invitation'] as { id: number }
    for (const answer of [
      await call('PUT', `members/${you.id}`, { role: 'viewer' }),
      await call('PUT', `members/${viewer.id}`, { role: 'owner' }),
      await call('DELETE', `members/${you.id}`),
      await call('DELETE', `members/${you.id}/sessions`),
      await call('POST', 'invitations', { email: newEmail(), role: 'owner' }),
      await call('POST', `invitations/${waiting}/resend`),
      await call('DELETE', `invitations/${waiting}`),
      await call('POST', 'account/transfer', { member_id: viewer.id }),
    ]) {
      assertAnswer(answer, 403, needed)
    }
    assert.equal((await call('PUT', `members/${viewer.id}`, { role: 'admin' })).status, 200)
    assert.equal((await call('DELETE', `members/${viewer.id}`)).status, 200)
  })

  it('removing one: 200, nothing from the next request on; the keys that the person made go if asked, and tokens of domains stay', async () => {
    const { account, owner, domain, second: other } = await teamOf()
    const keyOf = async (cookie: string) =>
      (await api.call('POST', '/api/keys', { cookie, body: { name: 'deploy' } })).body['key'] as string
    const first = await joined(owner, newEmail(), { role: 'admin' })
    const second = await joined(owner, newEmail(), { role: 'admin' })
    const [stays, goes] = [await keyOf(first.cookie), await keyOf(second.cookie)]
    const tokensOf = async (cookie: string, name: string) => {
      const post = (path: string, body?: object) =>
        api.call('POST', `/api/domains/${name}/${path}`, { cookie, body })
      const webhook = (await post('tokens', { name: 'deploy' })).body['token'] as string
      return { name, webhook, site: (await post('site-token')).body['token'] as string }
    }
    const tokens = [await tokensOf(first.cookie, domain), await tokensOf(second.cookie, other)]
    const remove = (id: number, query = '') =>
      api.call('DELETE', `/api/members/${id}${query}`, { cookie: owner })
    assertAnswer(await remove(first.id), 200, { deleted: { id: first.id, email: first.email } })
    assert.equal((await remove(second.id, '?revoke_keys=true')).status, 200)
    for (const { cookie } of [first, second]) {
      assertAnswer(await api.call('GET', '/api/domains', { cookie }), 403, 'You are in no account')
      const named = await api.call('GET', '/api/domains', { cookie, headers: inAccount(account) })
      assertAnswer(named, 404, 'Account not found')
    }
    assert.equal((await api.get('/api/domains', stays)).status, 200)
    assertAnswer(await api.get('/api/domains', goes), 401, 'Invalid API key')
    // Tokens are the domain's: a deployment and a front go on.
    for (const { name, webhook, site } of tokens) {
      const headers = { authorization: `Bearer ${webhook}` }
      const told = await api.call('POST', '/api/webhook/refresh', { headers, body: { urls: ['/'] } })
      assert.equal(told.status, 200, told.text)
      const headersOfFront = { 'x-prerender-token': site }
      const offered = await fetch(`${api.url}/https://${name}/`, { headers: headersOfFront })
      assert.equal(offered.status, 200, await offered.text())
    }
    const keys = await listKeys(api.pool, account.id, api.clock.nowMs())
    assert.deepEqual(
      keys.map((key) => key.created_by),
      [null, first.email, second.email],
    )
  })

  it('sessions: 200, the person signs in anew to enter this account; other accounts are not touched', async () => {
    const [here, there] = [await teamOf(), await teamOf()]
    const email = newEmail()
    const { id, cookie } = await joined(here.owner, email, { role: 'viewer' })
    const other = await invite(there.owner, { email, role: 'viewer' })
    assert.equal((await use(tokenOf(other.body), {}, cookie)).status, 200)
    const enter = (account: TestAccount, by = cookie) =>
      api.call('GET', '/api/domains', { cookie: by, headers: inAccount(account) })
    api.clock.atMs += 1_000
    const ended = await api.call('DELETE', `/api/members/${id}/sessions`, { cookie: here.owner })
    assertAnswer(ended, 200, { ended: 1 })
    assertAnswer(await enter(here.account), 401, 'Sign in first')
    assert.equal((await enter(there.account)).status, 200)
    const whoIs = await api.call('GET', '/api/session', { cookie })
    assert.equal((whoIs.body['account'] as { id: number }).id, there.account.id)
    api.clock.atMs += 1_000
    assert.equal((await enter(here.account, await sessionOf(email))).status, 200)
  })

  it('handing over: 200, the member is the owner and the caller an admin', async () => {
    const { owner, domain, you } = await teamOf()
    const heir = await joined(owner, newEmail(), { role: 'viewer', domains: [domain] })
    const transfer = (member_id: number) =>
      api.call('POST', '/api/account/transfer', { cookie: owner, body: { member_id } })
    assertAnswer(await transfer(99_999_999), 404, 'Member not found')
    assertAnswer(await transfer(you.id), 400, 'member_id must be another member')
    const { body } = await transfer(heir.id)
    assert.partialDeepStrictEqual(body, {
      member: { id: heir.id, role: 'owner', domains: null, you: false },
      you: { id: you.id, role: 'admin', you: true },
    })
  })
})

describe('a request whose member loses rights while its body is on the way', () => {
  /** Sends the head, then runs `meanwhile` once the access was checked, then sends the body. */
  async function held(
    method: string,
    path: string,
    { id, cookie }: { id: number; cookie: string },
    body: object,
    meanwhile: () => Promise<unknown>,
  ) {
    await api.pool.query('update member set last_seen_at = null where id = $1', [id])
    const request = {
      method,
      url: api.url + path,
      headers: { ...HOME, cookie },
      content: JSON.stringify(body),
    }
    return heldRequest(request, async () => {
      await until('the access was checked', async () => {
        const { rowCount } = await api.pool.query(
          'select from member where id = $1 and last_seen_at is not null',
          [id],
        )
        return rowCount === 1
      })
      await meanwhile()
    })
  }
  const lowered = (owner: string, id: number, role: string) => async () => {
    const answer = await api.call('PUT', `/api/members/${id}`, { cookie: owner, body: { role } })
    assert.equal(answer.status, 200)
  }
  const denied = (role: string, needs: string) => ({
    status: 403,
    body: { error: 'Your role does not allow this', role, needs },
  })

  it('403: an owner who was made an admin neither becomes one again nor invites one; an editor makes no key', async () => {
    const { account, owner } = await teamOf()
    const lost = await joined(owner, newEmail(), { role: 'owner' })
    const asOwner = { role: 'owner' }
    const again = await held(
      'PUT',
      `/api/members/${lost.id}`,
      lost,
      asOwner,
      lowered(owner, lost.id, 'admin'),
    )
    assert.deepEqual(again, denied('admin', 'owner'))
    await lowered(owner, lost.id, 'owner')()
    const body = { email: newEmail(), ...asOwner }
    const invited = await held('POST', '/api/invitations', lost, body, lowered(owner, lost.id, 'admin'))
    assert.deepEqual(invited, denied('admin', 'owner'))
    const key = await held('POST', '/api/keys', lost, { name: 'stays' }, lowered(owner, lost.id, 'editor'))
    assert.deepEqual(key, denied('editor', 'admin'))
    assert.equal((await listKeys(api.pool, account.id, api.clock.nowMs())).length, 1)
  })

  it('404: an admin who was removed, with the keys, makes no key that stays', async () => {
    const { account, owner } = await teamOf()
    const lost = await joined(owner, newEmail(), { role: 'admin' })
    const remove = () => api.call('DELETE', `/api/members/${lost.id}?revoke_keys=true`, { cookie: owner })
    const key = await held('POST', '/api/keys', lost, { name: 'stays' }, remove)
    assert.deepEqual(key, { status: 404, body: { error: 'Account not found' } })
    assert.equal((await listKeys(api.pool, account.id, api.clock.nowMs())).length, 1)
  })

  it('401: a session that was ended, as that of a stolen cookie, makes no key and changes no login', async () => {
    const { account, owner } = await teamOf()
    for (const [method, path, body] of [
      ['POST', '/api/keys', { name: 'stays' }],
      ['PUT', '/api/person', { name: 'Mallory' }],
    ] as const) {
      const email = newEmail()
      const stolen = await joined(owner, email, { role: 'admin' })
      const end = () => api.call('DELETE', '/api/sessions', { cookie: stolen.cookie })
      assert.deepEqual(await held(method, path, stolen, body, end), {
        status: 401,
        body: { error: 'Sign in first' },
      })
      assert.equal((await findPersonByEmail(api.pool, email)).name, null)
    }
    const ended = await joined(owner, newEmail(), { role: 'admin' })
    const end = () => api.call('DELETE', `/api/members/${ended.id}/sessions`, { cookie: owner })
    const key = await held('POST', '/api/keys', ended, { name: 'stays' }, end)
    assert.deepEqual(key, { status: 401, body: { error: 'Sign in first' } })
    assert.equal((await listKeys(api.pool, account.id, api.clock.nowMs())).length, 1)
  })

  it('403: an operator who is one no more makes no other one', async () => {
    const { owner } = await teamOf()
    const email = newEmail()
    const lost = await joined(owner, email, { role: 'viewer' })
    const { id } = await findPersonByEmail(api.pool, email)
    await api.pool.query('update person set is_operator = true where id = $1', [id])
    const friendEmail = newEmail()
    await joined(owner, friendEmail, { role: 'viewer' })
    const friend = await findPersonByEmail(api.pool, friendEmail)
    const path = `/api/operator/persons/${friend.id}`
    const answer = await held('PUT', path, lost, { is_operator: true }, () =>
      setOperator(api.pool, id, false),
    )
    assert.equal(answer.status, 403)
    assert.equal((await findPersonByEmail(api.pool, friendEmail)).is_operator, false)
  })

  it('each change of members and invitations reads the role again', async () => {
    const { account, owner, you } = await teamOf()
    const { id: admin } = await joined(owner, newEmail(), { role: 'admin' })
    const { id: viewer } = await joined(owner, newEmail(), { role: 'viewer' })
    const made = await invite(owner, { email: newEmail(), role: 'owner' })
    const { id: invitation } = made.body['invitation'] as Shown
    const nowMs = api.clock.nowMs()
    const how = { isHandedOver: true, nowMs }
    const asked = { email: newEmail(), role: 'owner', invitedBy: '' } as const
    const changesBy = (actor: { member: number; role: 'owner' }) => [
      () => updateMember(api.pool, account.id, actor, you.id, { role: 'viewer' }),
      () => updateMember(api.pool, account.id, actor, viewer, { role: 'owner' }),
      () => removeMember(api.pool, account.id, actor, you.id, { revokesKeys: false, nowMs }),
      () => endSessionsOfMember(api.pool, account.id, actor, you.id, nowMs),
      () => transferAccount(api.pool, account.id, actor.member, viewer),
      () => inviteMember(api.pool, wholeAccount(account.id), actor, asked, how),
      () => resendInvitation(api.pool, account.id, actor, invitation, how),
      () => revokeInvitation(api.pool, account.id, actor, invitation),
    ]
    // Each says that it is an owner still.
    for (const change of changesBy({ member: admin, role: 'owner' })) {
      await assert.rejects(change(), { code: 'role_forbidden' }, String(change))
    }
    for (const change of changesBy({ member: 99_999_999, role: 'owner' })) {
      await assert.rejects(change(), { code: 'account_not_found' }, String(change))
    }
  })

  const changesOfDomain = (account: TestAccount, domain: DomainName, actor: Actor) => [
    () => createToken(api.pool, account.id, domain, 'late', DEFAULT_PLANS, actor),
    () => createSiteToken(api.pool, account.id, domain, { author: '', nowMs: api.clock.nowMs(), by: actor }),
    () =>
      updateDomain(
        api.pool,
        account.id,
        domain,
        { isActive: false, by: actor },
        { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() },
      ),
  ]
  const changesOfAccount = (account: TestAccount, actor: Actor) => [
    () => createEndpoint(api.pool, api.parts.vault, account.id, { url: 'https://late.example.com/' }, actor),
    () => setAddresses(api.pool, account.id, [{ email: 'late@example.com' }], actor),
  ]

  it('each change of a domain, its tokens, endpoints and addresses reads role and domains again', async () => {
    const { account, owner, domain, second } = await teamOf()
    const { id: viewer } = await joined(owner, newEmail(), { role: 'viewer' })
    const { id: limited } = await joined(owner, newEmail(), { role: 'editor', domains: [second] })
    const refused = async (changes: (() => Promise<unknown>)[], code: string) => {
      for (const change of changes) await assert.rejects(change(), { code }, String(change))
    }
    const before = await api.database.column(
      'select count(*)::int from audit_entry where account_id = $1',
      account.id,
    )
    for (const [member, code] of [
      [viewer, 'role_forbidden'],
      [99_999_999, 'account_not_found'],
    ] as const) {
      const actor = { member, role: 'owner' } as const
      await refused([...changesOfDomain(account, domain, actor), ...changesOfAccount(account, actor)], code)
    }
    const actor = { member: limited, role: 'editor' } as const
    await refused(changesOfDomain(account, domain, actor), 'domain_not_found')
    await refused(changesOfAccount(account, actor).slice(0, 1), 'role_forbidden')
    await refused(changesOfAccount(account, actor).slice(1), 'role_limited')
    const now = await api.database.column(
      'select count(*)::int from audit_entry where account_id = $1',
      account.id,
    )
    assert.deepEqual(now, before)
    for (const change of changesOfDomain(account, second, actor)) await change()
  })

  it('403: an editor who was made a viewer changes no domain', async () => {
    const { owner, domain } = await teamOf()
    const lost = await joined(owner, newEmail(), { role: 'editor' })
    const body = { is_active: false }
    const answer = await held('PUT', `/api/domains/${domain}`, lost, body, lowered(owner, lost.id, 'viewer'))
    assert.deepEqual(answer, denied('viewer', 'editor'))
  })

  it('a change waits for the removal of its member that is under way, and is refused then', async () => {
    const { account, owner, domain } = await teamOf()
    const { id: member } = await joined(owner, newEmail(), { role: 'admin' })
    const actor = { member, role: 'admin' } as const
    const changes = [...changesOfDomain(account, domain, actor), ...changesOfAccount(account, actor)]
    const client = await api.pool.connect()
    try {
      await client.query('begin')
      await client.query('delete from member where id = $1', [member])
      const waiting = Promise.allSettled(changes.map((change) => change()))
      await until('all wait', async () => (await waitingForLocks(api.pool)) >= changes.length)
      await client.query('commit')
      for (const ended of await waiting) {
        assert(ended.status === 'rejected')
        assert.equal(ended.reason.code, 'account_not_found')
      }
    } finally {
      client.release()
    }
  })
})

describe('the last owner', () => {
  const KEPT = 'The account needs an owner: make another member owner first'

  // Proves decided "Last owner"
  it('409: is not removed, lowered or gone', async () => {
    const { owner, you } = await teamOf()
    const call = (method: string, path: string, body?: object) =>
      api.call(method, `/api/members/${path}`, { cookie: owner, body })
    assertAnswer(await call('DELETE', 'me'), 409, KEPT)
    assertAnswer(await call('DELETE', String(you.id)), 409, KEPT)
    assertAnswer(await call('PUT', String(you.id), { role: 'admin' }), 409, KEPT)
  })

  it('of two owners who leave at once, one stays', async () => {
    for (let round = 0; round < 3; round++) {
      const { owner, you } = await teamOf()
      const second = await joined(owner, newEmail(), { role: 'owner' })
      const both = await Promise.all(
        [owner, second.cookie].map((cookie) => api.call('DELETE', '/api/members/me', { cookie })),
      )
      assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 409])
      const left = both[0]!.status === 409 ? owner : second.cookie
      assert.deepEqual(
        (await listed(left)).map(({ id }) => id),
        [left === owner ? you.id : second.id],
      )
    }
  })
})

describe('invitations without e-mail', () => {
  // Proves decided "Invitations"
  it('201: the link is shown once; who accepts it joins with the role and the domains that were offered', async () => {
    const { account, owner, domain } = await teamOf()
    const email = newEmail()
    const made = await invite(owner, { email: email.toUpperCase(), role: 'editor', domains: [domain] })
    assert.equal(made.status, 201)
    const nowMs = api.clock.nowMs()
    const expires_at = new Date(nowMs + 7 * 86_400_000).toISOString()
    const invitation = {
      ...{ id: (made.body['invitation'] as Shown).id, email, role: 'editor', domains: [domain] },
      ...{
        state: 'waiting',
        created_at: new Date(nowMs).toISOString(),
        expires_at,
        invited_by: account.email,
      },
    }
    const token = tokenOf(made.body)
    const link = { token, url: `${api.url}/welcome#${token}` }
    assert.deepEqual(made.body, { invitation, link, mail: 'off' })
    assertAnswer(await api.call('GET', '/api/invitations', { cookie: owner }), 200, {
      invitations: [invitation],
    })

    const offered = {
      kind: 'member',
      email,
      account: { name: account.email },
      role: 'editor',
      domains: [domain],
      invited_by: account.email,
    }
    assertAnswer(await read(token), 200, { link: { ...offered, expires_at } })
    assertAnswer(await use(token, {}), 400, 'password is required')
    assertAnswer(await use(token, { password: 'short' }), 400, 'password must have 10 to 128 characters')
    const used = await use(token)
    assert.partialDeepStrictEqual(used.body, {
      account: { id: account.id, name: account.email, email, role: 'editor', domains: [domain] },
      person: { email, is_operator: false, second_factor: false },
    })
    for (const answer of [await read(token), await use(token)]) assertAnswer(answer, 404, GONE)
    assertAnswer(await api.call('GET', '/api/invitations', { cookie: owner }), 200, { invitations: [] })
    assertAnswer(await invite(owner, { email, role: 'viewer' }), 409, 'Already a member')
  })

  it('an address with a login: its password is needed and never changed; the inviter gets the same answer', async () => {
    const { owner } = await teamOf()
    const [known, unknown] = [newEmail(), newEmail()]
    await createAccount(api.pool, DEFAULT_PLANS, { email: known, plan: 'pro', password: PASSWORD })
    const [toKnown, toUnknown] = [
      await invite(owner, { email: known, role: 'viewer' }),
      await invite(owner, { email: unknown, role: 'viewer' }),
    ]
    const alike = ({ body: { invitation, link, ...rest } }: typeof toKnown) => [
      Object.keys(invitation as object),
      Object.keys(link as object),
      rest,
    ]
    assert.deepEqual(alike(toKnown), alike(toUnknown))
    const token = tokenOf(toKnown.body)
    assertAnswer(await use(token, { password: 'another horse' }), 401, 'Wrong e-mail or password')
    assert.equal((await use(token, { password: PASSWORD })).status, 200)
    const signIn = (password: string) =>
      api.call('POST', '/api/session', { headers: HOME, body: { email: known, password } })
    assert.deepEqual([(await signIn(PASSWORD)).status, (await signIn('another horse')).status], [200, 401])
  })

  it('a login without a password cannot be given one by an invitation', async () => {
    const { owner } = await teamOf()
    const victim = await api.account()
    const made = await invite(owner, { email: victim.email, role: 'viewer' })
    assertAnswer(await use(tokenOf(made.body)), 401, 'Wrong e-mail or password')
  })

  it('409: a login that an inviter could prepare becomes no operator and gets no account of the operator; a reset link proves it', async () => {
    const { owner } = await teamOf()
    const { email } = await joined(owner, newEmail(), { role: 'viewer' })
    const { id } = await findPersonByEmail(api.pool, email)
    const refused = { code: 'person_not_proven' }
    const made = { email, plan: 'pro', password: 'another horse' }
    await assert.rejects(createAccount(api.pool, DEFAULT_PLANS, made), refused)
    await assert.rejects(setOperator(api.pool, id, true), refused)
    await setOperator(api.pool, id, false)
    const reset = await createLink(api.pool, DEFAULT_PLANS, { kind: 'reset', person: id }, api.clock.nowMs())
    assert.equal((await use(reset.token, { password: 'another horse' })).status, 200)
    await createAccount(api.pool, DEFAULT_PLANS, made)
    await setOperator(api.pool, id, true)
  })

  it('an invitation of the operator drops what an inviter could prepare: password, sessions, second factors, a change of address', async () => {
    const { owner } = await teamOf()
    const { email, cookie } = await joined(owner, newEmail(), { role: 'viewer' })
    const { id } = await findPersonByEmail(api.pool, email)
    await api.pool.query(
      `insert into passkey (person_id, credential_id, public_key, counter, transports, name, created_at)
       values ($1, '\\x01', '\\x02', 0, '{}', 'of the inviter', now())`,
      [id],
    )
    await api.pool.query(
      `insert into email_change (person_id, old_email, new_email, undo_hash, confirm_ends_at, undo_ends_at)
       values ($1, $2, 'inviter@example.com', '\\x03', now(), now())`,
      [id, email],
    )
    const asked = { email, plan: 'pro', isOperator: true, invitedBy: 'command line' }
    const { link } = await inviteToNewAccount(api.pool, DEFAULT_PLANS, asked, api.clock.nowMs())
    assertAnswer(await use(link.token, {}, cookie), 400, 'password is required')
    const used = await use(link.token, { password: 'another horse' })
    assert.partialDeepStrictEqual(used.body, { person: { email, is_operator: true } })
    assertAnswer(await api.call('GET', '/api/session', { cookie }), 401, 'Sign in first')
    for (const table of ['passkey', 'email_change']) {
      const { rowCount } = await api.pool.query(`select from ${table} where person_id = $1`, [id])
      assert.equal(rowCount, 0, table)
    }
    const signIn = (password: string) =>
      api.call('POST', '/api/session', { headers: HOME, body: { email, password } })
    assert.deepEqual([(await signIn(PASSWORD)).status, (await signIn('another horse')).status], [401, 200])
  })

  it('a letter proves the address: who joins by it becomes operator', async () => {
    const account = await mailed.account('enterprise')
    const email = newEmail()
    await invite(await mailed.session(account), { email, role: 'viewer' }, mailed)
    const token = /welcome#(\S+)/.exec(mails.splice(0)[0]!.text)![1]!
    const body = { token, password: PASSWORD }
    assert.equal((await mailed.call('POST', '/api/links/use', { headers: HOME, body })).status, 200)
    await setOperator(mailed.pool, (await findPersonByEmail(mailed.pool, email)).id, true)
  })

  it('end with the right to send them: of a member who is removed, or lowered; share links with the keys', async () => {
    const { account, owner, domain } = await teamOf()
    const waiting = async () =>
      valuesOf((await api.call('GET', '/api/invitations', { cookie: owner })).body['invitations'], 'email')
    const [first, second] = [newEmail(), newEmail()]
    const admin = await joined(owner, newEmail(), { role: 'admin' })
    const kept = newEmail()
    await invite(owner, { email: kept, role: 'viewer' })
    const change = (id: number, role: string) =>
      api.call('PUT', `/api/members/${id}`, { cookie: owner, body: { role } })

    await change(admin.id, 'owner')
    const asOwner = await invite(admin.cookie, { email: first, role: 'owner' })
    await invite(admin.cookie, { email: second, role: 'admin' })
    await change(admin.id, 'admin')
    assert.deepEqual(await waiting(), [second, kept])
    assertAnswer(await use(tokenOf(asOwner.body)), 404, GONE)
    await change(admin.id, 'editor')
    assert.deepEqual(await waiting(), [kept])

    await change(admin.id, 'admin')
    const held = await invite(admin.cookie, { email: first, role: 'admin' })
    const shared = await api.call('POST', '/api/share-links', {
      cookie: admin.cookie,
      body: { name: 'for later', domains: [domain] },
    })
    assert.equal(shared.status, 201, shared.text)
    await api.call('DELETE', `/api/members/${admin.id}?revoke_keys=true`, { cookie: owner })
    assertAnswer(await use(tokenOf(held.body)), 404, GONE)
    assert.deepEqual(await waiting(), [kept])
    const { body } = await api.call('GET', '/api/share-links', { cookie: owner })
    assert.deepEqual(body['share_links'], [])
    const actions = await api.database.column<string>(
      'select action from audit_entry where account_id = $1 order by id desc limit 2',
      account.id,
    )
    assert.deepEqual(actions, ['share_link.revoked', 'member.invitation_revoked'])
  })

  it('invitations and share links end with who sent them, also if that has another address by now', async () => {
    const { account, owner, domain } = await teamOf()
    const admin = await joined(owner, newEmail(), { role: 'admin' })
    const { id } = await findPersonByEmail(api.pool, admin.email)
    const held = await invite(admin.cookie, { email: newEmail(), role: 'admin' })
    const body = { name: 'for later', domains: [domain] }
    const shared = await api.call('POST', '/api/share-links', { cookie: admin.cookie, body })
    assert.equal(shared.status, 201, shared.text)
    await setEmailByOperator(api.pool, id, newEmail())
    await api.call('DELETE', `/api/members/${admin.id}?revoke_keys=true`, { cookie: owner })
    assertAnswer(await use(tokenOf(held.body)), 404, GONE)
    const links = await api.database.column('select 1 from share_link where account_id = $1', account.id)
    assert.deepEqual(links, [])
  })

  it('429: the password of another login is not guessed by an invitation', async () => {
    const { owner } = await teamOf()
    const email = newEmail()
    await createAccount(api.pool, DEFAULT_PLANS, { email, plan: 'pro', password: PASSWORD })
    const token = tokenOf((await invite(owner, { email, role: 'viewer' })).body)
    const guess = (at: number) => use(token, { password: `wrong horse ${at}` })
    for (let at = 0; at < 5; at++) assert.equal((await guess(at)).status, 401)
    assertAnswer(await guess(5), 429, 'Too many failed attempts, try again later')
  })

  it('signed in as that address: no password; signed in as another one: 409', async () => {
    const { account, owner } = await teamOf()
    const guest = await teamOf()
    const { email } = guest.account
    const token = tokenOf((await invite(owner, { email, role: 'viewer' })).body)
    assertAnswer(await use(token, {}, owner), 409, `This invitation is for ${email}`)
    const used = await use(token, {}, guest.owner)
    assert.partialDeepStrictEqual(used.body, {
      account: { id: account.id, role: 'viewer' },
      person: { email },
    })
    assert.deepEqual(used.headers.getSetCookie(), [], 'the session goes on')
    const again = await teamOf()
    const later = tokenOf((await invite(again.owner, { email, role: 'viewer' })).body)
    const startMs = api.clock.atMs
    api.clock.atMs += 86_400_000
    const extended = await use(later, {}, guest.owner)
    api.clock.atMs = startMs
    assert.equal(cookieOf(extended.headers.getSetCookie()), guest.owner, 'extended once a day')
  })

  it('sending again: 200 with another link, the one before is dead; revoking: 200, and 404 afterwards', async () => {
    const { owner } = await teamOf()
    const stranger = await teamOf()
    const made = await invite(owner, { email: newEmail(), role: 'viewer' })
    const { id, email } = made.body['invitation'] as Shown
    assertAnswer(
      await invite(owner, { email, role: 'editor' }),
      409,
      'Already invited: resend or revoke that invitation',
    )
    const call = (method: string, path: string, cookie = owner) =>
      api.call(method, `/api/invitations/${id}${path}`, { cookie })
    for (const [method, path] of [
      ['POST', '/resend'],
      ['DELETE', ''],
    ] as const) {
      assertAnswer(await call(method, path, stranger.owner), 404, 'Invitation not found')
    }
    const again = await call('POST', '/resend')
    assert.equal(again.status, 200)
    assertAnswer(await read(tokenOf(made.body)), 404, GONE)
    assert.equal((await read(tokenOf(again.body))).status, 200)
    assertAnswer(await call('DELETE', ''), 200, { deleted: { id, email } })
    assertAnswer(await read(tokenOf(again.body)), 404, GONE)
    assertAnswer(await call('DELETE', ''), 404, 'Invitation not found')
  })

  for (const other of ['resend', 'revoke'] as const) {
    it(`accepting one while it is ${other === 'resend' ? 'sent again' : 'revoked'}: one of both, no deadlock`, async () => {
      const { account, owner } = await teamOf()
      const guest = await teamOf()
      const made = await invite(owner, { email: guest.account.email, role: 'viewer' })
      const { id } = made.body['invitation'] as Shown
      const ask =
        other === 'resend'
          ? () => api.call('POST', `/api/invitations/${id}/resend`, { cookie: owner })
          : () => api.call('DELETE', `/api/invitations/${id}`, { cookie: owner })
      const accept = () => use(tokenOf(made.body), {}, guest.owner)
      // The one that waits first for the account is the first to get it.
      const order = other === 'resend' ? [ask, accept] : [accept, ask]
      const holder = await api.pool.connect()
      await holder.query('begin')
      await holder.query('select from account where id = $1 for update', [account.id])
      const answers: ReturnType<typeof accept>[] = []
      for (const each of order) {
        answers.push(each())
        await until('it waits', async () => (await waitingForLocks(api.pool)) === answers.length)
      }
      await holder.query('commit')
      holder.release()
      const statuses = (await Promise.all(answers)).map(({ status }) => status)
      assert.deepEqual(statuses, [200, 404])
    })
  }

  it('an invitation of a member is not sent again, and takes no place when it is accepted', async () => {
    const { account, owner } = await teamOf()
    const email = newEmail()
    const made = await invite(owner, { email, role: 'viewer' })
    const { id } = made.body['invitation'] as Shown
    await createPerson(api.pool, { email, passwordHash: null })
    const { id: person } = await findPersonByEmail(api.pool, email)
    await addMember(api.pool, account.id, person, { role: 'editor', domains: null })
    const again = await api.call('POST', `/api/invitations/${id}/resend`, { cookie: owner })
    assertAnswer(again, 409, 'Already a member')
    await api.pool.query(
      `with made as (insert into person (email) select 'f' || n || '-' || $1::integer || '@example.com'
         from generate_series(3, ${MEMBER_LIMIT}) n returning id)
       insert into member (account_id, person_id, role) select $1, id, 'viewer' from made`,
      [account.id],
    )
    const used = await use(tokenOf(made.body), {}, await sessionOf(email))
    assert.equal(used.status, 200, used.text)
    assert.equal((used.body['account'] as { role: string }).role, 'editor')
  })

  it('an invitation expires after 7 days, is listed as expired for 30, and can be sent again', async () => {
    const { owner } = await teamOf()
    const made = await invite(owner, { email: newEmail(), role: 'viewer' })
    const { id } = made.body['invitation'] as Shown
    const startMs = api.clock.atMs
    const states = async (days: number, cookie = owner) => {
      api.clock.atMs = startMs + days * 86_400_000
      await api.pool.query(`update session set expires_at = $1, used_at = $2`, [
        new Date(api.clock.atMs + 86_400_000),
        new Date(api.clock.atMs),
      ])
      return valuesOf((await api.call('GET', '/api/invitations', { cookie })).body['invitations'], 'state')
    }
    assert.deepEqual(await states(6.9), ['waiting'])
    assert.deepEqual(await states(7), ['expired'])
    assertAnswer(await read(tokenOf(made.body)), 404, GONE)
    assert.deepEqual(await states(36.9), ['expired'])
    assert.deepEqual(await states(37), [])
    assert.deepEqual(await states(20), ['expired'])
    const again = await api.call('POST', `/api/invitations/${id}/resend`, { cookie: owner })
    assert.equal((again.body['invitation'] as { state: string }).state, 'waiting')
    assert.equal((await read(tokenOf(again.body))).status, 200)
    api.clock.atMs = startMs
  })

  it(`${INVITATION_LIMIT} wait at most, and ${MEMBER_LIMIT} are members at most`, async () => {
    const { account, owner } = await teamOf()
    for (let at = 1; at < INVITATION_LIMIT; at++) {
      await api.pool.query(
        `insert into invitation (account_id, email, invited_by, created_at, expires_at)
         values ($1, $2, '', now(), $3)`,
        [account.id, `w${at}@example.com`, new Date(api.clock.nowMs() + 1_000)],
      )
    }
    const last = await invite(owner, { email: newEmail(), role: 'viewer' })
    assert.equal(last.status, 201)
    const over = await invite(owner, { email: newEmail(), role: 'viewer' })
    assertAnswer(over, 403, 'Invitation limit reached (50 per account)')

    await api.pool.query(
      `with made as (insert into person (email) select 'm' || n || '-' || $1::integer || '@example.com'
         from generate_series(2, ${MEMBER_LIMIT}) n returning id)
       insert into member (account_id, person_id, role) select $1, id, 'viewer' from made`,
      [account.id],
    )
    assertAnswer(await use(tokenOf(last.body)), 403, 'Member limit reached (200 per account)')
    await api.pool.query(`delete from invitation where account_id = $1 and invited_by = ''`, [account.id])
    const full = await invite(owner, { email: newEmail(), role: 'viewer' })
    assertAnswer(full, 403, 'Member limit reached (200 per account)')
    await api.pool.query(
      `delete from person where id = (select max(person_id) from member where account_id = $1)`,
      [account.id],
    )
    assert.equal((await use(tokenOf(last.body))).status, 200, 'the last free place')
  })
})

describe('invitations by e-mail', () => {
  it('201: only the letter has the link', async () => {
    const account = await mailed.account()
    const cookie = await mailed.session(account)
    const made = await invite(cookie, { email: 'guest@example.com', role: 'viewer' }, mailed)
    assert.partialDeepStrictEqual(made.body, { link: null, mail: 'sent' })
    const letter = mails.splice(0)[0]!
    assert.equal(letter.to, 'guest@example.com')
    assert(letter.text.includes(account.email), 'it names who invites')
    assert.match(
      letter.text.replaceAll(/\s+/g, ' '),
      /as viewer\. You will be able to see all sites of the account with all settings, but change nothing\./,
    )
    const token = /https:\/\/prepaint\.example\/welcome#(pp_in_[\w-]+)/.exec(letter.text)![1]!
    assert(!made.text.includes(token))
    const answer = await mailed.call('POST', '/api/links/read', { headers: HOME, body: { token } })
    assert.equal((answer.body['link'] as { kind: string }).kind, 'member')
  })

  it('201 with mail: failed if it could not be sent; the inviter gets no link then either', async (t) => {
    const cookie = await mailed.session(await mailed.account())
    t.mock.method(mailer, 'send', async () => 'failed')
    const made = await invite(cookie, { email: 'lost@example.com', role: 'viewer' }, mailed)
    assert.partialDeepStrictEqual(made.body, { link: null, mail: 'failed' })
  })

  it(`429: ${MOST_LETTERS.address} letters to an address and ${MOST_LETTERS.account} of an account in 24 hours, and not one more`, async () => {
    const account = await mailed.account()
    const cookie = await mailed.session(account)
    const made = await invite(cookie, { email: 'often@example.com', role: 'viewer' }, mailed)
    const { id } = made.body['invitation'] as Shown
    const resend = () => mailed.call('POST', `/api/invitations/${id}/resend`, { cookie })
    for (let at = 1; at < MOST_LETTERS.address; at++) assert.equal((await resend()).status, 200)
    const refused = await resend()
    assertAnswer(refused, 429, 'Too many invitations, try again later')
    assert(Number(refused.headers.get('retry-after')) > 86_000)
    for (let at = MOST_LETTERS.address; at < MOST_LETTERS.account; at++) {
      const each = await invite(cookie, { email: `e${at}@example.com`, role: 'viewer' }, mailed)
      assert.equal(each.status, 201, `${at}`)
      const { id: done } = each.body['invitation'] as Shown
      await mailed.call('DELETE', `/api/invitations/${done}`, { cookie })
    }
    assert.equal((await invite(cookie, { email: 'over@example.com', role: 'viewer' }, mailed)).status, 429)
    const others = await mailed.session(await mailed.account())
    assert.equal((await invite(others, { email: 'often@example.com', role: 'viewer' }, mailed)).status, 201)
    mails.splice(0)
  })
})

describe('a person in several accounts', () => {
  // Proves decided "Persons, members, accounts"
  it('chooses one for the session, and names another one for each request', async () => {
    const [first, second] = [await teamOf(), await teamOf()]
    const email = newEmail()
    const { cookie } = await joined(first.owner, email, { role: 'viewer' })
    const made = await invite(second.owner, { email, role: 'client', domains: [second.domain] })
    await use(tokenOf(made.body), {}, cookie)
    const accounts = async (headers: Record<string, string> = {}) =>
      (await api.call('GET', '/api/accounts', { cookie, headers })).body['accounts']
    const entry = { plan: 'enterprise', current: false }
    const both = [
      { ...entry, id: first.account.id, name: first.account.email, role: 'viewer', domains: 2 },
      {
        ...entry,
        id: second.account.id,
        name: second.account.email,
        role: 'client',
        domains: 1,
        current: true,
      },
    ].toSorted((a, b) => (a.name < b.name ? -1 : 1))
    assert.deepEqual(await accounts(), both)

    const names = async (headers: Record<string, string> = {}) =>
      valuesOf((await api.call('GET', '/api/domains', { cookie, headers })).body['domains'], 'custom_domain')
    assert.deepEqual(await names(), [second.domain])
    assert.deepEqual(await names(inAccount(first.account)), [first.second, first.domain].toSorted())
    const choose = (id: number) => api.call('POST', '/api/session/account', { cookie, body: { id } })
    assert.partialDeepStrictEqual((await choose(first.account.id)).body, {
      account: { id: first.account.id, email, role: 'viewer' },
      person: { email },
    })
    assert.deepEqual(await names(), [first.second, first.domain].toSorted())

    const stranger = await api.account()
    for (const id of [stranger.id, 99_999_999]) assertAnswer(await choose(id), 404, 'Account not found')
    for (const id of [String(stranger.id), '99999999', '0', 'x', '99999999999']) {
      const headers = { 'x-prepaint-account': id }
      for (const path of ['/api/domains', '/api/session']) {
        assertAnswer(await api.call('GET', path, { cookie, headers }), 404, 'Account not found')
      }
    }
  })

  it('a suspended account is refused, and the others go on', async () => {
    const [first, second] = [await teamOf(), await teamOf()]
    const email = newEmail()
    const { cookie } = await joined(first.owner, email, { role: 'viewer' })
    await use(tokenOf((await invite(second.owner, { email, role: 'viewer' })).body), {}, cookie)
    await setSuspended(api.pool, second.account.id, true, api.clock.nowMs())
    const enter = (account: TestAccount) =>
      api.call('GET', '/api/domains', { cookie, headers: inAccount(account) })
    assertAnswer(await enter(second.account), 403, 'This account is suspended: ask the operator')
    assert.equal((await enter(first.account)).status, 200)
    await setSuspended(api.pool, first.account.id, true, api.clock.nowMs())
    assertAnswer(await api.call('GET', '/api/session', { cookie }), 401, 'Sign in first')
  })

  it('403, 404: without a header a request is about the chosen account, or refused; signing in may choose another', async () => {
    const [first, second] = [await teamOf(), await teamOf()]
    const email = newEmail()
    const { id, cookie } = await joined(first.owner, email, { role: 'editor' })
    await use(tokenOf((await invite(second.owner, { email, role: 'editor' })).body), {}, cookie)
    const choose = (account: TestAccount) =>
      api.call('POST', '/api/session/account', { cookie, body: { id: account.id } })
    const purge = (by = cookie) => api.call('POST', '/api/cache/purge-all', { cookie: by })
    const shown = async () =>
      ((await api.call('GET', '/api/session', { cookie })).body['account'] as { id: number }).id
    await choose(first.account)
    const fresh = await sessionOf(email)

    await setSuspended(api.pool, first.account.id, true, api.clock.nowMs())
    for (const by of [cookie, fresh])
      assertAnswer(await purge(by), 403, 'This account is suspended: ask the operator')
    assert.equal(await shown(), second.account.id)
    assert.equal((await purge(await sessionOf(email))).status, 200, 'signed in anew')
    await setSuspended(api.pool, first.account.id, false, api.clock.nowMs())
    assert.equal((await purge()).status, 200)

    // The suspension ended the owner's session.
    const owner = await api.session(first.account)
    assert.equal((await api.call('DELETE', `/api/members/${id}`, { cookie: owner })).status, 200)
    for (const by of [cookie, fresh]) assertAnswer(await purge(by), 404, 'Account not found')
    assert.equal(await shown(), second.account.id)
    await choose(second.account)
    assert.equal((await purge()).status, 200)
  })

  it('an operator whose only account is suspended signs in, in no account, and ends the suspension', async () => {
    const account = await api.account()
    const { id: person, email } = await findPersonByEmail(api.pool, account.email)
    await setOperator(api.pool, person, true)
    await setPassword(api.pool, person, PASSWORD)
    await setSuspended(api.pool, account.id, true, api.clock.nowMs())
    const signedIn = await api.call('POST', '/api/session', {
      headers: HOME,
      body: { email, password: PASSWORD },
    })
    assert.deepEqual([signedIn.status, signedIn.body['account']], [200, null])
    const cookie = cookieOf(signedIn.headers.getSetCookie())
    for (const headers of [{}, inAccount(account)]) {
      const whoIs = await api.call('GET', '/api/session', { cookie, headers })
      assert.deepEqual([whoIs.status, whoIs.body['account']], [200, null])
    }
    const refused = await api.call('GET', '/api/domains', { cookie })
    assertAnswer(refused, 403, 'This account is suspended: ask the operator')
    assert.equal((await api.call('GET', '/api/operator/accounts', { cookie })).status, 200)
  })

  it('a person in no account signs in, and account routes say so', async () => {
    const { owner } = await teamOf()
    const { id, cookie, email } = await joined(owner, newEmail(), { role: 'viewer' })
    assertAnswer(await api.call('DELETE', '/api/members/me', { cookie }), 200, { deleted: { id, email } })
    const { body } = await api.call('GET', '/api/session', { cookie })
    assert.equal(body['account'], null)
    assertAnswer(await api.call('GET', '/api/plan', { cookie }), 403, 'You are in no account')
    assertAnswer(await api.call('GET', '/api/accounts', { cookie }), 200, { accounts: [] })
    await setPassword(api.pool, (body['person'] as { id: PersonId }).id, PASSWORD)
    const signedIn = await api.call('POST', '/api/session', {
      headers: HOME,
      body: { email, password: PASSWORD },
    })
    assert.deepEqual([signedIn.status, signedIn.body['account']], [200, null])
  })

  it('says its name and language; what is not named stays', async () => {
    const { owner, account } = await teamOf()
    const put = (body: object) => api.call('PUT', '/api/person', { cookie: owner, body })
    assert.partialDeepStrictEqual((await put({ name: ' Ann Example ', locale: 'pt-BR' })).body['person'], {
      ...{ email: account.email, name: 'Ann Example', locale: 'pt-BR' },
    })
    assert.equal((await put({ name: '' })).status, 200)
    const read = await api.call('GET', '/api/person', { cookie: owner })
    assert.partialDeepStrictEqual(read.body['person'], { name: null, locale: 'pt-BR' })
    assertAnswer(await put({ name: 'x'.repeat(81) }), 400, 'name must have at most 80 characters')
    assertAnswer(
      await put({ name: 'a\u202eb' }),
      400,
      'name must not contain control or direction characters',
    )
    assertAnswer(
      await put({ locale: 'english please' }),
      400,
      'locale must be a language such as en or pt-BR',
    )
    assert.equal((await put({ name: 'x'.repeat(80) })).status, 200)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AuditEntryView } from '@prepaint/contract/api/audit.ts'
import type { AuditAction } from '@prepaint/contract/audit-actions.ts'
import { wholeAccount } from '@prepaint/contract/ids.ts'
import { ACTIONS, type Action } from '@prepaint/contract/roles.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { createAccount } from '@prepaint/service/accounts/accounts.ts'
import { rightsNow } from '@prepaint/service/accounts/actor.ts'
import { putLogo } from '@prepaint/service/accounts/branding.ts'
import { inviteMember } from '@prepaint/service/accounts/invitations.ts'
import { createKey, createToken, revokeKey } from '@prepaint/service/accounts/keys.ts'
import { parseLogo } from '@prepaint/service/accounts/logo.ts'
import { addMember, findMember } from '@prepaint/service/accounts/members.ts'
import { addPerson, findContact, setOperator } from '@prepaint/service/accounts/persons.ts'
import { createShareLink } from '@prepaint/service/accounts/share-links.ts'
import { SESSION_LIMIT, startSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { createSiteToken } from '@prepaint/service/fronts/site-tokens.ts'
import { setAddresses } from '@prepaint/service/notifications/delivery/addresses.ts'
import {
  createEndpoint,
  deleteEndpoint,
  updateEndpoint,
} from '@prepaint/service/notifications/delivery/endpoints.ts'
import { deleteDomain, updateDomain } from '@prepaint/service/sites/domain-changes.ts'
import { assertAnswer, openApi, storePages, type TestAccount } from '../../../../test/support/api.ts'
import { until } from '../../../../test/support/condition.ts'
import { waitingForLocks } from '../../../../test/support/database.ts'
import { exampleRequest, NOTHING } from '../../../../test/support/example-request.ts'
import { heldRequest } from '../../../../test/support/held-request.ts'
import { pngOf } from '../../../../test/support/pictures.ts'

const api = await openApi()

/** What each changing action records. Actions that are missing here fail the test. */
const RECORDS: Partial<Record<Action, AuditAction>> = {
  leaveAccount: 'member.left',
  updateDomain: 'domain.changed',
  replaceRedirects: 'redirects.changed',
  putCertificate: 'certificate.uploaded',
  deleteCertificate: 'certificate.removed',
  restoreVersion: 'redirects.changed',
  createDomain: 'domain.added',
  importDomains: 'domain.added',
  replaceTags: 'domain.changed',
  putNotifications: 'notifications.changed',
  updateIncident: 'incident.acknowledged',
  createToken: 'token.created',
  revokeToken: 'token.revoked',
  createSiteToken: 'site_token.created',
  deleteSiteToken: 'site_token.revoked',
  deleteDomain: 'domain.deleted',
  createEndpoint: 'endpoint.created',
  updateEndpoint: 'endpoint.changed',
  deleteEndpoint: 'endpoint.deleted',
  createKey: 'key.created',
  revokeKey: 'key.revoked',
  inviteMember: 'member.invited',
  resendInvitation: 'member.invitation_resent',
  revokeInvitation: 'member.invitation_revoked',
  updateMember: 'member.role_changed',
  removeMember: 'member.removed',
  endSessionsOfMember: 'session.ended',
  transferAccount: 'account.transferred',
  updatePolicy: 'account.policy_changed',
  purgeAll: 'cache.purged',
  changeAccount: 'account.renamed',
  changeBranding: 'account.branding_changed',
  putLogo: 'account.branding_changed',
  deleteLogo: 'account.branding_changed',
  requestDeletion: 'account.deletion_requested',
  cancelDeletion: 'account.deletion_cancelled',
  createShareLink: 'share_link.created',
  revokeShareLink: 'share_link.revoked',
}

/** They render, refresh, test or check, purge single pages, and hide a list. Templates are recorded where they are applied; `bulk` as what it does. */
const RECORD_NOTHING: readonly Action[] = [
  ...(['purge', 'refresh', 'refreshAll', 'purgePages', 'refreshPages', 'rerenderPages'] as const),
  ...(['createInspection', 'hideChecklist'] as const),
  ...(['tryRules', 'checkDevices', 'checkIntegration', 'startWarm', 'changeWarm', 'cancelWarm'] as const),
  ...(['testRobots', 'checkDomain', 'checkProof', 'testEndpoint', 'replayDelivery'] as const),
  ...(['checkDns', 'bulk', 'createTemplate', 'updateTemplate', 'deleteTemplate', 'previewTemplate'] as const),
]

const changing = api.contract.operations.filter(
  ({ operationId, method }) => method !== 'GET' && Object.hasOwn(ACTIONS, operationId),
)

const OWNER = { member: null, role: 'owner' } as const

let worlds = 0

/** An account with something of every kind that can be changed or deleted. */
async function furnished() {
  const at = ++worlds
  const account = await api.account('agency_plus')
  const nowMs = api.clock.nowMs()
  const domain = await api.domain(account, `site-${at}.example.com`)
  await storePages(api, domain.id, ['/'])
  const member = async (email: string, role: 'owner' | 'editor') => {
    const person = await addPerson(api.pool, { email, password: null })
    await addMember(api.pool, account.id, person, { role, domains: null })
    return findMember(api.pool, account.id, email)
  }
  const share = { name: 'spare', domains: [domain.name], author: null }
  const endpoint = { url: `https://hook-${at}.example.com/` }
  await createSiteToken(api.pool, account.id, domain.name, { author: 'x', nowMs })
  await putLogo(api.pool, account.id, OWNER, parseLogo(pngOf(1, 1)))
  const [version] = await api.database.column<number>(
    `insert into site_version (domain_id, kind, content, author)
     values ($1, 'redirects', '[{"from":"/a","to":"/b","status":301}]', 'x'), ($1, 'redirects', '[]', 'x') returning id`,
    domain.id,
  )
  const [incident] = await api.database.column<number>(
    `insert into incident (account_id, domain_id, kind, since, summary, evidence)
     values ($1, $2, 'blocked', now(), 'why', $3) returning id::integer`,
    account.id,
    domain.id,
    { count: 1, pages: [], changes: [], level: null, advice: '', url: '' },
  )
  const asked = { email: `guest-${at}@example.com`, role: 'viewer' as const, invitedBy: 'x' }
  const { invitation } = await inviteMember(api.pool, wholeAccount(account.id), OWNER, asked, {
    isHandedOver: true,
    nowMs,
  })
  const ids = {
    ...NOTHING,
    heir: await member(`heir-${at}@example.com`, 'owner'),
    members: await member(`member-${at}@example.com`, 'editor'),
    invitations: invitation.id,
    versions: version!,
    incidents: incident!,
    keys: (
      await createKey(
        api.pool,
        account.id,
        { name: 'spare', expiresAt: null },
        { plans: DEFAULT_PLANS, nowMs },
      )
    ).id,
    tokens: (await createToken(api.pool, account.id, domain.name, 'spare', DEFAULT_PLANS)).id,
    links: (await createShareLink(api.pool, wholeAccount(account.id), OWNER, share, nowMs)).shareLink.id,
    endpoints: (await createEndpoint(api.pool, api.parts.vault, account.id, endpoint)).id,
  }
  return {
    account,
    domain: domain.name,
    newName: `new-${at}.example.com`,
    ids,
    cookie: await api.session(account),
  }
}

async function entriesOf(account: TestAccount, query = ''): Promise<AuditEntryView[]> {
  const answer = await api.call('GET', `/api/audit${query}`, { cookie: await api.session(account) })
  assert.equal(answer.status, 200, answer.text)
  return answer.body['entries'] as AuditEntryView[]
}

/** What was recorded by `act`, oldest first, without the sign-ins that looking takes. */
async function recordedBy(account: TestAccount, act: () => Promise<unknown>): Promise<AuditEntryView[]> {
  const last = (await entriesOf(account, '?limit=1'))[0]?.id ?? 0
  await act()
  const entries = await entriesOf(account, '?limit=200')
  return entries.filter(({ id, action }) => id > last && action !== 'sign_in.succeeded').reverse()
}

describe('every changing route of an account', () => {
  it('has a row that says what it records, or that it records nothing', () => {
    const known = [...Object.keys(RECORDS), ...RECORD_NOTHING]
    const operations = changing.map(({ operationId }) => operationId)
    assert.deepEqual(operations.toSorted(), known.toSorted())
  })

  for (const operation of changing) {
    const wanted = RECORDS[operation.operationId as Action]
    if (wanted === undefined) continue
    // Proves decided "Audit log"
    it(`${operation.method} ${operation.url} records ${wanted}, who did it and from where`, async () => {
      const { account, cookie, ...about } = await furnished()
      if (operation.operationId === 'deleteCertificate') {
        const put = changing.find(({ operationId }) => operationId === 'putCertificate')!
        const { path, body } = exampleRequest(put, about)
        assert.equal((await api.call('PUT', path, { cookie, body })).status, 200)
      }
      if (operation.operationId.endsWith('Deletion')) {
        await api.pool.query(`update account set name = 'amber new' where id = $1`, [account.id])
      }
      if (operation.operationId === 'cancelDeletion') {
        const asked = { cookie, body: { name: 'amber new' } }
        assert.equal((await api.call('POST', '/api/account/deletion', asked)).status, 202)
      }
      const { path, body, headers } = exampleRequest(operation, about)
      const entries = await recordedBy(account, async () => {
        const answer = await api.call(operation.method, path, { cookie, body, headers })
        assert(answer.status < 300, `${operation.method} ${path}: ${answer.status} ${answer.text}`)
        // To leave is to lose sight of the log.
        if (operation.operationId === 'leaveAccount' || operation.operationId === 'transferAccount') {
          await api.pool.query('update member set role = $2 where account_id = $1', [account.id, 'owner'])
          if (operation.operationId === 'leaveAccount') {
            const person = await addPerson(api.pool, { email: account.email, password: null })
            await addMember(api.pool, account.id, person, { role: 'owner', domains: null })
          }
        }
      })
      const entry = entries.find(({ action }) => action === wanted)
      assert(entry !== undefined, `recorded: ${entries.map(({ action }) => action)}`)
      const { actor, address, request_id: requestId, way } = entry
      assert.deepEqual(
        { kind: actor.kind, name: actor.name, address, way },
        { kind: 'person', name: account.email, address: '127.0.0.1', way: 'password' },
      )
      assert.match(requestId ?? '', /^[0-9a-f-]{36}$/)
      assert.doesNotMatch(JSON.stringify(entries), /pp_(live|wh|site|in|sh)_|whsec_|PRIVATE KEY/)
    })
  }
})

/** Changes that last. What only renders or deletes pages leaves nothing behind, so it is not read again. */
const LASTING: readonly string[] = [
  ...Object.keys(RECORDS).filter((action) => action !== 'purgeAll'),
  ...(['createTemplate', 'updateTemplate', 'deleteTemplate'] satisfies Action[]),
]

describe('a change that lasts, while the rights of the caller end', () => {
  type Caller = Partial<{ cookie: string; key: string }>

  /** Sends the request of the document while the change of `end` is not committed yet, and commits when the request waits for it. */
  async function refusedMeanwhile(
    operation: (typeof changing)[number],
    about: Awaited<ReturnType<typeof furnished>>,
    caller: Caller,
    end: [sql: string, id: number],
  ) {
    const { path, body, headers } = exampleRequest(operation, about)
    const last = (await entriesOf(about.account, '?limit=1'))[0]?.id ?? 0
    const client = await api.pool.connect()
    try {
      await client.query('begin')
      await client.query('select from account where id = $1 for no key update', [about.account.id])
      const [sql, id] = end
      await client.query(sql, [id])
      const asked = api.call(operation.method, path, { ...caller, body, headers })
      const isAnswered = Symbol('answered')
      const first = await Promise.race([
        until('the change waits', async () => (await waitingForLocks(api.pool)) > 0),
        asked.then(() => isAnswered),
      ])
      assert.notEqual(first, isAnswered, `${operation.operationId} did not read the rights again`)
      await client.query('commit')
      const { status, body: refusal } = await asked
      const { rows } = await api.pool.query(
        'select action from audit_entry where account_id = $1 and id > $2',
        [about.account.id, last],
      )
      const actions = rows.map(({ action }) => action).filter((action) => action !== 'sign_in.succeeded')
      assert.deepEqual(actions, [])
      return { status, error: refusal['error'] }
    } finally {
      client.release()
    }
  }

  for (const operation of changing.filter(({ operationId }) => LASTING.includes(operationId))) {
    it(`404: ${operation.operationId} of a member who is removed meanwhile`, async () => {
      const world = await furnished()
      const { account, cookie } = world
      const member = await findMember(api.pool, account.id, account.email)
      const seen = new Date(api.clock.nowMs())
      await api.pool.query('update member set last_seen_at = $2 where id = $1', [member, seen])
      const removal: [string, number] = ['delete from member where id = $1', member]
      assert.deepEqual(await refusedMeanwhile(operation, world, { cookie }, removal), {
        status: 404,
        error: 'Account not found',
      })
    })

    if (ACTIONS[operation.operationId as Action].right === null) continue
    it(`401: ${operation.operationId} of an API key that is revoked meanwhile`, async () => {
      const world = await furnished()
      const at = { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() }
      const { id, key } = await createKey(api.pool, world.account.id, { name: 'x', expiresAt: null }, at)
      await api.pool.query('update api_key set last_used_at = $2 where id = $1', [id, new Date(at.nowMs)])
      const revocation: [string, number] = ['update api_key set revoked_at = now() where id = $1', id]
      assert.deepEqual(await refusedMeanwhile(operation, world, { key }, revocation), {
        status: 401,
        error: 'Invalid API key',
      })
    })
  }

  it('401: an API key that is revoked while the body is on the way purges nothing', async () => {
    const { account, domain } = await furnished()
    const nowMs = api.clock.nowMs()
    const at = { plans: DEFAULT_PLANS, nowMs }
    const { id, key } = await createKey(api.pool, account.id, { name: 'x', expiresAt: null }, at)
    const content = JSON.stringify({ domain })
    const request = {
      method: 'POST',
      url: `${api.url}/api/cache/purge`,
      headers: { 'x-api-key': key },
      content,
    }
    const answer = await heldRequest(request, async () => {
      await until('the access was checked', async () => {
        const sql = 'select from api_key where id = $1 and last_used_at is not null'
        return (await api.pool.query(sql, [id])).rowCount === 1
      })
      await revokeKey(api.pool, account.id, id, nowMs)
    })
    assert.deepEqual(answer, { status: 401, body: { error: 'Invalid API key' } })
    const { rows } = await api.pool.query(
      'select from page p join domain d on d.id = p.domain_id where d.custom_domain = $1',
      [domain],
    )
    assert.equal(rows.length, 1)
  })

  it('403: a domain is not deleted by a key whose account was suspended, nor does a member change it', async () => {
    const { account, domain } = await furnished()
    const view = { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() }
    const [key] = await api.database.column<number>(
      `select id from api_key where account_id = $1 and name = 'test'`,
      account.id,
    )
    const member = await findMember(api.pool, account.id, account.email)
    await api.pool.query('update account set suspended_at = now() where id = $1', [account.id])
    await assert.rejects(deleteDomain(api.pool, account.id, domain, { key: key! }), {
      code: 'account_suspended',
    })
    for (const by of [{ key: key! }, { member, role: 'owner' as const }]) {
      await assert.rejects(updateDomain(api.pool, account.id, domain, { isActive: false, by }, view), {
        code: 'account_suspended',
      })
    }
  })

  it('a key of another account, and one that is limited to other domains, change no domain', async () => {
    const { account, domain } = await furnished()
    const other = await api.account('agency_plus')
    const second = await api.domain(account, `second-${worlds}.example.com`)
    const at = { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() }
    const make = (of: TestAccount, domains: string[] | null) =>
      createKey(api.pool, of.id, { name: 'x', expiresAt: null, domains }, at)
    const foreign = await make(other, null)
    const limited = await make(account, [second.name])
    for (const [by, code] of [
      [{ key: foreign.id }, 'invalid_api_key'],
      [{ key: limited.id }, 'domain_not_found'],
    ] as const) {
      await assert.rejects(deleteDomain(api.pool, account.id, domain, by), { code })
      await assert.rejects(updateDomain(api.pool, account.id, domain, { isActive: false, by }, at), { code })
    }
    await assert.rejects(setAddresses(api.pool, account.id, [], { key: limited.id }), {
      code: 'key_limited',
    })
    await updateDomain(api.pool, account.id, second.name, { isActive: false, by: { key: limited.id } }, at)
  })

  it('the revocation of a key waits for the change that is under way, and the next one is refused', async () => {
    const { account, domain } = await furnished()
    const at = { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() }
    const { id: key } = await createKey(api.pool, account.id, { name: 'x', expiresAt: null }, at)
    const client = await api.pool.connect()
    try {
      await client.query('begin')
      assert.equal(await rightsNow(client, account.id, { key }, 'updateDomain'), null)
      const revoking = revokeKey(api.pool, account.id, key, at.nowMs)
      await until('it waits', async () => (await waitingForLocks(api.pool)) >= 1)
      await client.query('commit')
      await revoking
    } finally {
      client.release()
    }
    await assert.rejects(deleteDomain(api.pool, account.id, domain, { key }), { code: 'invalid_api_key' })
  })
})

describe('what is recorded', async () => {
  const account = await api.account('agency_plus')
  const domain = await api.domain(account, 'recorded.example.com')

  it('of an API key names the key', async () => {
    const path = `/api/domains/${domain.name}`
    const body = { settings: { fresh_seconds: 120 } }
    const [entry, ...others] = await recordedBy(account, () =>
      api.call('PUT', path, { key: account.key, body }),
    )
    assert.deepEqual(others, [])
    assert.equal(entry?.action, 'domain.changed')
    assert.equal(entry.domain, domain.name)
    assert.equal(entry.actor.kind, 'key')
    assert.equal(entry.actor.name, 'test')
    assert.equal((entry.details['fresh_seconds'] as { new: number }).new, 120)
  })

  it('of a change of settings has no secret; rules and robots.txt have entries of their own', async () => {
    const settings = {
      origin_headers: [{ name: 'x-secret', value: 'very-secret-value', for: 'renders' }],
      rules: [{ path: '/a', action: 'pass' }],
      robots: { mode: 'replace', text: 'User-agent: *\nDisallow: /' },
    }
    const entries = await recordedBy(account, async () => {
      const answer = await api.call('PUT', `/api/domains/${domain.name}`, {
        key: account.key,
        body: { settings },
      })
      assert.equal(answer.status, 200, answer.text)
    })
    assert.deepEqual(entries.map(({ action }) => action).toSorted(), [
      'domain.changed',
      'robots.changed',
      'rules.changed',
    ])
    assert.doesNotMatch(JSON.stringify(entries), /very-secret-value/)
    assert.match(JSON.stringify(entries), /"origin_headers":"\(secret\)"/)
  })

  it('is nothing if a change is refused, or changes nothing', async () => {
    const entries = await recordedBy(account, async () => {
      await api.call('PUT', `/api/domains/${domain.name}`, { key: account.key, body: { is_active: true } })
      await api.call('PUT', `/api/domains/${domain.name}`, {
        key: account.key,
        body: { settings: { way: 7 } },
      })
      await api.call('DELETE', '/api/domains/unknown.example.com', { key: account.key })
    })
    assert.deepEqual(entries, [])
  })

  it('is a purge of the whole domain, and not that of single pages', async () => {
    const purge = (body: object) => api.post('/api/cache/purge', account.key, body)
    assert.deepEqual(
      await recordedBy(account, () => purge({ domain: domain.name })),
      [],
      'nothing was stored',
    )
    await storePages(api, domain.id, ['/a', '/b'])
    const entries = await recordedBy(account, async () => {
      await purge({ domain: domain.name, path: '/a' })
      await purge({ domain: domain.name })
    })
    assert.deepEqual(
      entries.map(({ action, domain: name }) => [action, name]),
      [['cache.purged', domain.name]],
    )
  })

  it('of an endpoint has no path, which may be its secret', async () => {
    const { pool, parts } = api
    const entries = await recordedBy(account, async () => {
      const made = await createEndpoint(pool, parts.vault, account.id, {
        url: 'https://hooks.example.com/T1/first',
      })
      await updateEndpoint(pool, account.id, made.id, { url: 'https://hooks.example.com/T1/second' })
      await updateEndpoint(pool, account.id, made.id, { url: 'https://other.example.com/T1/third' })
      await deleteEndpoint(pool, account.id, made.id)
    })
    assert.deepEqual(
      entries.map(({ action, target, details }) => [action, target, details['url']]),
      [
        ['endpoint.created', 'https://hooks.example.com/…', undefined],
        ['endpoint.changed', 'https://hooks.example.com/…', '(secret)'],
        [
          ...['endpoint.changed', 'https://other.example.com/…'],
          { old: 'https://hooks.example.com/…', new: 'https://other.example.com/…' },
        ],
        ['endpoint.deleted', 'https://other.example.com/…', undefined],
      ],
    )
  })

  it('is what the operator does to the account', async () => {
    const operator = await api.account()
    await setOperator(api.pool, (await findContact(api.pool, operator.id)).id, true)
    const cookie = await api.session(operator)
    const path = `/api/operator/accounts/${account.id}`
    const change = (body: object) => api.call('PUT', path, { cookie, body })
    const entries = await recordedBy(account, async () => {
      await change({ plan: 'enterprise' })
      await change({ plan: 'enterprise' })
      await change({ suspended: true })
      await change({ suspended: false })
      assert.equal((await api.call('POST', `${path}/reset-link`, { cookie })).status, 201)
    })
    assert.deepEqual(
      entries.map(({ action, actor }) => [action, actor.kind, actor.name]),
      [
        ['account.plan_changed', 'operator', operator.email],
        ['account.suspended', 'operator', operator.email],
        ['session.ended', 'operator', operator.email],
        ['account.restored', 'operator', operator.email],
        ['person.reset_link_created', 'operator', operator.email],
      ],
    )
    assert.equal(entries[2]?.details['reason'], 'suspended')
    assert.deepEqual([entries[2]?.target, entries[4]?.target], [account.email, account.email])
    assert.deepEqual(entries[0]?.details, { plan: { old: 'agency_plus', new: 'enterprise' } })
  })
})

describe('what a person does to the own login', async () => {
  const PASSWORD = 'correct horse battery'
  const email = 'twice@example.com'
  const first = await createAccount(api.pool, DEFAULT_PLANS, {
    email,
    plan: 'starter',
    name: 'One',
    password: PASSWORD,
  })
  const second = await createAccount(api.pool, DEFAULT_PLANS, {
    email,
    plan: 'starter',
    name: 'Two',
    password: null,
  })
  const person = await findContact(api.pool, first.id)
  const home = { 'sec-fetch-site': 'same-origin' }
  const signIn = (password: string) =>
    api.call('POST', '/api/session', { body: { email, password }, headers: home })

  const actionsOf = (account: number) =>
    api.database.column<string>(
      `select action || ' ' || actor_kind || ' ' || actor_name from audit_entry where account_id = $1 order by id`,
      account,
    )
  const since = async (account: number, act: () => Promise<unknown>) => {
    const before = (await actionsOf(account)).length
    await act()
    return (await actionsOf(account)).slice(before)
  }

  it('is recorded in each account of the person: a wrong password, a new one, the end of sessions', async () => {
    for (const { id } of [first, second]) {
      const before = (await actionsOf(id)).length
      await signIn('wrong password')
      await until('it is recorded', async () => (await actionsOf(id)).length > before)
      assert.deepEqual((await actionsOf(id)).slice(before), [`sign_in.failed person ${email}`])
    }
    const started = await startSession(api.pool, person.id, { address: '', userAgent: '' }, api.clock.nowMs())
    const cookie = `prepaint-session=${started!.token}`
    const body = { current_password: PASSWORD, new_password: `${PASSWORD} staple` }
    const change = (current = PASSWORD) =>
      api.call('PUT', '/api/password', { cookie, body: { ...body, current_password: current } })
    const wrong = () => change('another horse battery')
    assert.deepEqual(await since(second.id, wrong), [`sign_in.failed person ${email}`])
    const confirm = () => api.call('POST', '/api/session/confirm', { cookie, body: { password: 'wrong' } })
    assert.deepEqual(await since(first.id, confirm), [`sign_in.failed person ${email}`])
    assert.deepEqual(await since(second.id, change), [`person.password_changed person ${email}`])
    const everywhere = await signIn(body.new_password)
    const latest = everywhere.headers.getSetCookie()[0]!.split(';')[0]!
    const end = () => api.call('DELETE', '/api/sessions', { cookie: latest })
    assert.deepEqual(await since(second.id, end), [`session.ended person ${email}`])
  })

  it('the end of the oldest session is recorded where one more than 50 begins', async () => {
    const begin = () => startSession(api.pool, person.id, { address: '', userAgent: '' }, api.clock.nowMs())
    const ended = async () =>
      (await actionsOf(second.id)).filter((action) => /^session\.ended system/.test(action))
    const rows = await api.database.column('select id from session where person_id = $1', person.id)
    for (let count = rows.length; count < SESSION_LIMIT; count++) await begin()
    assert.deepEqual(await ended(), [])
    await begin()
    assert.deepEqual(await ended(), ['session.ended system system'])
  })

  it('a session is recorded once in each account that it enters', async () => {
    const started = await startSession(api.pool, person.id, { address: '', userAgent: '' }, api.clock.nowMs())
    const cookie = `prepaint-session=${started!.token}`
    const ask = (account: number) =>
      api.call('GET', '/api/plan', { cookie, headers: { 'x-prepaint-account': String(account) } })
    const both = async () => {
      await Promise.all([ask(second.id), ask(second.id)])
      await ask(second.id)
    }
    assert.deepEqual(await since(second.id, both), [`sign_in.succeeded person ${email}`])
  })
})

describe('GET /api/audit', async () => {
  const account = await api.account('agency_plus')
  await api.domain(account, 'listed.example.com')
  await createToken(api.pool, account.id, 'listed.example.com' as never, '=cmd()', DEFAULT_PLANS)

  it('lists in parts, newest first, with no gap and nothing twice', async () => {
    const cookie = await api.session(account)
    const all = await entriesOf(account)
    const seen: number[] = []
    let after = ''
    for (let part = 0; part < 20; part++) {
      const { body } = await api.call('GET', `/api/audit?limit=2${after}`, { cookie })
      seen.push(...(body['entries'] as AuditEntryView[]).map(({ id }) => id))
      if (body['next'] === null) break
      after = `&after=${body['next']}`
    }
    assert.deepEqual(
      seen.filter((id) => id <= all[0]!.id),
      all.map(({ id }) => id),
    )
  })

  it('filters by action, group, actor, domain and time', async () => {
    const actions = async (query: string) => (await entriesOf(account, query)).map(({ action }) => action)
    assert.deepEqual(await actions('?action=token.*'), ['token.created'])
    assert.deepEqual(await actions('?action=domain.added'), ['domain.added'])
    assert.deepEqual(await actions('?domain=listed.example.com'), ['token.created', 'domain.added'])
    assert.deepEqual(await actions('?actor=nobody@example.com'), [])
    assert.deepEqual(await actions('?to=2000-01-01T00:00:00Z'), [])
  })

  it('400 for an unknown action, a bad time, limit, place or format', async () => {
    const cookie = await api.session(account)
    for (const query of [
      'action=domain',
      'from=yesterday',
      'limit=0',
      'limit=201',
      'after=x',
      'format=xml',
    ]) {
      const answer = await api.call('GET', `/api/audit?${query}`, { cookie })
      assert.equal(answer.status, 400, query)
      assert.match(String(answer.body['error']), new RegExp(`^${query.split('=')[0]} must be `))
    }
  })

  it('exports all entries as CSV with formulas defused and as lines of JSON, and records the export', async () => {
    const cookie = await api.session(account)
    const csv = await api.call('GET', '/api/audit?format=csv', { cookie })
    assert.match(csv.headers.get('content-type') ?? '', /^text\/csv/)
    const [names, ...rows] = csv.text.trimEnd().split('\r\n')
    assert.equal(
      names,
      'id,at,actor_kind,actor,way,address,user_agent,action,domain,target,details,request_id',
    )
    assert.match(csv.text, /,'=cmd\(\),/)
    assert(rows.length >= 3)
    const lines = await api.call('GET', '/api/audit?format=jsonl&action=token.*', { cookie })
    assert.match(lines.headers.get('content-type') ?? '', /^application\/x-ndjson/)
    const exported = lines.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as AuditEntryView)
    assert.deepEqual(exported, await entriesOf(account, '?action=token.*'))
    const recorded = await entriesOf(account, '?action=audit.exported')
    assert.deepEqual(
      recorded.map(({ details }) => details['format']),
      ['jsonl', 'csv'],
    )
  })

  it('another account learns nothing of it, whatever it asks for', async () => {
    const stranger = await api.account('agency_plus')
    const cookie = await api.session(stranger)
    for (const query of [
      '',
      '?domain=listed.example.com',
      `?actor=${account.email}`,
      '?format=jsonl',
      '?format=csv',
    ]) {
      const { text } = await api.call('GET', `/api/audit${query}`, { cookie })
      assert.doesNotMatch(text.replaceAll('domain":"listed.example.com"}', ''), /cmd|"token.created"/)
    }
    const headers = { 'x-prepaint-account': String(account.id) }
    assertAnswer(await api.call('GET', '/api/audit', { cookie, headers }), 404, 'Account not found')
    assertAnswer(await api.call('GET', '/api/audit', { key: account.key }), 401, 'Sign in first')
  })

  it('no route changes it', () => {
    const routes = api.contract.operations.filter(({ url }) => url.startsWith('/api/audit'))
    assert.deepEqual(
      routes.map(({ method }) => method),
      ['GET'],
    )
  })
})

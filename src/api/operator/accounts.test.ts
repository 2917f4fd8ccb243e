import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startTestApi, type TestAccount, type TestApi } from '../../../test/support/api.ts'
import { findAccount, setPlan, setRole } from '../../accounts/accounts.ts'
import { createToken } from '../../accounts/keys.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { setPassword } from '../../accounts/sign-in/passwords.ts'
import { domainByHost } from '../../sites/domains.ts'

let api: TestApi
let owner: TestAccount
let boss: TestAccount
let cookie: string
before(async () => {
  api = await startTestApi()
  owner = await api.account('agency')
  await setPlan(api.pool, DEFAULT_PLANS, owner.id, 'pro')
  boss = await api.account('enterprise')
  await setRole(api.pool, boss.id, 'operator')
  cookie = await api.session(boss)
})
after(() => api.close())

const headers = { 'sec-fetch-site': 'same-origin' }

// Proves decided "Operators"
it('every route for operators refuses owners, keys, and whoever is not signed in', async () => {
  const routes = api.contract.operations.filter(({ url }) => url.startsWith('/api/operator/'))
  assert(routes.length >= 4)
  const session = await api.session(owner)
  for (const { method, url } of routes) {
    const path = url.replace('{id}', String(owner.id))
    const body = method === 'GET' ? undefined : { email: 'x@example.com', plan: 'pro' }
    const asOwner = await api.call(method, path, { cookie: session, body })
    assert.deepEqual([asOwner.status, asOwner.body], [403, { error: 'Only operators may do this' }], path)
    for (const request of [{ headers }, { key: boss.key }]) {
      const { status } = await api.call(method, path, { ...request, body })
      assert.equal(status, 401, path)
    }
  }
  assert.equal((await findAccount(api.pool, owner.email)).plan, 'pro')
})

describe('accounts', () => {
  it('200: all of them, with what they use', async () => {
    const domain = await api.domain(owner, 'one.example.com')
    await api.pool.query(`insert into render_count values ($1, '2026-11-01', 7), ($1, '2026-10-01', 100)`, [
      domain.id,
    ])
    const { body } = await api.call('GET', '/api/operator/accounts', { cookie })
    assert.deepEqual(body['plans'], ['starter', 'pro', 'agency', 'agency_plus', 'enterprise'])
    const listed = (body['accounts'] as Record<string, unknown>[]).map(
      ({ email, plan, role, can_sign_in, suspended, domains, renders_used }) => ({
        email,
        plan,
        role,
        can_sign_in,
        suspended,
        domains,
        renders_used,
      }),
    )
    assert.deepEqual(listed, [
      {
        email: owner.email,
        plan: 'pro',
        role: 'owner',
        can_sign_in: false,
        suspended: false,
        domains: 1,
        renders_used: 7,
      },
      {
        email: boss.email,
        plan: 'enterprise',
        role: 'operator',
        can_sign_in: false,
        suspended: false,
        domains: 0,
        renders_used: 0,
      },
    ])
  })

  it('200: another plan and role; what is not named stays', async () => {
    const put = (body: object, id: string | number = owner.id) =>
      api.call('PUT', `/api/operator/accounts/${id}`, { cookie, body })
    assert.equal(((await put({ plan: 'agency' })).body['account'] as { plan: string }).plan, 'agency')
    const { body } = await put({ role: 'operator' })
    assert.deepEqual(
      [(body['account'] as { plan: string }).plan, (body['account'] as { role: string }).role],
      ['agency', 'operator'],
    )
    await put({ plan: 'pro', role: 'owner' })
    assert.equal((await put({ plan: 'gold' })).status, 400)
    assert.equal((await put({ role: 'king' })).status, 400)
    assert.equal((await put({ plan: 'pro' }, 99_999)).status, 404)
    assert.equal((await put({ plan: 'pro' }, 'x')).status, 404)
    assert.deepEqual((await put({ role: 'owner' }, boss.id)).body, {
      error: 'You cannot change your own role',
    })
  })

  it('201: an invitation by which somebody makes his account', async () => {
    const invite = (body: object) => api.call('POST', '/api/operator/invitations', { cookie, body })
    const { status, body } = await invite({ email: 'guest@example.com', plan: 'pro' })
    assert.equal(status, 201)
    const { url, token } = body['link'] as { url: string; token: string }
    assert.equal(url, `${api.url}/welcome#${token}`)
    const used = await api.call('POST', '/api/links/use', {
      headers,
      body: { token, password: 'correct horse' },
    })
    assert.equal((used.body['account'] as { email: string }).email, 'guest@example.com')
    assert.equal((await invite({ email: 'guest@example.com', plan: 'pro' })).status, 409)
    assert.equal((await invite({ email: 'nobody', plan: 'pro' })).status, 400)
    assert.equal((await invite({ email: 'g2@example.com', plan: 'gold' })).status, 400)
  })

  it('201: a link to a new password', async () => {
    const path = `/api/operator/accounts/${owner.id}/reset-link`
    const { body } = await api.call('POST', path, { cookie })
    const { token } = body['link'] as { token: string }
    const used = await api.call('POST', '/api/links/use', {
      headers,
      body: { token, password: 'correct horse' },
    })
    assert.equal((used.body['account'] as { email: string }).email, owner.email)
    assert.equal((await api.call('POST', '/api/operator/accounts/99999/reset-link', { cookie })).status, 404)
  })

  // Proves decided "Suspended account"
  it('200: a suspended account is shut to everybody, and its sites pass; afterwards all is as before', async () => {
    const tenant = await api.account('agency_plus')
    await setPassword(api.pool, tenant.id, 'correct horse')
    const { id, name } = await api.domain(tenant, 'suspended.example.com')
    const { token } = await createToken(api.pool, tenant.id, name, 'cms', DEFAULT_PLANS)
    const suspend = (suspended: boolean, account = tenant.id) =>
      api.call('PUT', `/api/operator/accounts/${account}`, { cookie, body: { suspended } })
    const session = await api.session(tenant)
    const signIn = () =>
      api.call('POST', '/api/session', { headers, body: { email: tenant.email, password: 'correct horse' } })
    const webhook = () => api.call('POST', '/api/webhook/refresh', { token, body: { urls: ['/'] } })
    const isActive = async () => (await domainByHost(api.pool, name))?.is_active
    await api.post('/api/cache/refresh', tenant.key, { domain: name, paths: ['/waits'] })

    assert.equal((await suspend(true)).status, 200)
    assert.equal((await suspend(true)).status, 200)
    const refused = { error: 'This account is suspended: ask the operator' }
    for (const { status, body } of [
      await api.get('/api/domains', tenant.key),
      await signIn(),
      await webhook(),
    ]) {
      assert.deepEqual([status, body], [403, refused])
    }
    assert.equal((await api.call('GET', '/api/domains', { cookie: session })).status, 401)
    const { status, body } = await api.call('POST', '/api/session', {
      headers,
      body: { email: tenant.email, password: 'wrong horse' },
    })
    assert.deepEqual([status, body], [401, { error: 'Wrong e-mail or password' }])
    assert.equal(await isActive(), false)
    const { rows } = await api.pool.query('select state from job where domain_id = $1', [id])
    assert.deepEqual(rows, [{ state: 'cancelled' }])
    const listed = (await api.call('GET', '/api/operator/accounts', { cookie })).body['accounts'] as {
      id: number
      suspended: boolean
    }[]
    assert.deepEqual(
      listed.filter(({ suspended }) => suspended).map((account) => account.id),
      [tenant.id],
    )

    assert.equal((await suspend(false)).status, 200)
    assert.equal((await api.get('/api/domains', tenant.key)).status, 200)
    assert.equal((await signIn()).status, 200)
    assert.equal((await webhook()).status, 200)
    assert.equal(await isActive(), true)
    assert.deepEqual((await suspend(true, boss.id)).body, { error: 'You cannot suspend your own account' })
    assert.equal((await suspend(true, 99_999 as never)).status, 404)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { findAccountById } from '@prepaint/service/accounts/accounts.ts'
import { createToken } from '@prepaint/service/accounts/keys.ts'
import { findContact, setOperator } from '@prepaint/service/accounts/persons.ts'
import { setPassword } from '@prepaint/service/accounts/sign-in/passwords.ts'
import { startSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { domainByHost } from '@prepaint/service/sites/domains.ts'
import { assertAnswer, openApi, storePages, valuesOf } from '../../../../test/support/api.ts'

const PASSWORD = 'correct horse'
const api = await openApi()
const owner = await api.account('agency')
const domain = await api.domain(owner, 'one.example.com')
const boss = await api.account('enterprise')
const bossPerson = await findContact(api.pool, boss.id)
await setOperator(api.pool, bossPerson.id, true)
const cookie = await api.session(boss)

const headers = { 'sec-fetch-site': 'same-origin' }
const routes = api.contract.operations.filter(({ url }) => url.startsWith('/api/operator/'))
const call = (method: string, path: string, body?: object) =>
  api.call(method, `/api/operator/${path}`, { cookie, body })
const get = async (path: string) => (await call('GET', path)).body
const inDomain = (sql: string, ...values: unknown[]) => api.pool.query(sql, [domain.id, ...values])
const useLink = (link: unknown) =>
  api.call('POST', '/api/links/use', {
    headers,
    body: { token: (link as { token: string }).token, password: PASSWORD },
  })

// Proves decided "Operators"
it('every route for operators refuses owners, keys, and whoever is not signed in', async () => {
  assert(routes.length >= 4)
  const session = await api.session(owner)
  for (const { method, url } of routes) {
    const path = url.replace('{id}', String(owner.id))
    const body = method === 'GET' ? undefined : { email: 'x@example.com', plan: 'pro', is_operator: true }
    assertAnswer(await api.call(method, path, { cookie: session, body }), 403, 'Only operators may do this')
    for (const request of [{ headers }, { key: boss.key }]) {
      assert.equal((await api.call(method, path, { ...request, body })).status, 401, path)
    }
  }
  assert.equal((await findAccountById(api.pool, owner.id)).plan, 'agency')
  assert.equal((await findContact(api.pool, owner.id)).is_operator, false)
})

describe('accounts', () => {
  it('200: all of them, with what they use', async () => {
    await inDomain(`insert into render_count values ($1, '2026-11-01', 7), ($1, '2026-10-01', 100)`)
    const { accounts } = await get('accounts')
    const same = { can_sign_in: false, suspended: false, members: 1 }
    assert.equal(valuesOf(accounts, 'email').length, 2)
    assert.partialDeepStrictEqual(accounts, [
      { ...same, email: owner.email, name: owner.email, plan: 'agency', domains: 1, renders_used: 7 },
      { ...same, email: boss.email, plan: 'enterprise', domains: 0, renders_used: 0 },
    ])
  })

  it('200: another plan; what is not named stays', async () => {
    const put = (body: object, id: string | number = owner.id) => call('PUT', `accounts/${id}`, body)
    const changed = (await put({ plan: 'pro' })).body['account']
    assert.partialDeepStrictEqual(changed, { plan: 'pro', name: owner.email })
    assert.equal((await put({ plan: 'agency' })).status, 200)
    assert.equal((await put({ plan: 'gold' })).status, 400)
    for (const id of [99_999, 'x']) assert.equal((await put({ plan: 'pro' }, id)).status, 404)
  })

  it('persons: listed, and made operators and none by others than themselves', async () => {
    const { persons } = await get('persons')
    assert.deepEqual(valuesOf(persons, 'email'), [owner.email, boss.email])
    assert.deepEqual(valuesOf(persons, 'is_operator'), [false, true])
    const { id } = await findContact(api.pool, owner.id)
    const put = (is_operator: unknown, person: string | number = id) =>
      call('PUT', `persons/${person}`, { is_operator })
    assert.deepEqual(valuesOf([(await put(true)).body['person']], 'is_operator'), [true])
    assert.deepEqual(valuesOf([(await put(false)).body['person']], 'is_operator'), [false])
    assert.equal((await put('yes')).status, 400)
    for (const none of [99_999, 'x']) assertAnswer(await put(true, none), 404, 'Person not found')
    assertAnswer(await put(false, bossPerson.id), 403, 'You cannot change your own role')
  })

  it('invitations to accounts: listed while they wait, sent again with another link, revoked', async () => {
    const made = await call('POST', 'invitations', {
      email: 'late@example.com',
      plan: 'pro',
      name: 'Late Ltd',
    })
    const { id } = made.body['invitation'] as { id: number }
    assert.partialDeepStrictEqual((await get('invitations'))['invitations'], [
      {
        id,
        email: 'late@example.com',
        name: 'Late Ltd',
        role: 'owner',
        state: 'waiting',
        invited_by: boss.email,
      },
    ])
    const again = await call('POST', `invitations/${id}/resend`)
    assert.equal(again.status, 200)
    assert.equal((await useLink(made.body['link'])).status, 404, 'the link before has ended')
    const gone = await call('DELETE', `invitations/${id}`)
    assertAnswer(gone, 200, { deleted: { id, email: 'late@example.com' } })
    assert.equal((await useLink(again.body['link'])).status, 404)
    assert.deepEqual(await get('invitations'), { invitations: [] })
    assertAnswer(await call('DELETE', `invitations/${id}`), 404, 'Invitation not found')
    assertAnswer(await call('POST', `invitations/${id}/resend`), 404, 'Invitation not found')
  })

  it('201: an invitation by which somebody makes his account, and a link to a new password', async () => {
    const invite = (email: string, plan = 'pro') => call('POST', 'invitations', { email, plan })
    const { status, body } = await invite('guest@example.com')
    assert.equal(status, 201)
    const { url, token } = body['link'] as { url: string; token: string }
    assert.equal(url, `${api.url}/welcome#${token}`)
    const used = await useLink(body['link'])
    assert.deepEqual(valuesOf([used.body['account']], 'email'), ['guest@example.com'])
    assert.equal((await invite('guest@example.com')).status, 409)
    const second = await call('POST', 'invitations', {
      email: 'guest@example.com',
      plan: 'pro',
      name: 'Second',
    })
    const entered = await useLink(second.body['link'])
    assert.deepEqual(
      valuesOf([entered.body['account']], 'name'),
      ['Second'],
      'the person has two accounts now',
    )
    assert.equal((await invite('nobody')).status, 400)
    assert.equal((await invite('g2@example.com', 'gold')).status, 400)

    const reset = await call('POST', `accounts/${owner.id}/reset-link`)
    assert.deepEqual(valuesOf([(await useLink(reset.body['link'])).body['account']], 'email'), [owner.email])
    assert.equal((await call('POST', 'accounts/99999/reset-link')).status, 404)
  })

  // Proves decided "Suspended account"
  it('200: a suspended account is shut to everybody, and its sites pass; afterwards all is as before', async () => {
    const tenant = await api.account('agency_plus')
    await setPassword(api.pool, (await findContact(api.pool, tenant.id)).id, PASSWORD)
    const { name } = await api.domain(tenant, 'suspended.example.com')
    const { token } = await createToken(api.pool, tenant.id, name, 'cms', DEFAULT_PLANS)
    const suspend = (suspended: boolean, account: number = tenant.id) =>
      call('PUT', `accounts/${account}`, { suspended })
    const session = await api.session(tenant)
    const body = { email: tenant.email, password: PASSWORD }
    const everyWay = async () => [
      await api.get('/api/domains', tenant.key),
      await api.call('POST', '/api/session', { headers, body }),
      await api.call('POST', '/api/webhook/refresh', { token, body: { urls: ['/'] } }),
    ]
    const isActive = async () => (await domainByHost(api.pool, name, () => []))?.isActive

    for (let times = 0; times < 2; times++) assert.equal((await suspend(true)).status, 200)
    for (const answer of await everyWay()) {
      assertAnswer(answer, 403, 'This account is suspended: ask the operator')
    }
    assert.equal((await api.call('GET', '/api/domains', { cookie: session })).status, 401)
    assert.equal(await isActive(), false)
    const listed = (await get('accounts'))['accounts'] as { id: number; suspended: boolean }[]
    assert.deepEqual(listed.find(({ suspended }) => suspended)?.id, tenant.id)

    assert.equal((await suspend(false)).status, 200)
    for (const { status } of await everyWay()) assert.equal(status, 200)
    assert.equal(await isActive(), true)
    assertAnswer(await suspend(true, boss.id), 403, 'You cannot suspend your own account')
    assert.equal((await suspend(true, 99_999)).status, 404)
    await api.pool.query('truncate job, job_ended, unstored_page')
  })
})

const job = async (path: string, priority: number, state: string, age: number) => {
  const [id] = await api.database.column<string>(
    `insert into job (domain_id, account_id, path, priority, turn, state, created_at, started_at, node, attempts)
       select id, account_id, $2, $3, 1, $4, now() - make_interval(secs => $5), now() - make_interval(secs => $5), 'node-1', 1
         from domain where id = $1 returning id`,
    ...[domain.id, path, priority, state, age],
  )
  return id!
}

it('GET /api/operator/queue: 200: depth and age, what runs where, who waits longest; of addresses no query; a job can be cancelled', async () => {
  const empty = ['live', 'refresh', 'warm'].map((priority) => ({ priority, queued: 0, oldest_seconds: 0 }))
  const found = await get('queue')
  assert.deepEqual([found['priorities'], found['running'], found['waiting']], [empty, [], []])

  const runs = await job('/a?token=secret', 1, 'running', 30)
  const waits = await job('/b?token=secret', 1, 'queued', 600)
  await job('/c', 2, 'queued', 10)
  const { priorities, running, waiting } = await get('queue')
  assert.deepEqual(valuesOf(priorities, 'queued'), [0, 1, 1])
  const [, oldest] = valuesOf(priorities, 'oldest_seconds') as number[]
  assert(oldest! >= 600 && oldest! < 660)
  assert.partialDeepStrictEqual(running, [{ jobId: runs, path: '/a?…', node: 'node-1' }])
  assert(Number(valuesOf(running, 'running_seconds')[0]) >= 30)
  const variant = async () => ((await get('queue'))['running'] as { variant: string | null }[])[0]!.variant
  assert.equal(await variant(), 'desktop')
  await api.pool.query(`update job set is_both = true where state = 'running'`)
  assert.equal(await variant(), null, 'a job of several')
  assert.partialDeepStrictEqual(waiting, [{ domain: domain.name, queued: 2, priority: 'refresh' }])
  assert(Number(valuesOf(waiting, 'waiting_seconds')[0]) >= 600)

  const cancel = async (id: string) => (await call('DELETE', `jobs/${id}`)).status
  assert.equal(await cancel(waits), 204)
  const { body } = await api.get(`/api/jobs/${waits}`, owner.key)
  assert.deepEqual([body['state'], body['outcome']], ['cancelled', 'cancelled'])
  assert.equal(await cancel(runs), 204)
  for (const id of [waits, '00000000-0000-4000-8000-000000000000', 'x']) assert.equal(await cancel(id), 404)
  assert.deepEqual((await get('queue'))['running'], [])
})

it('GET /api/operator/queue: 200: background tasks by kind: due, under way, failed, and how long the oldest waits', async () => {
  await api.pool.query('truncate task')
  assert.deepEqual((await get('queue'))['tasks'], [])
  await api.pool.query(
    `insert into task (kind, key, due_at, failures, lease, lease_until) values
       ('indexnow', '1', now() - interval '10 minutes', 0, null, null),
       ('indexnow', '2', now() - interval '1 minute', 2, null, null),
       ('indexnow', '3', now() + interval '1 hour', 1, null, null),
       ('retention', 'jobs', now() - interval '1 hour', 0, gen_random_uuid(), now() + interval '1 minute')`,
  )
  const kinds = (await get('queue'))['tasks'] as { kind: string; oldest_seconds: number }[]
  const [{ oldest_seconds: oldest, ...indexnow }, retention] = kinds as [(typeof kinds)[0], (typeof kinds)[0]]
  assert.deepEqual(indexnow, { kind: 'indexnow', waiting: 2, running: 0, failing: 2 })
  assert(oldest >= 600 && oldest < 660, `${oldest}`)
  assert.deepEqual(retention, { kind: 'retention', waiting: 0, running: 1, failing: 0, oldest_seconds: 0 })
  await api.pool.query('truncate task')
})

it('GET /api/operator/failures: by outcome and domain, and the last ones, without what is secret in them', async () => {
  assert.deepEqual(await get('failures'), { since: null, renders: 0, failed: 0, groups: [], last: [] })
  for (const [outcome, path, detail, age] of [
    ['rendered', '/good', null, 60],
    ['timed-out', '/slow?session=secret', 'still at /x?key=secret', 120],
    ['timed-out', '/slow', `long ${'x'.repeat(500)}`, 180],
    ['blank', '/empty', null, 240],
  ]) {
    await inDomain(
      `insert into render_record (domain_id, path, job_id, outcome, detail, queued_ms, stored_ms, record, ended_at)
       values ($1, $2, gen_random_uuid(), $3, $4, 0, 0, '{"html":"page content"}', now() - make_interval(secs => $5))`,
      ...[path, outcome, detail, age],
    )
  }
  const found = await get('failures')
  const of = { domain: 'one.example.com', account: owner.email }
  assert.partialDeepStrictEqual(found, {
    ...{ renders: 4, failed: 3 },
    groups: [
      { outcome: 'timed-out', failed: 2, ...of },
      { outcome: 'blank', failed: 1, ...of },
    ],
  })
  assert.deepEqual(valuesOf(found['last'], 'path'), ['/slow?…', '/slow', '/empty'])
  const [first, second] = valuesOf(found['last'], 'reason') as string[]
  assert.deepEqual([first, second?.length], ['still at /x?…', 200])
})

// Proves decided "Operators"
it('no route for operators gives what a page holds, nor a secret of an account: nobody is signed in as somebody else', async () => {
  const canary = 'canary-7f3a9c'
  await storePages(api, domain.id, [`/${canary}`])
  const inAccount = (sql: string) => api.pool.query(sql, [owner.id, canary])
  await inDomain(
    'update page set headers = $2, body_br = $3, etag = $4 where domain_id = $1',
    ...[{ 'x-canary': canary }, Buffer.from(canary), canary],
  )
  await inDomain('update domain set settings = settings || $2 where id = $1', {
    render: { user_agent: canary },
  })
  await inDomain(
    `insert into render_record (domain_id, path, job_id, outcome, detail, queued_ms, stored_ms, record)
     values ($1, $2, gen_random_uuid(), 'blank', $2, 0, 0, $3)`,
    ...[`/x?${canary}`, { consoleErrors: { texts: [canary] } }],
  )
  await inAccount(
    'update person set password_hash = $2 where id = (select person_id from member where account_id = $1)',
  )
  await inAccount('update api_key set name = $2, hint = $2 where account_id = $1')
  const { id: person } = await findContact(api.pool, owner.id)
  await startSession(api.pool, person, { address: '', userAgent: canary }, api.clock.nowMs())

  const read = routes.filter(({ url, method }) => method === 'GET' && url !== '/api/operator/events')
  assert(read.length >= 4)
  for (const { url } of read) {
    const { status, text } = await api.call('GET', url, { cookie })
    assert.equal(status, 200, url)
    assert(!text.includes(canary), `${url} gives ${text}`)
  }
  // With the operator's own session, what is an account's is not there at all.
  for (const path of [`/api/domains/${domain.name}`, `/api/domains/${domain.name}/renders`]) {
    assert.equal((await api.call('GET', path, { cookie })).status, 404)
  }
})

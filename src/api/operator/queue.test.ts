import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startTestApi, storePages, type TestAccount, type TestApi } from '../../../test/support/api.ts'
import { setRole } from '../../accounts/accounts.ts'
import type { DomainId, DomainName } from '../../ids.ts'

let api: TestApi
let owner: TestAccount
let domain: { id: DomainId; name: DomainName }
let cookie: string
before(async () => {
  api = await startTestApi()
  owner = await api.account()
  domain = await api.domain(owner, 'one.example.com')
  const boss = await api.account()
  await setRole(api.pool, boss.id, 'operator')
  cookie = await api.session(boss)
})
after(() => api.close())

async function job(path: string, priority: number, fields: { state: string; age: number; node?: string }) {
  const { rows } = await api.pool.query<{ id: string }>(
    `insert into job (domain_id, account_id, path, priority, turn, state, created_at, started_at, node, attempts)
     values ($1, (select account_id from domain where id = $1), $2, $3, 1, $4, now() - make_interval(secs => $5), now() - make_interval(secs => $5), $6, 1)
     returning id`,
    [domain.id, path, priority, fields.state, fields.age, fields.node ?? null],
  )
  return rows[0]!.id
}

const get = async (path: string) => (await api.call('GET', `/api/operator/${path}`, { cookie })).body

describe('GET /api/operator/queue', () => {
  it('200: an empty queue', async () => {
    const { priorities, running, waiting } = await get('queue')
    assert.deepEqual(
      priorities,
      ['live', 'refresh', 'warm'].map((priority) => ({ priority, queued: 0, oldest_seconds: 0 })),
    )
    assert.deepEqual([running, waiting], [[], []])
  })

  it('200: depth and age, what runs where, who waits longest; of addresses no query; a job can be cancelled', async () => {
    const runs = await job('/a?token=secret', 1, { state: 'running', age: 30, node: 'node-1' })
    const waits = await job('/b?token=secret', 1, { state: 'queued', age: 600 })
    await job('/c', 2, { state: 'queued', age: 10 })
    const { priorities, running, waiting } = (await get('queue')) as {
      priorities: { priority: string; queued: number; oldest_seconds: number }[]
      running: { jobId: string; path: string; node: string; running_seconds: number }[]
      waiting: { domain: string; queued: number; waiting_seconds: number; priority: string }[]
    }
    assert.deepEqual(
      priorities.map(({ priority, queued }) => [priority, queued]),
      [
        ['live', 0],
        ['refresh', 1],
        ['warm', 1],
      ],
    )
    assert(priorities[1]!.oldest_seconds >= 600 && priorities[1]!.oldest_seconds < 660)
    assert.deepEqual(
      running.map(({ jobId, path, node }) => [jobId, path, node]),
      [[runs, '/a?…', 'node-1']],
    )
    assert(running[0]!.running_seconds >= 30)
    assert.deepEqual(
      waiting.map(({ domain: name, queued, priority }) => [name, queued, priority]),
      [['one.example.com', 2, 'refresh']],
    )
    assert(waiting[0]!.waiting_seconds >= 600)

    const cancel = (id: string) => api.call('DELETE', `/api/operator/jobs/${id}`, { cookie })
    assert.equal((await cancel(waits)).status, 204)
    const { body } = await api.get(`/api/jobs/${waits}`, owner.key)
    assert.deepEqual([body['state'], body['outcome']], ['cancelled', 'cancelled'])
    assert.equal((await cancel(runs)).status, 204)
    for (const id of [waits, '00000000-0000-4000-8000-000000000000', 'x']) {
      assert.equal((await cancel(id)).status, 404)
    }
    assert.deepEqual((await get('queue'))['running'], [])
  })
})

describe('GET /api/operator/failures', () => {
  it('200: nothing was rendered', async () => {
    assert.deepEqual(await get('failures'), { since: null, renders: 0, failed: 0, groups: [], last: [] })
  })

  it('200: by outcome and domain, and the last ones, without what is secret in them', async () => {
    const record = async (outcome: string, path: string, detail: string | null, age: number) =>
      api.pool.query(
        `insert into render_record (domain_id, path, job_id, outcome, detail, queued_ms, stored_ms, record, ended_at)
         values ($1, $2, gen_random_uuid(), $3, $4, 0, 0, '{"html":"page content"}', now() - make_interval(secs => $5))`,
        [domain.id, path, outcome, detail, age],
      )
    await record('rendered', '/good', null, 60)
    await record('timed-out', '/slow?session=secret', 'still at /x?key=secret', 120)
    await record('timed-out', '/slow', `long ${'x'.repeat(500)}`, 180)
    await record('blank', '/empty', null, 240)
    const { renders, failed, groups, last } = (await get('failures')) as {
      renders: number
      failed: number
      groups: Record<string, unknown>[]
      last: { outcome: string; reason: string | null; path: string }[]
    }
    assert.deepEqual([renders, failed], [4, 3])
    assert.deepEqual(
      groups.map(({ outcome, domain: name, account, failed: count }) => [outcome, name, account, count]),
      [
        ['timed-out', 'one.example.com', owner.email, 2],
        ['blank', 'one.example.com', owner.email, 1],
      ],
    )
    assert.deepEqual(
      last.map(({ outcome, path }) => [outcome, path]),
      [
        ['timed-out', '/slow?…'],
        ['timed-out', '/slow'],
        ['blank', '/empty'],
      ],
    )
    assert.deepEqual([last[0]!.reason, last[1]!.reason?.length], ['still at /x?…', 200])
  })
})

// Proves decided "Operators"
it('no route for operators gives what a page holds, nor a secret of an account: nobody is signed in as somebody else', async () => {
  const canary = 'canary-7f3a9c'
  await storePages(api, domain.id, [`/${canary}`])
  await api.pool.query(`update page set headers = $1, body_br = $2, etag = $3 where domain_id = $4`, [
    JSON.stringify({ 'x-canary': canary }),
    Buffer.from(canary),
    canary,
    domain.id,
  ])
  await api.pool.query(`update domain set settings = settings || $1 where id = $2`, [
    JSON.stringify({ render: { user_agent: canary } }),
    domain.id,
  ])
  await api.pool.query(
    `insert into render_record (domain_id, path, job_id, outcome, detail, queued_ms, stored_ms, record)
     values ($1, $2, gen_random_uuid(), 'blank', $3, 0, 0, $4)`,
    [domain.id, `/x?${canary}`, `/x?${canary}`, JSON.stringify({ consoleErrors: { texts: [canary] } })],
  )
  await api.pool.query(
    `insert into job (domain_id, account_id, path, priority, turn, state, started_at, node)
     select id, account_id, $2, 0, 0, 'running', now(), 'n' from domain where id = $1`,
    [domain.id, `/x?${canary}`],
  )
  await api.pool.query('update account set password_hash = $2 where id = $1', [owner.id, canary])
  await api.pool.query(
    `insert into sign_in_session (account_id, token_hash, address, user_agent, created_at, used_at, expires_at)
     values ($1, convert_to($2, 'UTF8'), '', $2, now(), now(), now() + interval '1 day')`,
    [owner.id, canary],
  )
  await api.pool.query('update api_key set name = $1, hint = $1 where account_id = $2', [canary, owner.id])

  const routes = api.contract.operations.filter(
    ({ url, method }) =>
      url.startsWith('/api/operator/') && method === 'GET' && url !== '/api/operator/events',
  )
  assert(routes.length >= 4)
  for (const { url } of routes) {
    const { status, text } = await api.call('GET', url, { cookie })
    assert.equal(status, 200, url)
    assert(!text.includes(canary), `${url} gives ${text}`)
  }
  // With the operator's own session, what is an account's is not there at all.
  for (const path of [`/api/domains/${domain.name}`, `/api/domains/${domain.name}/renders`]) {
    assert.equal((await api.call('GET', path, { cookie })).status, 404)
  }
  // A link for a new password is given to the operator; it lets nobody in before its owner is told by a changed password.
  const { rows } = await api.pool.query(
    'select count(*)::int as n from sign_in_session where account_id = $1',
    [owner.id],
  )
  assert.deepEqual(rows, [{ n: 1 }])
})

import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { startTestApi, storePages, type TestAccount, type TestApi } from '../../../test/support/api.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { updateDomain } from '../../sites/domain-changes.ts'

let api: TestApi
let owner: TestAccount
before(async () => {
  api = await startTestApi()
})
after(() => api.close())
beforeEach(async () => {
  await api.pool.query('truncate account cascade')
  owner = await api.account()
})

const refreshAll = (body?: unknown, key = owner.key) => api.post('/api/cache/refresh-all', key, body)
type Job = { domain: string; path: string; jobId: string }

describe('POST /api/cache/refresh-all', () => {
  // Proves interface 2/15, interface 4.2/5, interface 4.2/14, interface 4.2/16
  it('200: without a body, `/` of every domain of the caller and of nobody else', async () => {
    const other = await api.account()
    for (const name of ['b.example.com', 'a.example.com']) {
      await storePages(api, (await api.domain(owner, name)).id, ['/', '/kept'])
    }
    const strangers = await api.domain(other, 'c.example.com')
    await storePages(api, strangers.id, ['/'])

    const { status, body } = await refreshAll()
    assert.equal(status, 200)
    const jobs = body['jobs'] as Job[]
    assert.deepEqual(
      { ...body, jobs: jobs.map(({ domain, path }) => `${domain}${path}`) },
      {
        message: 'Queued 2 pages of 2 domains for refresh',
        totalDomains: 2,
        totalJobs: 2,
        jobs: ['b.example.com/', 'a.example.com/'],
      },
    )
    for (const { jobId } of jobs) assert.equal((await api.get(`/api/jobs/${jobId}`, owner.key)).status, 200)
    const { rows } = await api.pool.query(
      'select custom_domain, path from page join domain d on d.id = domain_id order by 1, 2',
    )
    assert.deepEqual(
      rows.map(({ custom_domain, path }) => custom_domain + path),
      ['a.example.com/kept', 'b.example.com/kept', 'c.example.com/'],
    )
  })

  it("200: the given paths of each domain, by each domain's own query rule", async () => {
    await api.domain(owner, 'keep.example.com')
    const ignore = await api.domain(owner, 'ignore.example.com')
    const view = { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() }
    await updateDomain(api.pool, owner.id, ignore.name, { settings: { query: 'ignore' } }, view)
    const { body } = await refreshAll({ paths: ['/a?x=1', '/a'] })
    assert.deepEqual(
      (body['jobs'] as Job[]).map(({ domain, path }) => domain + path),
      ['keep.example.com/a?x=1', 'keep.example.com/a', 'ignore.example.com/a'],
    )
    assert.equal(body['totalJobs'], 3)
  })

  // Proves interface 4.2/16, decided "Refresh-all and inactive domains"
  it('200: an inactive domain is passed over', async () => {
    await api.domain(owner, 'on.example.com')
    const off = await api.domain(owner, 'off.example.com')
    await storePages(api, off.id, ['/'])
    const view = { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() }
    await updateDomain(api.pool, owner.id, off.name, { isActive: false }, view)
    const { body } = await refreshAll()
    assert.deepEqual([body['totalDomains'], body['totalJobs']], [1, 1])
    assert.equal((await api.get('/api/cache/list/off.example.com', owner.key)).body['cachedPages'], 1)
  })

  it('200: an account without domains', async () => {
    assert.deepEqual((await refreshAll({})).body, {
      message: 'Queued 0 pages of 0 domains for refresh',
      totalDomains: 0,
      totalJobs: 0,
      jobs: [],
    })
  })

  it('400: paths that are wrong, for any domain: nothing happens for the others', async () => {
    const { id } = await api.domain(owner, 'a.example.com')
    await storePages(api, id, ['/'])
    const cases: [unknown, string][] = [
      [{ paths: [] }, 'paths must not be empty'],
      [{ paths: 'all' }, 'paths must be an array'],
      [{ paths: ['/', 'x'] }, 'paths[1] must start with /'],
      [{ paths: ['/', '/a\0'] }, 'paths[1] is not the path of a page'],
      [{ paths: Array(1_001).fill('/') }, 'paths must have at most 1000 entries'],
      [[], 'body must be an object'],
    ]
    for (const [body, error] of cases) {
      const answer = await refreshAll(body)
      assert.deepEqual([answer.status, answer.body], [400, { error }])
    }
    assert.equal((await api.get('/api/cache/stats', owner.key)).body['totalKeys'], 1)
  })

  // Proves decided "Atomicity"
  it('503: a queue that fills up halfway leaves every page where it was', async () => {
    for (const name of ['a.example.com', 'b.example.com']) {
      await storePages(api, (await api.domain(owner, name)).id, ['/'])
    }
    await api.pool.query(`update queue_depth set queued = 999998, counted_at = now() + interval '1 hour'`)
    try {
      const answer = await refreshAll({ paths: ['/', '/a', '/b'] })
      assert.equal(answer.status, 503)
    } finally {
      await api.pool.query(`update queue_depth set counted_at = '-infinity'`)
    }
    assert.equal((await api.get('/api/cache/stats', owner.key)).body['totalKeys'], 2)
    assert.equal((await api.pool.query('select from job')).rowCount, 0)
  })
})

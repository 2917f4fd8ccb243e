import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'

import { startTestApi, type TestAccount, type TestApi } from '../../../test/support/api.ts'

let api: TestApi
let owner: TestAccount
let jobId: string
before(async () => {
  api = await startTestApi()
  owner = await api.account()
  await api.domain(owner, 'shop.example.com')
  const { body } = await api.post('/api/cache/refresh', owner.key, {
    domain: 'shop.example.com',
    paths: ['/a'],
  })
  jobId = (body['jobs'] as { jobId: string }[])[0]!.jobId
})
after(() => api.close())

describe('GET /api/jobs/:jobId', () => {
  // Proves interface 2/14
  it('200: a job that waits', async () => {
    const { status, body } = await api.get(`/api/jobs/${jobId}`, owner.key)
    assert.equal(status, 200)
    const { created_at, ...rest } = body
    assert.match(String(created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.deepEqual(rest, {
      jobId,
      domain: 'shop.example.com',
      path: '/a',
      priority: 'refresh',
      state: 'queued',
      outcome: null,
      finished_at: null,
    })
  })

  it('200: a job that has ended, for a week', async () => {
    const finish = (age: string) =>
      api.pool.query(
        `update job set state = 'done', outcome = 'rendered', finished_at = now() - $1::interval where id = $2`,
        [age, jobId],
      )
    await finish('6 days 23 hours')
    const { body } = await api.get(`/api/jobs/${jobId}`, owner.key)
    assert.deepEqual([body['state'], body['outcome']], ['done', 'rendered'])
    assert.equal(typeof body['finished_at'], 'string')
    await finish('7 days 1 minute')
    assert.equal((await api.get(`/api/jobs/${jobId}`, owner.key)).status, 404)
    await finish('0 seconds')
  })

  it("404: unknown, no id at all, or another account's", async () => {
    const stranger = await api.account()
    const answers = [
      await api.get(`/api/jobs/${jobId}`, stranger.key),
      await api.get('/api/jobs/00000000-0000-0000-0000-000000000000', owner.key),
      await api.get('/api/jobs/1', owner.key),
      await api.get("/api/jobs/'%20or%201=1", owner.key),
      await api.get('/api/jobs/%00', owner.key),
      await api.get(`/api/jobs/${jobId.toUpperCase()}x`, owner.key),
    ]
    for (const { status, body } of answers)
      assert.deepEqual([status, body], [404, { error: 'Job not found' }])
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startTestApi, type TestAccount, type TestApi } from '../../../test/support/api.ts'
import type { RenderRecord } from '../../render/record.ts'

const RECORD: RenderRecord = {
  phases: { slot: 0, tab: 1, navigate: 2, firstResponse: 31, settled: null, snapshot: 40 },
  capture: null,
  requests: { made: 3, spared: 1, blocked: 1, failed: 1 },
  troubles: [{ url: 'https://a.example/x', kind: 'failed', reason: 'status 404' }],
  consoleErrors: { count: 11, texts: ['broken'] },
  htmlBytes: null,
}

let api: TestApi
let owner: TestAccount
let jobId: string
before(async () => {
  api = await startTestApi()
  owner = await api.account()
  const { id } = await api.domain(owner, 'shop.example.com')
  const { rows } = await api.pool.query(
    `insert into render_record (domain_id, path, job_id, outcome, detail, queued_ms, stored_ms, record, request_id, ended_at)
     values ($1, '/a', gen_random_uuid(), 'timed-out', 'after 3000 ms', 12, 3010, $2, 'request-1', '2026-11-15T12:00:00Z')
     returning job_id`,
    [id, JSON.stringify(RECORD)],
  )
  jobId = rows[0].job_id
})
after(() => api.close())

describe('GET /api/domains/:domain/renders', () => {
  // Proves decided "Render log"
  it('200: how renders went, the domain in any case', async () => {
    const { status, body } = await api.get('/api/domains/SHOP.example.com/renders', owner.key)
    assert.equal(status, 200)
    assert.deepEqual(body, {
      domain: 'shop.example.com',
      renders: [
        {
          jobId,
          requestId: 'request-1',
          path: '/a',
          variant: 'desktop',
          outcome: 'timed-out',
          detail: 'after 3000 ms',
          ended_at: '2026-11-15T12:00:00.000Z',
          queued_ms: 12,
          stored_ms: 3010,
          record: RECORD,
        },
      ],
    })
  })

  it('200: none yet', async () => {
    await api.domain(owner, 'new.example.com')
    const { body } = await api.get('/api/domains/new.example.com/renders', owner.key)
    assert.deepEqual(body, { domain: 'new.example.com', renders: [] })
  })

  it("404: unknown, no name at all, or another account's", async () => {
    const stranger = await api.account()
    for (const [domain, key] of [
      ['shop.example.com', stranger.key],
      ['unknown.example.com', owner.key],
      ['no%00name', owner.key],
    ] as const) {
      const { status, body } = await api.get(`/api/domains/${domain}/renders`, key)
      assert.deepEqual([status, body], [404, { error: 'Domain not found' }])
    }
  })

  it('401: without a key', async () => {
    assert.equal((await api.get('/api/domains/shop.example.com/renders')).status, 401)
  })
})

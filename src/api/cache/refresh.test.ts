import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import {
  startTestApi,
  storePages,
  storeRedirectAndSitemap,
  type TestAccount,
  type TestApi,
} from '../../../test/support/api.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { createListener } from '../../db/listener.ts'
import type { DomainId, DomainName } from '../../ids.ts'
import { silentLog } from '../../log.ts'
import { updateDomain } from '../../sites/domain-changes.ts'

let api: TestApi
let owner: TestAccount
let domain: { id: DomainId; name: DomainName }
before(async () => {
  api = await startTestApi()
  owner = await api.account()
  domain = await api.domain(owner, 'shop.example.com')
})
after(() => api.close())
beforeEach(() => api.pool.query('truncate page, redirect, sitemap, job, unstored_page'))

const refresh = (body?: unknown, key = owner.key) => api.post('/api/cache/refresh', key, body)
type Job = { path: string; jobId: string }
const column = async (sql: string) =>
  (await api.pool.query<{ path: string }>(sql, [domain.id])).rows.map(({ path }) => path)
const view = () => ({ plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() })

describe('POST /api/cache/refresh', () => {
  // Proves interface 1/5, interface 2/13, interface 2/14, interface 4.2/3, interface 4.2/11, interface 4.2/12
  it('200: deletes what is stored under the given paths, and only that, then queues them at `refresh`', async () => {
    await storePages(api, domain.id, ['/', '/a', '/b', '/c?x=1&y=2'])
    await storeRedirectAndSitemap(api, domain.id)
    const { status, body } = await refresh({
      domain: 'SHOP.example.com',
      paths: ['/b', '/old', '/c?y=2&x=1', '/new'],
    })
    assert.equal(status, 200)
    assert.equal(body['message'], 'Queued 4 pages of shop.example.com for refresh')
    assert.equal(body['domain'], 'shop.example.com')
    assert.deepEqual(
      (body['jobs'] as Job[]).map(({ path }) => path),
      ['/b', '/old', '/c?x=1&y=2', '/new'],
    )
    assert.deepEqual(await column('select path from page where domain_id = $1 order by path'), ['/', '/a'])
    assert.deepEqual(await column('select path from redirect where domain_id = $1'), [])
    assert.deepEqual(await column('select path from sitemap where domain_id = $1'), ['/sitemap.xml'])
    const { rows } = await api.pool.query('select id, path, priority, state from job order by path')
    assert.deepEqual(
      rows.map(({ path, priority, state }) => [path, priority, state]),
      ['/b', '/c?x=1&y=2', '/new', '/old'].map((path) => [path, 1, 'queued']),
    )
    assert.deepEqual(
      (body['jobs'] as Job[]).map(({ jobId }) => jobId).sort(),
      rows.map(({ id }) => id).sort(),
    )
  })

  it('200: every node forgets the pages, each by its path', async () => {
    const listener = await createListener(api.database.connection, silentLog())
    try {
      const heard: unknown[] = []
      const { promise, resolve } = Promise.withResolvers<void>()
      listener.on('invalidate', (payload) => {
        heard.push(JSON.parse(payload))
        if (heard.length === 2) resolve()
      })
      await listener.settled()
      await refresh({ domain: domain.name, paths: ['/a', '/b?x="1"'] })
      await promise
      assert.deepEqual(heard, [
        { domain: domain.id, path: '/a' },
        { domain: domain.id, path: '/b?x=%221%22' },
      ])
    } finally {
      await listener.close()
    }
  })

  // Proves interface 2/15, interface 4.2/13
  it('200: without paths, the four of the contract', async () => {
    const { body } = await refresh({ domain: domain.name })
    assert.deepEqual(
      (body['jobs'] as Job[]).map(({ path }) => path),
      ['/', '/about', '/contact', '/shop'],
    )
  })

  // Proves decided "`paths` of a refresh"
  it('200: duplicates are joined, also those that only normalisation shows; asking again joins the open job', async () => {
    const first = (await refresh({ domain: domain.name, paths: ['/a', '/a', '/a?utm_source=x', '/%61'] }))
      .body
    assert.equal((first['jobs'] as Job[]).length, 1)
    const again = (await refresh({ domain: domain.name, paths: ['/a'] })).body
    assert.deepEqual(again['jobs'], first['jobs'])
  })

  // Proves interface 4.2/11
  it('200: a render that runs already is not kept: it began before', async () => {
    await refresh({ domain: domain.name, paths: ['/a', '/b'] })
    await api.pool.query(`update job set state = 'running', lease_until = now() + interval '1 minute'`)
    await refresh({ domain: domain.name, paths: ['/a'] })
    const { rows } = await api.pool.query('select path, superseded from job order by path')
    assert.deepEqual(rows, [
      { path: '/a', superseded: true },
      { path: '/b', superseded: false },
    ])
  })

  // Proves decided "`paths` of a refresh"
  it('200: 1,000 paths are taken, 1,001 are not', async () => {
    const paths = Array.from({ length: 1_001 }, (_, n) => `/p/${n}`)
    const { status, body } = await refresh({ domain: domain.name, paths: paths.slice(0, 1_000) })
    assert.equal(status, 200)
    assert.deepEqual(
      (body['jobs'] as Job[]).map(({ path }) => path),
      paths.slice(0, 1_000),
    )
    const refused = await refresh({ domain: domain.name, paths })
    assert.deepEqual([refused.status, refused.body], [400, { error: 'paths must have at most 1000 entries' }])
  })

  it('200: 50 at once over the same pages make one job for each page', async () => {
    const paths = Array.from({ length: 40 }, (_, n) => `/p/${n}`)
    await storePages(api, domain.id, paths)
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        refresh({ domain: domain.name, paths: n % 2 ? paths : paths.toReversed() }),
      ),
    )
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
    assert.equal((await column('select path from job where domain_id = $1')).length, 40)
    assert.deepEqual(await column('select path from page where domain_id = $1'), [])
  })

  // Proves interface 4.2/3, decided "`paths` of a refresh", decided "Invalid paths"
  describe('400: a field that is wrong is named, and nothing happens', () => {
    const cases: [unknown, string][] = [
      [undefined, 'domain is required'],
      [{ paths: ['/'] }, 'domain is required'],
      [{ domain: 7 }, 'domain must be a string'],
      [{ domain: 'shop.example.com', paths: '/' }, 'paths must be an array'],
      [{ domain: 'shop.example.com', paths: null }, 'paths must be an array'],
      [{ domain: 'shop.example.com', paths: [] }, 'paths must not be empty'],
      [{ domain: 'shop.example.com', paths: ['/', 'a'] }, 'paths[1] must start with /'],
      [{ domain: 'shop.example.com', paths: ['/', ''] }, 'paths[1] must start with /'],
      [{ domain: 'shop.example.com', paths: ['/', 5] }, 'paths[1] must be a string'],
      [{ domain: 'shop.example.com', paths: ['/', '/a\0'] }, 'paths[1] is not the path of a page'],
      [{ domain: 'shop.example.com', paths: ['//evil.example'] }, 'paths[0] is not the path of a page'],
      [
        { domain: 'shop.example.com', paths: [`/${'a'.repeat(2_048)}`] },
        'paths[0] is not the path of a page',
      ],
    ]
    for (const [body, error] of cases) {
      it(error, async () => {
        await storePages(api, domain.id, ['/'])
        const answer = await refresh(body)
        assert.deepEqual([answer.status, answer.body], [400, { error }])
        assert.deepEqual(await column('select path from page where domain_id = $1'), ['/'])
        assert.deepEqual(await column('select path from job where domain_id = $1'), [])
      })
    }
  })

  // Proves decided "Invalid paths"
  it('200: a path of 2,048 characters is the longest', async () => {
    const { status } = await refresh({ domain: domain.name, paths: [`/${'a'.repeat(2_047)}`] })
    assert.equal(status, 200)
  })

  // Proves decided "Inactive domain"
  it('403: an inactive domain', async () => {
    await storePages(api, domain.id, ['/'])
    await updateDomain(api.pool, owner.id, domain.name, { isActive: false }, view())
    const answer = await refresh({ domain: domain.name })
    await updateDomain(api.pool, owner.id, domain.name, { isActive: true }, view())
    assert.deepEqual([answer.status, answer.body], [403, { error: 'Domain is not active' }])
    assert.deepEqual(await column('select path from page where domain_id = $1'), ['/'])
  })

  // Proves interface 4.2/7
  it("404: unknown, or another account's, of which nothing is deleted or queued", async () => {
    await storePages(api, domain.id, ['/'])
    const stranger = await api.account()
    for (const answer of [
      await refresh({ domain: 'unknown.example.com' }),
      await refresh({ domain: domain.name, paths: ['/'] }, stranger.key),
    ]) {
      assert.deepEqual([answer.status, answer.body], [404, { error: 'Domain not found' }])
    }
    assert.deepEqual(await column('select path from page where domain_id = $1'), ['/'])
    assert.deepEqual(await column('select path from job where domain_id = $1'), [])
  })

  // Proves decided "Full queue"
  it('503: the queue is full: nothing is deleted', async () => {
    await storePages(api, domain.id, ['/'])
    await api.pool.query(`update queue_depth set queued = 1000000, counted_at = now() + interval '1 hour'`)
    try {
      const answer = await refresh({ domain: domain.name, paths: ['/'] })
      assert.deepEqual(
        [answer.status, answer.body],
        [503, { error: 'Render queue is full, try again later' }],
      )
      assert.deepEqual(await column('select path from page where domain_id = $1'), ['/'])
    } finally {
      await api.pool.query(`update queue_depth set counted_at = '-infinity'`)
    }
  })
})

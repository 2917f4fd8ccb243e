import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import {
  assertAnswer,
  openApi,
  storePages,
  storeRedirectAndSitemap,
  valuesOf,
} from '../../../test/support/api.ts'
import { invalidatedBy } from '../../../test/support/database.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import type { DomainName } from '../../ids.ts'
import { updateDomain } from '../../sites/domain-changes.ts'

const api = await openApi()
const owner = await api.account()
const domain = await api.domain(owner, 'shop.example.com')
const second = await api.domain(owner, 'second.example.com')
const stranger = await api.account()
const strangers = await api.domain(stranger, 'stranger.example.com')
beforeEach(() => api.pool.query('truncate page, redirect, sitemap, job, unstored_page'))

const refresh = (body?: unknown, key = owner.key) => api.post('/api/cache/refresh', key, body)
const refreshAll = (body?: unknown, key = owner.key) => api.post('/api/cache/refresh-all', key, body)
type Job = { domain: string; path: string; jobId: string }
const stored = (table: string) =>
  api.database.column(
    `select custom_domain || path from ${table} join domain d on d.id = domain_id order by d.id, path`,
  )
const update = (name: DomainName, change: Parameters<typeof updateDomain>[3]) =>
  updateDomain(api.pool, owner.id, name, change, { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() })

describe('POST /api/cache/refresh', () => {
  // Proves interface 1/5, interface 2/13, interface 2/14, interface 4.2/3, interface 4.2/11, interface 4.2/12
  it('200: deletes what is stored under the given paths, and only that, then queues them at `refresh`', async () => {
    await storePages(api, domain.id, ['/', '/a', '/b', '/c?x=1&y=2'])
    await storeRedirectAndSitemap(api, domain.id)
    const paths = ['/b', '/old', '/c?y=2&x=1', '/new']
    const told = await invalidatedBy(api.database, async () => {
      const answer = await refresh({ domain: 'SHOP.example.com', paths })
      const { rows } = await api.pool.query('select id, path, priority, state from job')
      const idOf = (path: string) => rows.find((job) => job.path === path)?.id
      assertAnswer(answer, 200, {
        message: 'Queued 4 pages of shop.example.com for refresh',
        domain: 'shop.example.com',
        jobs: ['/b', '/old', '/c?x=1&y=2', '/new'].map((path) => ({ path, jobId: idOf(path) })),
      })
    })
    assert(told.some((one) => isDeepStrictEqual(one, { domain: domain.id, path: '/c?x=1&y=2' })))
    const { rows } = await api.pool.query('select priority, state from job')
    assert(rows.every(({ priority, state }) => priority === 1 && state === 'queued'))
    assert.deepEqual(await stored('page'), ['shop.example.com/', 'shop.example.com/a'])
    assert.deepEqual(await stored('redirect'), [])
    assert.deepEqual(await stored('sitemap'), ['shop.example.com/sitemap.xml'])
  })

  // Proves interface 2/15, interface 4.2/13
  it('200: without paths, the four of the contract', async () => {
    const { body } = await refresh({ domain: domain.name })
    assert.deepEqual(valuesOf(body['jobs'], 'path'), ['/', '/about', '/contact', '/shop'])
  })

  // Proves decided "`paths` of a refresh"
  it('200: duplicates are joined, also those that only normalisation shows; asking again joins the open job', async () => {
    const paths = ['/a', '/a', '/a?utm_source=x', '/%61']
    const { jobs } = (await refresh({ domain: domain.name, paths })).body
    assert.equal((jobs as Job[]).length, 1)
    assert.deepEqual((await refresh({ domain: domain.name, paths: ['/a'] })).body['jobs'], jobs)
  })

  // Proves decided "`paths` of a refresh", decided "Invalid paths"
  it('200: 1,000 paths are taken, 1,001 are not; the longest has 2,048 characters', async () => {
    const paths = Array.from({ length: 1_001 }, (_, n) => `/p/${n}`)
    const { body } = await refresh({ domain: domain.name, paths: paths.slice(0, 1_000) })
    assert.deepEqual(valuesOf(body['jobs'], 'path'), paths.slice(0, 1_000))
    const refused = await refresh({ domain: domain.name, paths })
    assertAnswer(refused, 400, 'paths must have at most 1000 entries')
    assert.equal((await refresh({ domain: domain.name, paths: [`/${'a'.repeat(2_047)}`] })).status, 200)
  })

  // Proves interface 4.2/3, decided "`paths` of a refresh", decided "Invalid paths"
  it('400: a field that is wrong is named, and nothing happens', async () => {
    await storePages(api, domain.id, ['/'])
    assertAnswer(await refresh({ paths: ['/'] }), 400, 'domain is required')
    const cases: [unknown, string][] = [
      ['/', 'paths must be an array'],
      [[], 'paths must not be empty'],
      [['/', 'a'], 'paths[1] must start with /'],
      [['/', 5], 'paths[1] must be a string'],
      [['//evil.example'], 'paths[0] is not the path of a page'],
      [[`/${'a'.repeat(2_048)}`], 'paths[0] is not the path of a page'],
    ]
    for (const [paths, error] of cases) {
      assertAnswer(await refresh({ domain: domain.name, paths }), 400, error)
    }
    assert.deepEqual([await stored('page'), await stored('job')], [['shop.example.com/'], []])
  })

  // Proves interface 4.2/7, decided "Inactive domain"
  it('403: an inactive domain; 404: unknown: nothing is deleted or queued', async () => {
    await storePages(api, domain.id, ['/'])
    await update(domain.name, { isActive: false })
    assertAnswer(await refresh({ domain: domain.name }), 403, 'Domain is not active')
    await update(domain.name, { isActive: true })
    assertAnswer(await refresh({ domain: 'unknown.example.com' }), 404, 'Domain not found')
    assert.deepEqual([await stored('page'), await stored('job')], [['shop.example.com/'], []])
  })
})

describe('POST /api/cache/refresh-all', () => {
  const pagesOf = (body: Record<string, unknown>) =>
    (body['jobs'] as Job[]).map(({ domain, path }) => domain + path)

  // Proves interface 2/15, interface 4.2/5, interface 4.2/14, interface 4.2/16
  it('200: without a body, `/` of every domain of the caller and of nobody else', async () => {
    for (const { id } of [domain, second, strangers]) await storePages(api, id, ['/', '/kept'])
    const { status, body } = await refreshAll()
    assert.deepEqual([status, pagesOf(body)], [200, ['shop.example.com/', 'second.example.com/']])
    assert.deepEqual(
      { ...body, jobs: null },
      { message: 'Queued 2 pages of 2 domains for refresh', totalDomains: 2, totalJobs: 2, jobs: null },
    )
    const theirs = ['stranger.example.com/', 'stranger.example.com/kept']
    assert.deepEqual(await stored('page'), ['shop.example.com/kept', 'second.example.com/kept', ...theirs])
  })

  it("200: the given paths of each domain, by each domain's own query rule; an account without domains", async () => {
    await update(second.name, { settings: { query: 'ignore' } })
    const { body } = await refreshAll({ paths: ['/a?x=1', '/a'] })
    await update(second.name, { settings: { query: 'keep' } })
    assert.deepEqual(pagesOf(body), ['shop.example.com/a?x=1', 'shop.example.com/a', 'second.example.com/a'])
    const none = await refreshAll({}, (await api.account()).key)
    assert.deepEqual([none.status, none.body['totalJobs']], [200, 0])
  })

  // Proves interface 4.2/16, decided "Refresh-all and inactive domains"
  it('200: an inactive domain is passed over', async () => {
    await storePages(api, second.id, ['/'])
    await update(second.name, { isActive: false })
    const { body } = await refreshAll()
    await update(second.name, { isActive: true })
    assert.deepEqual([body['totalDomains'], body['totalJobs']], [1, 1])
    assert.deepEqual(await stored('page'), ['second.example.com/'])
  })

  it('400: paths that are wrong, for any domain: nothing happens for the others', async () => {
    await storePages(api, domain.id, ['/'])
    assertAnswer(await refreshAll({ paths: ['/', '/a\0'] }), 400, 'paths[1] is not the path of a page')
    const many = await refreshAll({ paths: Array(1_001).fill('/') })
    assertAnswer(many, 400, 'paths must have at most 1000 entries')
    assert.deepEqual(await stored('page'), ['shop.example.com/'])
  })

  // Proves decided "Atomicity", decided "Full queue"
  it('503: a queue that fills up halfway leaves every page where it was', async () => {
    for (const { id } of [domain, second]) await storePages(api, id, ['/'])
    await api.pool.query(`update queue_depth set queued = 999998, counted_at = now() + interval '1 hour'`)
    const answer = await refreshAll({ paths: ['/', '/a', '/b'] })
    await api.pool.query(`update queue_depth set counted_at = '-infinity'`)
    assertAnswer(answer, 503, 'Render queue is full, try again later')
    assert.deepEqual([(await stored('page')).length, await stored('job')], [2, []])
  })
})

// Proves interface 2/14
it('GET /api/jobs/:jobId: 200: a job that waits; 404: no id at all', async () => {
  const { body } = await refresh({ domain: domain.name, paths: ['/a'] })
  const { jobId } = (body['jobs'] as [Job])[0]
  const { created_at, ...rest } = (await api.get(`/api/jobs/${jobId}`, owner.key)).body
  assert.match(String(created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.deepEqual(rest, {
    ...{ jobId, domain: 'shop.example.com', path: '/a', priority: 'refresh' },
    ...{ state: 'queued', outcome: null, finished_at: null },
  })
  for (const id of ['00000000-0000-0000-0000-000000000000', '1', "'%20or%201=1", '%00', `${jobId}x`])
    assertAnswer(await api.get(`/api/jobs/${id}`, owner.key), 404, 'Job not found')
})

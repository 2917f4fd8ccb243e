import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertAnswer, openApi } from '../../../test/support/api.ts'
import { renderRecord } from '../../../test/support/render-record.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import type { DomainId } from '../../ids.ts'
import { silentLog } from '../../log.ts'
import { AfterRender } from '../../queue/jobs/after-render.ts'
import { cancelJobs } from '../../queue/jobs/cancel.ts'
import { createClaim } from '../../queue/jobs/claim.ts'
import { createComplete } from '../../queue/jobs/complete.ts'
import { runJob } from '../../queue/jobs/run-job.ts'
import { removeOldTries, TRIED_A_DAY } from '../../queue/tries/rule-tries.ts'
import type { RenderOutcome, RenderRequest } from '../../render/outcome.ts'

const api = await openApi()
const owner = await api.account()

const URL = '/api/domains/shop.example.com/rules/try'
/** The page shows its rule. */
function usualPage({ path, rule }: RenderRequest): RenderOutcome {
  const removes = rule?.change?.remove !== undefined
  const html = `<html><head><title>${rule?.change?.head?.title ?? 'Old'}</title><meta name="robots" content="all"></head><body><p>${path}</p>${removes ? '' : '<p>Banner</p>'}</body></html>`
  return { kind: 'rendered', status: 200, headers: [['Content-Language', 'de']], html }
}

/** Runs all queued jobs as a rendering node does. */
async function work(answer: (request: RenderRequest) => RenderOutcome = usualPage): Promise<RenderRequest[]> {
  const { pool } = api
  const { clock } = api.deps
  const caps = { accountCap: 100, domainCap: 100, domainBackgroundCap: 100 }
  const claim = createClaim(pool, 'node', { ...caps, leaseMs: 60_000, liveWaitMs: 10_000 })
  const complete = createComplete({ pool, plans: DEFAULT_PLANS, clock })
  const sent: RenderRequest[] = []
  const render = async (request: RenderRequest) => {
    sent.push(request)
    const requests = { made: request.block === undefined ? 9 : 3, spared: 0, blocked: 0, failed: 0 }
    return { outcome: answer(request), record: renderRecord({ requests }) }
  }
  const run = { pool, render, complete, plans: DEFAULT_PLANS, clock, log: silentLog(), leaseMs: 0 }
  const follow = new AfterRender({ pool, clock, log: silentLog() })
  for (const job of await claim({ slots: 100, backgroundSlots: 100, occupied: [] }, clock.nowMs())) {
    assert.equal(job.priority, 'refresh')
    await follow.follow(job, await runJob(run, job, new AbortController()))
  }
  await follow.close()
  return sent
}

const shop = (settings: object = {}) => fresh('shop.example.com', settings)

async function fresh(name: string, settings: object): Promise<DomainId> {
  await api.call('DELETE', `/api/domains/${name}`, { key: owner.key })
  const { id } = await api.domain(owner, name)
  await api.pool.query('update domain set settings = $2 where id = $1', [id, JSON.stringify(settings)])
  return id
}

async function tried(body: object) {
  const { status, body: made, text } = await api.post(URL, owner.key, body)
  assert.equal(status, 202, text)
  return `${URL}/${made['id']}`
}

const pagesOf = (body: Record<string, unknown>) => body['pages'] as Record<string, unknown>[]

describe('POST and GET /api/domains/:domain/rules/try', () => {
  // Proves decided "Trying rules"
  it('202: says what each page gets before and after, and stores and counts nothing', async () => {
    const id = await shop({
      render: { locale: 'de-CH' },
      rules: [{ path: '/a', change: { remove: ['.banner'] } }],
    })
    const rules = [
      { path: '/pass', action: 'pass' },
      { path: '/a*', render: { block: ['ads'], locale: 'fr' }, change: { head: { title: 'New' } } },
    ]
    const url = await tried({ rules, paths: ['/a', '/ab', '/pass', '/other', '/a?utm_source=x'] })
    const queued = await api.get(url, owner.key)
    assert.equal(queued.body['state'], 'queued')
    assert.deepEqual(pagesOf(queued.body)[0], {
      ...{ path: '/a', rule_before: 0, rule_after: 1, outcome: null, ms: null, differences: [] },
    })

    const requests = await work()
    assert.deepEqual(
      requests.map(({ path, visitor }) => [path, visitor?.locale]),
      [
        ...[
          ['/a', 'fr'],
          ['/a', 'de-CH'],
          ['/ab', 'fr'],
          ['/ab', 'de-CH'],
          ['/pass', 'de-CH'],
        ],
        ['/other', 'de-CH'],
      ],
    )
    const { body } = await api.get(url, owner.key)
    assert.equal(body['state'], 'done')
    const [a, ab, pass, other] = pagesOf(body)
    assert.equal(pagesOf(body).length, 4, 'one page for two spellings')
    assert.deepEqual(a, {
      ...{ path: '/a', rule_before: 0, rule_after: 1, outcome: 'rendered', ms: 0 },
      differences: [
        { of: 'head', before: 'title: Old\nrobots: all', after: 'title: New\nrobots: all' },
        { of: 'text', before: '/a', after: '/a\nBanner' },
        { of: 'html_bytes', before: '100', after: '113' },
        { of: 'requests', before: '9', after: '3' },
      ],
    })
    assert.deepEqual([ab?.['rule_before'], ab?.['rule_after']], [null, 1])
    assert.deepEqual(pass, {
      ...{ path: '/pass', rule_before: null, rule_after: 0, outcome: 'pass', ms: null },
      differences: [{ of: 'outcome', before: 'rendered', after: 'pass' }],
    })
    assert.deepEqual(other, {
      ...{ path: '/other', rule_before: null, rule_after: null, outcome: 'rendered', ms: 0 },
      differences: [],
    })

    for (const table of ['page', 'redirect', 'render_record', 'last_render', 'render_count', 'page_fact']) {
      const { rows } = await api.pool.query(`select from ${table} where domain_id = $1`, [id])
      assert.equal(rows.length, 0, table)
    }
  })

  it('tries what was asked for most when no paths are given, else the home page', async () => {
    const id = await shop()
    const home = await tried({ rules: [] })
    assert.deepEqual(
      pagesOf((await api.get(home, owner.key)).body).map(({ path }) => path),
      ['/'],
    )
    await api.pool.query(
      `insert into traffic_path select $1, $2, false, '/p' || n, n, 'hit', 200 from generate_series(1, 30) n`,
      [id, new Date(api.clock.nowMs())],
    )
    const most = pagesOf((await api.get(await tried({ rules: [] }), owner.key)).body)
    assert.deepEqual([most.length, most[0]?.['path'], most[19]?.['path']], [20, '/p30', '/p11'])
  })

  it('works on a domain that is not active or over its quota, and says why a page is incomplete', async () => {
    const id = await shop()
    await api.pool.query('update domain set is_active = false where id = $1', [id])
    await api.pool.query(`insert into render_count values ($1, '2026-11-01', 10000000)`, [id])
    const url = await tried({ rules: [{ path: '/*', render: { wait_for: '#never' } }], paths: ['/'] })
    await work((request) =>
      request.rule?.waitFor === undefined
        ? usualPage(request)
        : { kind: 'incomplete', reason: 'no element matches #never', page: null },
    )
    const [page] = pagesOf((await api.get(url, owner.key)).body)
    assert.deepEqual(page?.['differences'], [
      { of: 'outcome', before: 'rendered', after: 'incomplete: no element matches #never' },
    ])
  })

  it('a render that crashes is retried, and cancelled jobs end the try', async () => {
    const id = await shop()
    const url = await tried({ rules: [], paths: ['/', '/b'] })
    await work(({ path }) =>
      path === '/' ? { kind: 'crashed', reason: 'killed' } : usualPage({ path } as RenderRequest),
    )
    assert.equal((await api.get(url, owner.key)).body['state'], 'running')
    await cancelJobs(api.pool, id)
    const { body } = await api.get(url, owner.key)
    assert.equal(body['state'], 'done')
    assert.deepEqual(
      pagesOf(body).map(({ outcome }) => outcome),
      ['cancelled', 'rendered'],
    )
  })

  it('400: rules and paths that are refused when they are saved', async () => {
    await shop()
    const paths = (count: number) => Array.from({ length: count }, (_, at) => `/${at}`)
    const rule = (render: object) => [{ path: '/', render }]
    for (const [body, words] of [
      [{ rules: rule({ wait_for: '#' }) }, /^rules\[0\]\.render\.wait_for /],
      [{ rules: rule({ block: ['ads', 'shop.example.com'] }) }, /block\[1\] must not be the domain itself$/],
      [{ rules: Array(201).fill({ path: '/', action: 'pass' }) }, /^rules /],
      [{ rules: [], paths: paths(21) }, /^paths /],
      [{ rules: [], paths: [] }, /^paths /],
      [{ rules: [], paths: ['//a'] }, /^paths\[0\] /],
      [{}, /^rules /],
    ] as const) {
      assertAnswer(await api.post(URL, owner.key, body), 400, words)
    }
  })

  it('429: more than 200 pages of a domain in a day; 404 after a day', async () => {
    const id = await shop()
    const paths = Array.from({ length: 20 }, (_, at) => `/${at}`)
    const urls = []
    for (let at = 0; at < TRIED_A_DAY / 20; at++) urls.push(await tried({ rules: [], paths }))
    const over = await api.post(URL, owner.key, { rules: [], paths: ['/'] })
    assertAnswer(over, 429, 'Rule try limit reached (200 pages per domain and day)')
    assert(Number(over.headers.get('retry-after')) > 86_000)

    await api.pool.query(
      `update rule_try set requested_at = requested_at - interval '1 day' where domain_id = $1`,
      [id],
    )
    assert.equal((await api.get(urls[0]!, owner.key)).status, 404)
    await tried({ rules: [], paths: ['/'] })
    assert.equal(await removeOldTries(api.pool), 10)
  })
})

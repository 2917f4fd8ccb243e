import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertAnswer, openApi } from '../../../test/support/api.ts'
import { renderRecord } from '../../../test/support/render-record.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import type { DomainId, PagePath } from '../../ids.ts'
import { silentLog } from '../../log.ts'
import { AfterRender } from '../../queue/jobs/after-render.ts'
import { cancelJobs } from '../../queue/jobs/cancel.ts'
import { createClaim } from '../../queue/jobs/claim.ts'
import { createComplete } from '../../queue/jobs/complete.ts'
import { runJob } from '../../queue/jobs/run-job.ts'
import { removeOldTries, TRIED_A_DAY, visitorsToTry } from '../../queue/tries/rule-tries.ts'
import type { Draw } from '../../queue/tries/try-rules.ts'
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
  const draw: Draw = async ({ path, visitor, given }) => {
    if (path === '/hidden') throw new Error('it took too long')
    return { picture: Buffer.from(`${visitor?.locale}: ${given.html}`) }
  }
  const run = { pool, render, draw, complete, plans: DEFAULT_PLANS, clock, log: silentLog(), leaseMs: 0 }
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
const pagesAt = async (url: string) => pagesOf((await api.get(url, owner.key)).body)
const pathsOf = async (body: object) => (await pagesAt(await tried(body))).map(({ path }) => path)

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
      ...{ path: '/a', category: 'search', variant: 'desktop', pictures: [] },
      ...{ rule_before: 0, rule_after: 1, outcome: null, ms: null, differences: [] },
    })

    const requests = await work()
    assert.deepEqual(
      requests.map(({ path, visitor }) => `${path} ${visitor?.locale}`),
      ['/a fr', '/a de-CH', '/ab fr', '/ab de-CH', '/pass de-CH', '/other de-CH'],
    )
    const { body } = await api.get(url, owner.key)
    assert.equal(body['state'], 'done')
    const [a, ab, pass, other] = pagesOf(body)
    assert.equal(pagesOf(body).length, 4, 'one page for two spellings')
    const visitor = { category: 'search', variant: 'desktop' }
    assert.deepEqual(a, {
      ...{ ...visitor, path: '/a', pictures: ['before', 'after'] },
      ...{ rule_before: 0, rule_after: 1, outcome: 'rendered', ms: 0 },
      differences: [
        { of: 'head', before: 'title: Old\nrobots: all', after: 'title: New\nrobots: all' },
        { of: 'text', before: '/a', after: '/a\nBanner' },
        { of: 'html_bytes', before: '100', after: '113' },
        { of: 'requests', before: '9', after: '3' },
      ],
    })
    assert.deepEqual([ab?.['rule_before'], ab?.['rule_after']], [null, 1])
    assert.partialDeepStrictEqual(pass, {
      ...{ pictures: ['before'], outcome: 'pass', ms: null },
      differences: [{ of: 'outcome', before: 'rendered', after: 'pass' }],
    })
    assert.deepEqual([other?.['rule_after'], other?.['differences']], [null, []])

    for (const table of ['page', 'redirect', 'render_record', 'last_render', 'render_count', 'page_fact']) {
      const { rows } = await api.pool.query(`select from ${table} where domain_id = $1`, [id])
      assert.equal(rows.length, 0, table)
    }
  })

  it('tries what was asked for most when no paths are given, else the home page', async () => {
    const id = await shop()
    assert.deepEqual(await pathsOf({ rules: [] }), ['/'])
    await api.pool.query(
      `insert into traffic_path select $1, $2, false, '/p' || n, n, 'hit', 200 from generate_series(1, 30) n`,
      [id, new Date(api.clock.nowMs())],
    )
    const most = await pathsOf({ rules: [] })
    assert.deepEqual([most.length, most[0], most[19]], [20, '/p30', '/p11'])
  })

  it('tries as a visitor whose rule changes, else as a search crawler on a desktop', async () => {
    const rules = [
      { path: '/ai', when: { categories: ['ai'] }, change: { head: { title: 'For AI' } } },
      { path: '/user', when: { categories: ['ai-user'], variant: 'mobile' }, action: 'gone' },
      { path: '/phone', when: { variant: 'mobile' }, render: { user_agent: 'Own' }, fresh_seconds: 9 },
      { path: '/same', action: 'render' },
    ]
    await shop({ devices: 'both', rules: [rules[3]] })
    const url = await tried({ rules, paths: ['/ai', '/user', '/phone', '/same'] })
    const requests = await work()
    assert.deepEqual(
      (await pagesAt(url)).map((page) => `${page['category']} ${page['variant']} ${page['rule_after']}`),
      ['ai desktop 0', 'ai-user mobile 1', 'search mobile 2', 'search desktop 3'],
    )
    assert.deepEqual(
      requests.map(({ path, visitor }) => `${path} ${visitor?.device} ${visitor?.userAgent}`),
      [
        ...['/ai undefined undefined', '/ai undefined undefined', '/user mobile undefined'],
        ...['/phone mobile Own', '/phone mobile undefined', '/same undefined undefined'],
      ],
    )
  })

  it('says what each action gives: outcome, status, and the pages of both where there are two', async () => {
    const actions = ['pass', 'not-found', 'gone', 'no-store', 'render']
    await shop({ rules: actions.map((action) => ({ path: `/was-${action}`, action })) })
    const rules = [...actions, 'none'].map((action) => ({
      ...{ path: `/${action}`, change: { head: { title: 'New' } } },
      ...(action !== 'none' && { action }),
    }))
    const all = ['/pass', '/not-found', '/gone', '/no-store', '/feed.xml', '/was-gone', '/was-no-store']
    const shownAs = { path: '/feed.xml', action: 'render' }
    const url = await tried({ rules: [...rules, shownAs], paths: all })
    const requests = await work()
    assert.equal(requests.filter(({ path }) => path === '/was-no-store').length, 1, 'the same page')
    const found = (await pagesAt(url)).map((page) => [
      page['outcome'],
      page['ms'],
      ...(page['differences'] as Record<string, string>[]).map((one) =>
        one['of'] === 'head' ? 'head' : `${one['of']} ${one['before']} ${one['after']}`,
      ),
    ])
    assert.deepEqual(found, [
      ['pass', null, 'outcome rendered pass'],
      ['not-found', null, 'outcome rendered not-found', 'status 200 404'],
      ['gone', null, 'outcome rendered gone', 'status 200 410'],
      ['no-store', 0, 'outcome rendered no-store', 'head'],
      ['rendered', 0, 'outcome pass rendered'],
      ['rendered', 0, 'outcome gone rendered', 'status 410 200'],
      ['rendered', 0, 'outcome no-store rendered'],
    ])
  })

  it('has pictures of pages that differ, until the next try of the domain', async () => {
    await shop()
    const rules = [{ path: '/*', render: { locale: 'fr' }, change: { head: { title: 'New' } } }]
    const url = await tried({ rules, paths: ['/hidden', '/a'] })
    const picture = (place: number, side: string) => api.get(`${url}/${place}/${side}`, owner.key)
    assert.equal((await picture(1, 'after')).status, 404)
    await work()
    const pictures = (await pagesAt(url)).map((page) => page['pictures'])
    assert.deepEqual(pictures, [[], ['before', 'after']])
    const after = await picture(1, 'after')
    assert.match(after.text, /^fr: .*New/)
    assert.equal(after.headers.get('content-type'), 'image/webp')
    assert.match(after.headers.get('content-security-policy') ?? '', /^sandbox;/)
    assert.match((await picture(1, 'before')).text, /^undefined: .*Old/)
    assert.equal((await picture(0, 'after')).status, 404)
    assert.equal((await picture(1, 'during')).status, 400)
    const stranger = await api.account()
    await api.domain(stranger, 'theirs.example.com')
    const throughTheirs = url.replace('shop.example.com', 'theirs.example.com')
    for (const at of ['', '/1/after']) {
      assert.equal((await api.get(throughTheirs + at, stranger.key)).status, 404)
    }
    await tried({ rules, paths: ['/a'] })
    assert.equal((await picture(1, 'after')).status, 404)
    assert.deepEqual((await pagesAt(url))[1]?.['pictures'], [])
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
    const [page] = await pagesAt(url)
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
      [{ rules: [], paths: paths(21) }, /^paths /],
      [{ rules: [], paths: ['//a'] }, /^paths\[0\] /],
    ] as const) {
      assertAnswer(await api.post(URL, owner.key, body), 400, words)
    }
  })

  it('others have their turn between paths', async () => {
    const rules = Array.from({ length: 50 }, (_, at) => ({ path: `/${at}*`, action: 'pass' as const }))
    const paths = Array.from({ length: 20 }, (_, at) => `/x${at}` as PagePath)
    let turns = 0
    const turn = () => {
      turns++
      next = setImmediate(turn)
    }
    let next = setImmediate(turn)
    await visitorsToTry([], rules, paths)
    clearImmediate(next)
    assert(turns >= paths.length, `${turns}`)
  })

  it('429: more than 200 pages of a domain in a day; 404 after a day', async () => {
    const id = await shop()
    const paths = Array.from({ length: 20 }, (_, at) => `/${at}`)
    const urls = []
    const atOnce = Array.from({ length: 15 }, () => api.post(URL, owner.key, { rules: [], paths }))
    for (const { status, body } of await Promise.all(atOnce)) {
      if (status === 202) urls.push(`${URL}/${body['id']}`)
      else assert.equal(status, 429)
    }
    assert.equal(urls.length, TRIED_A_DAY / 20, 'exact, however many ask at once')
    const over = await api.post(URL, owner.key, { rules: [], paths: ['/'] })
    assertAnswer(over, 429, 'Rule try limit reached (200 pages per domain and day)')
    assert(Number(over.headers.get('retry-after')) > 86_000)
    assertAnswer(await api.post(URL, owner.key, { rules: [] }), 429, /^Rule try limit/)

    await api.pool.query(
      `update rule_try set requested_at = requested_at - interval '1 day' where domain_id = $1`,
      [id],
    )
    assert.equal((await api.get(urls[0]!, owner.key)).status, 404)
    await tried({ rules: [], paths: ['/'] })
    assert.equal(await removeOldTries(api.pool), TRIED_A_DAY)
  })
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import type { RenderOutcome, RenderRequest } from '@prepaint/contract/outcome/outcome.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { cancelJobs } from '@prepaint/pages/queue/jobs/cancel.ts'
import { removeOldTries, TRIED_A_DAY, visitorsToTry } from '@prepaint/pages/queue/tries/rule-tries.ts'
import { BodyStore } from '@prepaint/pages/store/bodies/body-store.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { assertAnswer, openApi, valuesOf } from '../../../../test/support/api.ts'
import { readOutcome } from '../../../../test/support/outcome.ts'
import { renderRecord } from '../../../../test/support/render-record.ts'
import { AfterRender } from '../../../pages/src/queue/jobs/after-render.ts'
import { Claims } from '../../../pages/src/queue/jobs/claim.ts'
import { JobCompleter } from '../../../pages/src/queue/jobs/complete.ts'
import { Notices } from '../../../pages/src/queue/jobs/notices.ts'
import { runJob } from '../../../pages/src/queue/jobs/run-job.ts'
import type { Draw } from '../../../pages/src/queue/tries/try-rules.ts'

const api = await openApi()
const owner = await api.account()

const URL = '/api/domains/shop.example.com/rules/try'
/** The page shows its rule. */
function usualPage({ path, rule }: RenderRequest): RenderOutcome {
  const banner = rule?.change?.remove === undefined ? '<p>Banner</p>' : ''
  const head = `<title>${rule?.change?.head?.title ?? 'Old'}</title><meta name="robots" content="all">`
  const html = `<html><head>${head}</head><body><p>${path}</p>${banner}</body></html>`
  return readOutcome({ kind: 'rendered', status: 200, headers: [['Content-Language', 'de']], html })
}

/** Runs all queued jobs as a rendering node does. */
async function work(answer = usualPage): Promise<RenderRequest[]> {
  const { pool } = api
  const { clock } = api
  const caps = { accountCap: 100, domainCap: 100, domainBackgroundCap: 100 }
  const rules = { ...caps, leaseMs: 60_000, liveWaitMs: 10_000 }
  const claims = new Claims(pool, DEFAULT_PLANS, 'node', rules)
  const bodies = BodyStore.none(pool, silentLog())
  const completer = new JobCompleter(pool, DEFAULT_PLANS, clock, new Notices(pool, silentLog()), bodies)
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
  const parts = { pool, render, draw, completer, bodies, plans: DEFAULT_PLANS, clock }
  const run = { ...parts, log: silentLog(), leaseMs: 0 }
  const follow = new AfterRender(pool, bodies, clock, silentLog())
  const free = { slots: 100, backgroundSlots: 100, occupied: [] }
  const { claimed } = await claims.claim(free, clock.nowMs())
  for (const job of claimed) {
    assert.equal(job.priority, 'refresh')
    await follow.follow(job, await runJob(run, job, new AbortController()))
  }
  await follow.close()
  return sent
}

/** The shop anew, without earlier tries. */
async function shop(settings: object = {}): Promise<DomainId> {
  await api.call('DELETE', '/api/domains/shop.example.com', { key: owner.key })
  const { id } = await api.domain(owner, 'shop.example.com')
  await api.pool.query('update domain set settings = $2 where id = $1', [id, JSON.stringify(settings)])
  return id
}

async function tried(body: object) {
  const { status, body: made, text } = await api.post(URL, owner.key, body)
  assert.equal(status, 202, text)
  return `${URL}/${made['id']}`
}

/** Asks, works, and reads what came of it. */
async function triedAt(body: object, answer = usualPage) {
  const url = await tried(body)
  const requests = await work(answer)
  return { url, requests, pages: await pagesAt(url) }
}

type Page = Record<string, unknown> & { differences: { of: string; before: string; after: string }[] }
const stateOf = async (url: string) => (await api.get(url, owner.key)).body['state']
const pagesAt = async (url: string) => (await api.get(url, owner.key)).body['pages'] as Page[]
const pathsOf = async (body: object) => valuesOf(await pagesAt(await tried(body)), 'path')
const numbered = (count: number) => Array.from({ length: count }, (_, at) => `/${at}` as PagePath)

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
  const visitor = { category: 'search', variant: 'desktop' }
  assert.equal(await stateOf(url), 'queued')
  assert.deepEqual((await pagesAt(url))[0], {
    ...{ ...visitor, path: '/a', pictures: [] },
    ...{ rule_before: 0, rule_after: 1, outcome: null, ms: null, differences: [] },
  })

  const requests = await work()
  const asked = requests.map(({ path, visitor }) => `${path} ${visitor?.locale}`)
  assert.deepEqual(asked, ['/a fr', '/a de-CH', '/ab fr', '/ab de-CH', '/pass de-CH', '/other de-CH'])
  assert.equal(await stateOf(url), 'done')
  const [a, ab, pass, other, ...more] = await pagesAt(url)
  assert.deepEqual(more, [], 'one page for two spellings')
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
  assert.deepEqual([other?.['rule_after'], other?.differences], [null, []])

  for (const table of ['page', 'redirect', 'render_record', 'last_render', 'render_count', 'page_fact']) {
    const { rowCount } = await api.pool.query(`select from ${table} where domain_id = $1`, [id])
    assert.equal(rowCount, 0, table)
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
  const { requests, pages } = await triedAt({ rules, paths: ['/ai', '/user', '/phone', '/same'] })
  const tries = pages.map((page) => `${page['category']} ${page['variant']} ${page['rule_after']}`)
  assert.deepEqual(tries, ['ai desktop 0', 'ai-user mobile 1', 'search mobile 2', 'search desktop 3'])
  const asked = requests.map(({ path, visitor }) => `${path} ${visitor?.device} ${visitor?.userAgent}`)
  assert.deepEqual(asked, [
    ...['/ai undefined undefined', '/ai undefined undefined', '/user mobile undefined'],
    ...['/phone mobile Own', '/phone mobile undefined', '/same undefined undefined'],
  ])
})

it('says what each action gives: outcome, status, and the pages of both where there are two', async () => {
  const actions = ['pass', 'not-found', 'gone', 'no-store', 'render']
  await shop({ rules: actions.map((action) => ({ path: `/was-${action}`, action })) })
  const change = { head: { title: 'New' } }
  const rules = [
    ...actions.map((action) => ({ path: `/${action}`, action, change })),
    { path: '/feed.xml', action: 'render' },
  ]
  const paths = ['/pass', '/not-found', '/gone', '/no-store', '/feed.xml', '/was-gone', '/was-no-store']
  const { requests, pages } = await triedAt({ rules, paths })
  assert.equal(requests.filter(({ path }) => path === '/was-no-store').length, 1, 'the same page')
  const found = pages.map(({ outcome, ms, differences }) => {
    const told = differences.map(({ of, before, after }) => (of === 'head' ? of : `${of} ${before} ${after}`))
    return [outcome, ms, ...told].join(', ')
  })
  assert.deepEqual(found, [
    ...['pass, , outcome rendered pass', 'not-found, , outcome rendered not-found, status 200 404'],
    ...['gone, , outcome rendered gone, status 200 410', 'no-store, 0, outcome rendered no-store, head'],
    ...['rendered, 0, outcome pass rendered', 'rendered, 0, outcome gone rendered, status 410 200'],
    'rendered, 0, outcome no-store rendered',
  ])
})

it('has pictures of pages that differ, until the next try of the domain; not for others', async () => {
  await shop()
  const rules = [{ path: '/*', render: { locale: 'fr' }, change: { head: { title: 'New' } } }]
  const url = await tried({ rules, paths: ['/hidden', '/a'] })
  const picture = (place: number, side: string) => api.get(`${url}/${place}/${side}`, owner.key)
  assert.equal((await picture(1, 'after')).status, 404)
  await work()
  assert.deepEqual(valuesOf(await pagesAt(url), 'pictures'), [[], ['before', 'after']])
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
  assert.deepEqual(valuesOf(await pagesAt(url), 'pictures'), [[], []])
})

it('works on a domain that is not active or over its quota, and says why a page is incomplete', async () => {
  const id = await shop()
  await api.pool.query('update domain set is_active = false where id = $1', [id])
  await api.pool.query(`insert into render_count values ($1, '2026-11-01', 10000000)`, [id])
  const reason = 'no element matches #never'
  const incomplete: RenderOutcome = { kind: 'incomplete', reason, page: null }
  const body = { rules: [{ path: '/*', render: { wait_for: '#never' } }], paths: ['/'] }
  const { pages } = await triedAt(body, (request) =>
    request.rule?.waitFor ? incomplete : usualPage(request),
  )
  assert.deepEqual(pages[0]?.differences, [
    { of: 'outcome', before: 'rendered', after: `incomplete: ${reason}` },
  ])
})

it('a render that crashes is retried, and cancelled jobs end the try', async () => {
  const id = await shop()
  const crashed: RenderOutcome = { kind: 'crashed', reason: 'killed' }
  const { url } = await triedAt({ rules: [], paths: ['/', '/b'] }, (request) =>
    request.path === '/' ? crashed : usualPage(request),
  )
  assert.equal(await stateOf(url), 'running')
  await cancelJobs(api.pool, id)
  assert.equal(await stateOf(url), 'done')
  assert.deepEqual(valuesOf(await pagesAt(url), 'outcome'), ['cancelled', 'rendered'])
})

it('400: rules and paths that are refused when they are saved', async () => {
  await shop()
  const own = [{ path: '/', render: { block: ['ads', 'shop.example.com'] } }]
  for (const [body, words] of [
    [{ rules: [{ path: '/', render: { wait_for: '#' } }] }, /^rules\[0\]\.render\.wait_for /],
    [{ rules: own }, /block\[1\] must not be the domain itself$/],
    [{ rules: [], paths: numbered(21) }, /^paths /],
    [{ rules: [], paths: ['//a'] }, /^paths\[0\] /],
  ] as const) {
    assertAnswer(await api.post(URL, owner.key, body), 400, words)
  }
})

it('others have their turn between paths', async () => {
  const rules = Array.from({ length: 50 }, (_, at) => ({ path: `/${at}*`, action: 'pass' as const }))
  let isOver = false
  const trying = visitorsToTry([], rules, numbered(20)).finally(() => (isOver = true))
  let turns = 0
  while (!isOver) turns += await setImmediate(1)
  await trying
  assert(turns >= 20, `${turns}`)
})

it('429: more than 200 pages of a domain in a day, however many ask at once; 404 after a day', async () => {
  const id = await shop()
  const ask = (paths?: string[]) => api.post(URL, owner.key, { rules: [], paths })
  const answers = await Promise.all(Array.from({ length: 15 }, () => ask(numbered(20))))
  const taken = answers.filter(({ status }) => status === 202)
  assert.equal(taken.length, TRIED_A_DAY / 20)
  assert(answers.every(({ status }) => status === 202 || status === 429))
  const over = await ask(['/'])
  assertAnswer(over, 429, 'Rule try limit reached (200 pages per domain and day)')
  assert(Number(over.headers.get('retry-after')) > 86_000)
  assert.equal((await ask()).status, 429)

  await api.pool.query(
    `update rule_try set requested_at = requested_at - interval '1 day' where domain_id = $1`,
    [id],
  )
  await api.pool.query(
    `update rate set moments = array(select at - interval '1 day' from unnest(moments) at) where subject = 'domain ' || $1::integer`,
    [id],
  )
  assert.equal((await api.get(`${URL}/${taken[0]!.body['id']}`, owner.key)).status, 404)
  await tried({ rules: [], paths: ['/'] })
  assert.equal(await removeOldTries(api.pool), TRIED_A_DAY)
})

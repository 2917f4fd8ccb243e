import assert from 'node:assert/strict'
import { beforeEach, it } from 'node:test'
import { assertAnswer, openApi, storePages, TEST_START_MS } from '../../../test/support/api.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import type { WarmProgress } from '../../queue/warm/warm-progress.ts'
import { warmStep } from '../../queue/warm/warm-step.ts'

const api = await openApi()
const owner = await api.account()
const domain = await api.domain(owner, 'shop.example.com')
const url = `/api/domains/${domain.name}/warm`
beforeEach(async () => {
  await api.pool.query(
    'truncate warm, warm_count, warm_paused, warm_sitemap, render_count, job, unstored_page, page cascade',
  )
  await api.pool.query('update domain set is_active = true')
})

const call = async (method: string, body?: unknown) => {
  const answer = await api.call(method, url, { key: owner.key, body })
  return { ...answer, warm: answer.body['warm'] as WarmProgress | null }
}
const refused = async (method: string, body?: unknown) => {
  const { status, body: said } = await call(method, body)
  return [status, said['error']]
}
const jobs = async () => (await api.pool.query('select from job')).rowCount

/** In the place of a node: its sitemaps are read, its pages queued. */
async function queue(): Promise<void> {
  await storePages(api, domain.id, ['/', '/a', '/b'])
  await api.pool.query(`update warm set state = 'queueing', known = 3`)
  await warmStep({ pool: api.pool, plans: DEFAULT_PLANS, clock: api.clock })
}

it('200: none was ever asked for; 400: what is none; 200: begun, with or without a body, and seen from then on', async () => {
  assertAnswer(await call('GET'), 200, { domain: domain.name, warm: null })
  assert.deepEqual(await refused('POST', { which: 'some' }), [400, 'which must be "all" or "outdated"'])
  for (const [body, which] of [
    [undefined, 'all'],
    [{ which: 'outdated' }, 'outdated'],
  ] as const) {
    const { status, warm } = await call('POST', body)
    assert.deepEqual([status, warm?.state, warm?.which, warm?.left], [200, 'reading', which, null])
    assert.deepEqual((await call('GET')).warm, warm)
  }
})

// Proves decided "Warm"
it('200: paused and resumed, each as often as wanted; cancelled, once', async () => {
  await call('POST')
  await queue()
  assert.equal(await jobs(), 3)
  for (let n = 0; n < 2; n++) {
    const { status, warm } = await call('PUT', { paused: true })
    assert.deepEqual([status, typeof warm?.paused_at, warm?.left, await jobs()], [200, 'string', 3, 0])
  }
  for (let n = 0; n < 2; n++) {
    const { status, warm } = await call('PUT', { paused: false })
    assert.deepEqual([status, warm?.paused_at, warm?.state], [200, null, 'rendering'])
  }
  const { status, warm } = await call('DELETE')
  assert.deepEqual([status, warm?.state, warm?.left], [200, 'cancelled', 0])
  assert.deepEqual(await refused('DELETE'), [409, 'No warm is under way'])
  assert.deepEqual(await refused('PUT', { paused: true }), [409, 'No warm is under way'])
  assert.equal((await call('GET')).warm?.state, 'cancelled')
})

// Proves decided "Warm"
it('403: a domain that is not active, or whose month is used up', async () => {
  await api.pool.query('update domain set is_active = false')
  assert.deepEqual(await refused('POST'), [403, 'Domain is not active'])
  await api.pool.query('update domain set is_active = true')
  const limit = DEFAULT_PLANS['agency_plus']!.monthly_render_limit
  await api.pool.query('insert into render_count values ($1, $2, $3)', [
    ...[domain.id, new Date(TEST_START_MS).toISOString().slice(0, 8).concat('01'), limit],
  ])
  assert.deepEqual(await refused('POST'), [403, 'Monthly render limit reached'])
  assert.equal((await call('GET')).warm, null)
})

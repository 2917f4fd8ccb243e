/** Which variant a crawler gets, what becomes of it, and that none is served for another. */
import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { until } from '../../../test/support/condition.ts'
import { GOOGLEBOT, openEdge } from '../../../test/support/edge.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { transaction } from '../../db/transaction.ts'
import type { AccountId, DomainName, PagePath } from '../../ids.ts'
import type { ClaimedJob } from '../../queue/jobs/claim.ts'
import { refreshPages } from '../../queue/jobs/enqueue.ts'
import { findJob } from '../../queue/jobs/job.ts'
import { checkDueDomains } from '../../queue/upkeep/device-checks.ts'
import type { RenderOutcome } from '../../render/outcome.ts'
import { Devices, devicesView, recordComparison, requestComparison } from '../../sites/devices.ts'
import { updateDomain } from '../../sites/domain-changes.ts'
import { findOwnedDomain } from '../../sites/domains.ts'
import { listPages, listStoredPaths } from '../../store/list-pages.ts'
import { countStored } from '../../store/purge.ts'

const PHONE =
  'Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X) AppleWebKit/537.36 Chrome/99.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'
const RED = 'red.example' as DomainName
const PLAIN = { 'accept-encoding': 'identity' }

const asked: ClaimedJob[] = []
let instead: (job: ClaimedJob) => RenderOutcome | null = () => null
const LATE: RenderOutcome = { kind: 'timed-out', afterMs: 1 }
const failing = (variant: string) => {
  instead = ({ page }) => (page.variant === variant ? LATE : null)
}
const edge = await openEdge({
  async render(job) {
    asked.push(job)
    const html = `<title>${job.page.variant} ${job.page.path}</title>`
    return instead(job) ?? { kind: 'rendered', status: 200, headers: [], html }
  },
})
beforeEach(async () => {
  await edge.reset()
  await edge.pool.query('truncate device_page, unstored_page')
  await devices('both')
  asked.length = 0
  instead = () => null
})

const devices = (devices: string, more: object = {}) => edge.settings({ devices, ...more })
const variants = () => asked.map(({ page }) => page.variant)
const given = async (path: string, agent: string) => {
  const { verdict, headers, body } = await edge.ask(path, { agent, headers: PLAIN })
  return `${verdict} ${headers['x-prepaint-variant']} ${/<title>(\w+)/.exec(String(body))?.[1]}`
}
const used = async () => {
  const sum = 'select coalesce(sum(renders), 0)::int as n from render_count'
  return (await edge.pool.query<{ n: number }>(sum)).rows[0]!.n
}
const update = async (settings: object) => {
  const options = { plans: DEFAULT_PLANS, nowMs: edge.nowMs() }
  await updateDomain(edge.pool, edge.account, RED, { settings }, options)
  await edge.settled()
}

const owned = async () => (await findOwnedDomain(edge.pool, edge.account, RED))!

describe('a phone', () => {
  it('gets its own page with `both`; desktops get theirs; each counts', async () => {
    assert.equal(await given('/a', PHONE), 'rendered mobile mobile')
    assert.equal(await given('/a', GOOGLEBOT), 'rendered desktop desktop')
    assert.equal(await given('/a', PHONE), 'hit mobile mobile')
    assert.equal(await given('/a', GOOGLEBOT), 'hit desktop desktop')
    assert.deepEqual([variants(), await used()], [['mobile', 'desktop'], 2])
  })

  it('whose page cannot be rendered gets the last good one, else the desktop page, else the origin', async () => {
    failing('mobile')
    assert.equal(await given('/a', PHONE), 'pass; timed-out undefined undefined')
    assert.equal(await given('/a', GOOGLEBOT), 'rendered desktop desktop')
    assert.equal(await given('/a', PHONE), 'hit desktop desktop')
    instead = () => null
    assert.equal(await given('/a', PHONE), 'rendered mobile mobile')
    failing('mobile')
    edge.wait(9 * 86_400_000)
    assert.equal(await given('/a', PHONE), 'stale mobile mobile')
  })
})

describe('`auto`', () => {
  it('a path follows its own comparison, else its first segment, else the domain', () => {
    const book = (setting: 'one' | 'both' | 'auto') =>
      new Devices(setting, [
        { path: '/shop/1', differs: true },
        { path: '/shop/2', differs: false },
        { path: '/blog/1?x', differs: false },
        { path: '/', differs: false },
      ])
    const apart = ['/shop/1', '/shop/2', '/shop/3', '/shop', '/blog/2', '/blog?y', '/', '/?a', '/other']
    const said = (setting: 'one' | 'both' | 'auto') => apart.filter((path) => book(setting).tellsApart(path))
    assert.deepEqual(said('auto'), ['/shop/1', '/shop/3', '/shop', '/other'])
    assert.deepEqual([said('one'), said('both')], [[], apart])
    assert(!new Devices('auto', []).tellsApart('/'))
    assert(!new Devices('auto', [{ path: '/', differs: false }]).mayTellApart)
  })

  it('a finding is in force at the edge, and shown', async () => {
    await devices('auto')
    const domain = { domain: edge.red, name: RED, path: '/a' as PagePath }
    assert.equal(await given('/a', PHONE), 'rendered desktop desktop')
    await recordComparison(edge.pool, domain, ['text'])
    assert.equal(await given('/a', PHONE), 'hit desktop desktop', 'nobody asked for a comparison')
    await requestComparison(edge.pool, edge.red, ['/a' as PagePath])
    await recordComparison(edge.pool, domain, ['text'])
    await edge.settled()
    assert.equal(await given('/a', PHONE), 'rendered mobile mobile')
    await recordComparison(edge.pool, domain, [])
    const { finding, pages } = await devicesView(edge.pool, await owned())
    const shown = pages.map(({ alike, differences }) => [alike, differences])
    assert.deepEqual([finding, shown], ['different', [[false, ['text']]]])
  })

  it('compares five pages with different first segments, weekly; those that could not be compared, daily', async () => {
    await devices('auto')
    let nowMs = Date.now()
    const deps = { pool: edge.pool, plans: DEFAULT_PLANS, clock: { nowMs: () => nowMs } }
    const due = async (days: number) => {
      nowMs = Date.now() + days * 86_400_000
      await checkDueDomains(deps)
      const { rows } = await edge.pool.query<{ path: string; is_both: boolean }>(
        `delete from job where state = 'queued' returning path, is_both`,
      )
      assert(rows.every(({ is_both }) => is_both))
      return rows.map(({ path }) => path).sort()
    }
    const record = (path: string, differences: [] | null) =>
      recordComparison(edge.pool, { domain: edge.red, name: RED, path: path as PagePath }, differences)
    assert.deepEqual(await due(0), [], 'before the first crawler')
    await edge.ask('/')
    assert.deepEqual(await due(0), ['/'], 'the only page')
    await edge.pool.query('truncate device_page')
    for (const path of ['/a/1', '/a/2', '/b', '/c', '/d', '/e']) await edge.ask(path)
    const { monthly_render_limit: limit } = DEFAULT_PLANS['starter']!
    const month = `${new Date(nowMs).toISOString().slice(0, 7)}-01`
    await edge.pool.query(
      'insert into render_count values ($1, $2, $3) on conflict (domain_id, month) do update set renders = $3',
      [...[edge.red, month, limit - 9]],
    )
    assert.deepEqual(await due(0), [], 'five pages for both devices are ten renders')
    await edge.pool.query('delete from render_count')
    const first = await due(0)
    assert.deepEqual([first[0], first.length], ['/', 5])
    assert.equal(new Set(first.map((path) => path.split('/')[1])).size, 5)
    assert.deepEqual(await due(0), [], 'they are under way')
    await record('/', null)
    for (const path of first.slice(1)) await record(path, [])
    assert.deepEqual([await due(0.9), await due(1.1)], [[], ['/']])
    await record('/', [])
    assert.deepEqual([await due(6.9), await due(7.1)], [[], first])
  })
})

describe('a refresh of both', () => {
  const refresh = (...paths: string[]) =>
    transaction(edge.pool, (client) => refreshPages(client, edge.red, paths as PagePath[]))

  it('is one job, done when both are; it joins what is queued', async () => {
    const [job] = await refresh('/a')
    const [again] = await refresh('/a')
    assert.equal(again!.jobId, job!.jobId)
    const view = async () => {
      const { state, outcome, variant } = (await findJob(edge.pool, edge.account as AccountId, job!.jobId))!
      return [state, outcome, variant]
    }
    await edge.work()
    assert.deepEqual([variants(), await view()], [['desktop'], ['queued', null, null]])
    await edge.work()
    assert.deepEqual(variants(), ['desktop', 'mobile'])
    assert.deepEqual(await view(), ['done', 'rendered', null])
    assert.equal(await used(), 2)
    assert.equal(await given('/a', PHONE), 'hit mobile mobile')
  })

  it('fails when one fails, and renders the other all the same', async () => {
    const [job] = await refresh('/a')
    failing('desktop')
    await edge.work()
    await edge.work()
    const { state, outcome } = (await findJob(edge.pool, edge.account, job!.jobId))!
    assert.deepEqual([variants(), state, outcome], [['desktop', 'mobile'], 'failed', 'timed-out'])
    assert.equal(await given('/a', PHONE), 'hit mobile mobile')
  })

  it('gives phones at another node their page, where that of desktops fails', async (t) => {
    const second = await edge.node()
    t.after(() => second.close())
    await refresh('/a')
    failing('desktop')
    await edge.work()
    edge.script('hang')
    const answer = second.ask('/a', { agent: PHONE, headers: PLAIN })
    await until('it waits', () => second.waiting() === 1)
    await edge.work()
    const { verdict, headers } = await answer
    assert.deepEqual([verdict, headers['x-prepaint-variant']], ['rendered', 'mobile'])
  })

  it('near the quota: what is left goes to desktops', async () => {
    const most = DEFAULT_PLANS['starter']!.monthly_render_limit * 1.2
    const month = new Date(edge.nowMs()).toISOString().slice(0, 7)
    await edge.pool.query(`insert into render_count values ($1, $2, $3)`, [edge.red, `${month}-01`, most - 2])
    await refresh('/a', '/b')
    for (let turn = 0; turn < 4; turn++) await edge.work()
    const { rows } = await edge.pool.query('select path, variant from page order by path')
    const variant = 'desktop'
    assert.deepEqual(rows, [
      { path: '/a', variant },
      { path: '/b', variant },
    ])
    assert.equal(await used(), most)
  })

  it('is done when phones get the desktop page from now on', async () => {
    const [job] = await refresh('/a')
    await edge.work()
    await update({ devices: 'one' })
    const { state, outcome } = (await findJob(edge.pool, edge.account, job!.jobId))!
    assert.deepEqual([state, outcome, variants()], ['done', 'rendered', ['desktop']])
  })
})

it('lists count paths, keys count variants; `one` deletes what is for phones', async () => {
  await edge.ask('/a')
  await edge.ask('/a', { agent: PHONE })
  await edge.ask('/m', { agent: PHONE })
  await transaction(edge.pool, (client) => refreshPages(client, edge.red, ['/x' as PagePath]))
  const paths = async () => {
    const batches: (readonly string[])[] = []
    for await (const batch of listStoredPaths(edge.pool, edge.red)) batches.push(batch)
    return batches.flat()
  }
  assert.deepEqual(await paths(), ['/a', '/m'])
  const domain = await owned()
  const wanted = { match: null, order: 'path', direction: 'asc', after: null, limit: 9 } as const
  const { pages } = await listPages(edge.pool, domain, { ...wanted, nowMs: edge.nowMs() })
  const listed = pages.map(({ path, variants }) => `${path} ${variants}`)
  assert.deepEqual(listed, ['/a desktop,mobile', '/m mobile'])
  assert.equal((await countStored(edge.pool, edge.account)).entries, 3)
  await update({ devices: 'one' })
  assert.deepEqual([await paths(), (await countStored(edge.pool, edge.account)).entries], [['/a'], 1])
  await edge.work()
  assert.equal(asked.at(-1)!.page.path, '/x')
  const { rows } = await edge.pool.query(`select from job where state in ('queued', 'running')`)
  assert.equal(rows.length, 0)
  assert.equal(await given('/a', PHONE), 'hit desktop desktop')
  await update({ devices: 'both' })
  assert.equal(await edge.purge({ kind: 'path', path: '/a' as PagePath }), 1)
})

/** Which variant a crawler gets, what becomes of it, and that none is served for another. */
import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { type DomainName, wholeAccount } from '@prepaint/contract/ids.ts'
import { Devices } from '@prepaint/contract/settings/devices.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { refreshPages } from '@prepaint/pages/queue/jobs/enqueue.ts'
import { findJob } from '@prepaint/pages/queue/jobs/find-job.ts'
import { DeviceChecks } from '@prepaint/pages/queue/upkeep/device-checks.ts'
import { devicesView, recordComparison, requestComparison } from '@prepaint/pages/store/device-pages.ts'
import { listPages, listStoredPaths } from '@prepaint/pages/store/list-pages.ts'
import { countStored } from '@prepaint/pages/store/purge.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { updateDomain } from '@prepaint/service/sites/domain-changes.ts'
import { findOwnedDomain } from '@prepaint/service/sites/domains.ts'
import { GOOGLEBOT, openEdge, path } from '../../../../test/support/edge.ts'
import type { UnreadOutcome } from '../../../../test/support/outcome.ts'
import { askForSubjects, bringForward, runDueTasks } from '../../../../test/support/tasks.ts'
import type { ClaimedJob } from '../../../pages/src/queue/jobs/claim.ts'

const PHONE = GOOGLEBOT.replace('compatible', 'Android 6.0.1; compatible')
const RED = 'red.example' as DomainName
const PLAIN = { 'accept-encoding': 'identity' }

const asked: ClaimedJob[] = []
/** The variant whose renders time out. */
let failing: string | null
const edge = await openEdge({
  async render(job) {
    asked.push(job)
    const { path, variant } = job.page
    const html = `<title>${variant} ${path}</title>`
    const page: UnreadOutcome = { kind: 'rendered', status: 200, headers: [], html }
    return variant === failing ? { kind: 'timed-out', afterMs: 1 } : page
  },
})
beforeEach(async () => {
  await edge.reset()
  await edge.pool.query('truncate device_page, unstored_page')
  await devices('both')
  asked.length = 0
  failing = null
})

const devices = (devices: string) => edge.settings({ devices })
const variants = () => asked.map(({ page }) => page.variant)
const given = async (path: string, agent: string) => {
  const { verdict, headers, body } = await edge.ask(path, { agent, headers: PLAIN })
  return `${verdict} ${headers['x-prepaint-variant']} ${/<title>(\w+)/.exec(String(body))?.[1]}`
}
const update = async (settings: object) => {
  const options = { plans: DEFAULT_PLANS, nowMs: edge.nowMs() }
  await updateDomain(edge.pool, edge.account, RED, { settings }, options)
  await edge.settled()
}
const owned = async () => (await findOwnedDomain(edge.pool, wholeAccount(edge.account), RED))!

it('a phone gets its own page with `both`, else the last good one, else that of desktops, else the origin', async () => {
  failing = 'mobile'
  assert.equal(await given('/a', PHONE), 'pass; timed-out undefined undefined')
  assert.equal(await given('/a', GOOGLEBOT), 'rendered desktop desktop')
  assert.equal(await given('/a', PHONE), 'hit desktop desktop')
  failing = null
  edge.wait(600_000)
  assert.equal(await given('/a', PHONE), 'rendered mobile mobile')
  assert.equal(await given('/a', PHONE), 'hit mobile mobile')
  assert.equal(await given('/a', GOOGLEBOT), 'hit desktop desktop')
  assert.equal(await edge.counted(), 2)
  failing = 'mobile'
  edge.wait(9 * 86_400_000)
  assert.equal(await given('/a', PHONE), 'stale mobile mobile')
})

describe('`auto`', () => {
  it('a path follows its own comparison, else its first segment, else the domain', () => {
    const same = ['/shop/2', '/blog/1?x', '/'].map((path) => ({ path, differs: false }))
    const compared = [{ path: '/shop/1', differs: true }, ...same]
    const apart = ['/shop/1', '/shop/2', '/shop/3', '/shop', '/blog/2', '/blog?y', '/', '/?a', '/other']
    const said = (setting: 'one' | 'both' | 'auto') => {
      const book = new Devices(setting, compared)
      return apart.filter((path) => book.tellsApart(path))
    }
    assert.deepEqual(said('auto'), ['/shop/1', '/shop/3', '/shop', '/other'])
    assert.deepEqual([said('one'), said('both')], [[], apart])
    assert(!new Devices('auto', []).tellsApart('/'))
    assert(!new Devices('auto', same).mayTellApart)
  })

  it('a finding is in force at the edge, and shown', async () => {
    await devices('auto')
    const domain = { domain: edge.red, name: RED, path: path('/a') }
    assert.equal(await given('/a', PHONE), 'rendered desktop desktop')
    await recordComparison(edge.pool, domain, ['text'])
    assert.equal(await given('/a', PHONE), 'hit desktop desktop', 'nobody asked for a comparison')
    await requestComparison(edge.pool, edge.red, [path('/a')])
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
    // Comparisons are dated by the database.
    const startMs = Date.now()
    const checks = new DeviceChecks(edge.pool, DEFAULT_PLANS, edge)
    await askForSubjects(edge.pool, checks)
    const due = async (days: number) => {
      edge.wait(startMs + days * 86_400_000 - edge.nowMs())
      await bringForward(edge.pool, 300_000)
      assert.equal(await runDueTasks(edge.pool, checks), 1)
      const { rows } = await edge.pool.query<{ path: string; is_both: boolean }>(
        `delete from job where state = 'queued' returning path, is_both`,
      )
      assert(rows.every(({ is_both }) => is_both))
      return rows.map(({ path }) => path).sort()
    }
    const record = (page: string) =>
      recordComparison(edge.pool, { domain: edge.red, name: RED, path: path(page) }, [])
    assert.deepEqual(await due(0), [], 'before the first crawler')
    await edge.ask('/')
    await transaction(edge.pool, async (client) => {
      await client.query('select pg_advisory_xact_lock(7230, $1)', [edge.red])
      assert.deepEqual(await due(0), ['/'], 'the only page, while a long purge has the slot of that number')
    })
    await edge.pool.query('truncate device_page')
    for (const path of ['/a/1', '/a/2', '/b', '/c', '/d', '/e']) await edge.ask(path)
    await edge.count(991)
    assert.deepEqual(await due(0), [], 'five pages for both devices are ten renders')
    await edge.count(0)
    const first = await due(0)
    assert.deepEqual([first[0], first.length], ['/', 5])
    assert.equal(new Set(first.map((path) => path.split('/')[1])).size, 5)
    assert.deepEqual(await due(0), [], 'they are under way')
    for (const path of first.slice(1)) await record(path)
    assert.deepEqual([await due(0.9), await due(1.1)], [[], ['/']])
    await record('/')
    assert.deepEqual([await due(6.9), await due(7.1)], [[], first])
  })
})

describe('a refresh of both', () => {
  const refresh = (...paths: string[]) =>
    transaction(edge.pool, (client) => refreshPages(client, edge.red, paths.map(path)))
  /** Refreshes `/a`; returns what is told of that job. */
  const refreshed = async () => {
    const [job] = await refresh('/a')
    return async () => {
      const { state, outcome, variant } = (await findJob(edge.pool, wholeAccount(edge.account), job!.jobId))!
      return [state, outcome, variant]
    }
  }

  it('is one job, done when both are; it joins what is queued', async () => {
    const told = await refreshed()
    const [job] = await refresh('/a')
    const [again] = await refresh('/a')
    assert.equal(again!.jobId, job!.jobId)
    await edge.work()
    assert.deepEqual([variants(), await told()], [['desktop'], ['queued', null, null]])
    await edge.work()
    assert.deepEqual(
      [variants(), await told()],
      [
        ['desktop', 'mobile'],
        ['done', 'rendered', null],
      ],
    )
    assert.equal(await edge.counted(), 2)
    assert.equal(await given('/a', PHONE), 'hit mobile mobile')
  })

  it('fails when one fails, and renders the other all the same', async () => {
    const told = await refreshed()
    failing = 'desktop'
    await edge.work()
    await edge.work()
    assert.deepEqual(
      [variants(), await told()],
      [
        ['desktop', 'mobile'],
        ['failed', 'timed-out', null],
      ],
    )
    assert.equal(await given('/a', PHONE), 'hit mobile mobile')
  })

  it('near the quota: what is left goes to desktops', async () => {
    await edge.count(1_198)
    await refresh('/a', '/b')
    for (let turn = 0; turn < 4; turn++) await edge.work()
    const { rows } = await edge.pool.query(`select path || ' ' || variant as page from page order by path`)
    assert.deepEqual(rows, [{ page: '/a desktop' }, { page: '/b desktop' }])
    assert.equal(await edge.counted(), 1_200)
  })
})

it('lists count paths, keys count variants; `one` deletes what is for phones', async () => {
  await edge.ask('/a')
  for (const path of ['/a', '/m']) await edge.ask(path, { agent: PHONE })
  await transaction(edge.pool, (client) => refreshPages(client, edge.red, [path('/x')]))
  const stored = async () => {
    const paths: string[] = []
    for await (const batch of listStoredPaths(edge.pool, edge.red)) paths.push(...batch)
    return [...paths, (await countStored(edge.pool, wholeAccount(edge.account))).entries]
  }
  assert.deepEqual(await stored(), ['/a', '/m', 3])
  const wanted = { match: null, order: 'path', direction: 'asc', after: null, limit: 9 } as const
  const { pages } = await listPages(edge.pool, await owned(), { ...wanted, nowMs: edge.nowMs() })
  const listed = pages.map(({ path, variants }) => `${path} ${variants}`)
  assert.deepEqual(listed, ['/a desktop,mobile', '/m mobile'])
  await update({ devices: 'one' })
  assert.deepEqual(await stored(), ['/a', 1])
  await edge.work()
  assert.equal(asked.at(-1)!.page.path, '/x')
  const { rows } = await edge.pool.query(`select from job where state in ('queued', 'running')`)
  assert.equal(rows.length, 0)
  assert.equal(await given('/a', PHONE), 'hit desktop desktop')
  await update({ devices: 'both' })
  assert.equal(await edge.purge({ kind: 'path', path: path('/a') }), 1)
})

/** A page whose render was refused: what the next crawlers get, and what ends it. */
import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { until } from '../../../../test/support/condition.ts'
import { insertDomain } from '../../../../test/support/database.ts'
import { GPTBOT, openEdge, path, type Scripted } from '../../../../test/support/edge.ts'
import { readOutcome } from '../../../../test/support/outcome.ts'
import { refreshPages } from '../../../pages/src/queue/jobs/enqueue.ts'
import { DeployWatch } from '../../../pages/src/queue/upkeep/deploy.ts'
import { startWarm } from '../../../pages/src/queue/warm/warm.ts'
import { noteOutcome } from '../../../pages/src/store/refused-pages.ts'
import { transaction } from '../../../postgres/src/transaction.ts'
import { updateDomain } from '../../../service/src/sites/domain-changes.ts'

const SECOND = 1_000
const DAY = 86_400 * SECOND
const BLANK: Scripted = { kind: 'blank' }

const edge = await openEdge()
beforeEach(() => edge.reset())

/** Asks for a page whose render is refused, if there is one. Returns the verdict and whether it was rendered. */
async function visit(target = '/none', asking = {}): Promise<string> {
  const before = edge.rendered.length
  const verdict = await edge.verdict(target, asking)
  return edge.rendered.length === before ? `${verdict}` : `${verdict} (a render)`
}

describe('the second visit of a refused page', () => {
  const refused: Record<string, Scripted> = {
    blank: BLANK,
    'error-page': { kind: 'error-page', mark: '500' },
    challenge: { kind: 'challenge', mark: 'Cloudflare' },
    'not-html': { kind: 'not-html', contentType: 'application/pdf' },
    'too-large': { kind: 'too-large', what: 'elements' },
    'timed-out': { kind: 'timed-out', afterMs: 20_000 },
    'origin-error': { kind: 'origin-error', status: 503 },
    'origin-unreachable': { kind: 'origin-unreachable', reason: 'ECONNREFUSED' },
  }
  for (const [outcome, scripted] of Object.entries(refused)) {
    it(`passes at once with the reason ${outcome}, and costs no render`, async () => {
      edge.script(scripted)
      assert.equal(await visit(), `pass; ${outcome} (a render)`)
      assert.equal(await visit(), `pass; ${outcome}`)
      assert.equal(await visit('/other'), 'rendered (a render)')
    })
  }

  it('is rendered where the first one says nothing of the page: half a page, an error of the moment, a crash', async () => {
    for (const scripted of [
      { kind: 'incomplete', reason: 'no answer', page: null },
      { kind: 'site-error', status: 503, headers: [], html: 'later' },
    ] as Scripted[]) {
      await edge.reset()
      edge.script(scripted)
      await visit()
      await edge.pool.query('delete from job')
      assert.equal(await visit(), 'rendered (a render)')
    }
  })

  it('passes at every other node, too', async (t) => {
    const other = await edge.node()
    t.after(() => other.close())
    edge.script(BLANK)
    await visit()
    assert.equal(await other.verdict('/none'), 'pass; blank')
    assert.equal(edge.rendered.length, 1)
  })

  it('is rendered on another domain', async () => {
    edge.script(BLANK)
    await visit()
    assert.equal(await visit('/none', { host: 'blue.example' }), 'rendered (a render)')
  })

  it('is rendered for a crawler whose rule renders the page in another way', async () => {
    const rule = { path: '/none', when: { categories: ['ai'] }, action: 'render', render: { wait_ms: 10 } }
    await edge.settings({ rules: [rule] })
    edge.script(BLANK)
    assert.equal(await visit(), 'pass; blank (a render)')
    assert.equal(await visit('/none', { agent: GPTBOT }), 'rendered (a render)')
    assert.equal(await visit(), 'pass; blank', 'what the other one got is not for this one')
  })

  it('gets the last good copy where there is one, and a stale page is not refreshed meanwhile', async () => {
    assert.equal(await visit('/a'), 'rendered (a render)')
    edge.wait(9 * DAY)
    edge.script(BLANK)
    for (const wanted of ['stale (a render)', 'stale']) assert.equal(await visit('/a'), wanted)
    await edge.pool.query(`update page set rendered_at = $1`, [new Date(edge.nowMs() - 2 * DAY)])
    edge.emptyMemory()
    assert.equal(await visit('/a'), 'stale')
    edge.wait(600 * SECOND)
    assert.equal(await visit('/a'), 'stale')
    await until('the refresh is queued', () => edge.refreshed.length === 1)
  })

  it('is rendered each time where retry_seconds is 0', async () => {
    await edge.settings({ retry_seconds: 0 })
    edge.script(BLANK, BLANK)
    for (let visits = 0; visits < 2; visits++) assert.equal(await visit(), 'pass; blank (a render)')
  })
})

describe('the wait after a refusal', () => {
  /** The seconds for which the page passes from now on. */
  async function assertPassesFor(seconds: number, reason: string): Promise<void> {
    edge.wait(seconds * SECOND - 1)
    assert.equal(await visit(), `pass; ${reason}`, `${seconds} s have not passed`)
    edge.wait(1)
  }

  // Proves decided "Refused pages"
  it('is 600 seconds, and twice as long each time the outcome is the same, up to a day', async () => {
    for (const seconds of [600, 1_200, 2_400, 4_800, 9_600, 19_200, 38_400, 76_800, 86_400, 86_400]) {
      edge.script(BLANK)
      assert.equal(await visit(), 'pass; blank (a render)')
      await assertPassesFor(seconds, 'blank')
    }
  })

  it('is that of the setting; another outcome begins with it again', async () => {
    await edge.settings({ retry_seconds: 60 })
    for (const [scripted, reason, seconds] of [
      [BLANK, 'blank', 60],
      [BLANK, 'blank', 120],
      [{ kind: 'error-page', mark: 'x' }, 'error-page', 60],
    ] as [Scripted, string, number][]) {
      edge.script(scripted)
      assert.equal(await visit(), `pass; ${reason} (a render)`)
      await assertPassesFor(seconds, reason)
    }
  })

  it('does not grow while the origin fails, which may end at any moment', async () => {
    for (let visits = 0; visits < 3; visits++) {
      edge.script({ kind: 'origin-error', status: 502 })
      assert.equal(await visit(), 'pass; origin-error (a render)')
      await assertPassesFor(600, 'origin-error')
    }
  })

  it('begins anew after the page was there in between', async () => {
    edge.script(BLANK)
    await visit()
    edge.wait(600 * SECOND)
    assert.equal(await visit(), 'rendered (a render)')
    await edge.pool.query('delete from page')
    edge.emptyMemory()
    edge.script(BLANK)
    assert.equal(await visit(), 'pass; blank (a render)')
    await assertPassesFor(600, 'blank')
  })
})

describe('a refusal is forgotten', () => {
  const view = { plans: DEFAULT_PLANS, nowMs: 0 }
  const red = 'red.example' as Parameters<typeof updateDomain>[2]
  const found = (application: string) =>
    readOutcome({ kind: 'rendered', status: 200, headers: [], html: '', application })
  const done = { state: 'done', outcome: 'rendered' } as const

  /** Three pages have changed from one build to another. */
  async function deploy(): Promise<void> {
    const watch = new DeployWatch(edge.pool, { nowMs: edge.nowMs }, silentLog())
    for (const target of ['/1', '/2', '/3', '/4']) await edge.verdict(target)
    await edge.pool.query(`update page set application = 'one'`)
    await edge.pool.query(
      `update page set application = 'two', previous_application = 'one', rendered_at = rendered_at + interval '1 second'
        where path in ('/1', '/2', '/3')`,
    )
    await watch.after({ ...ID, path: path('/3'), key: `${edge.red}/3` }, found('two'), done)
    const { rowCount } = await edge.pool.query('select from page where stale_since is not null')
    assert.equal(rowCount, 1, 'it was seen')
  }
  const ID = { domain: edge.red, path: path('/none'), variant: 'desktop', key: `${edge.red}/none` } as const
  const ways: Record<string, () => Promise<unknown>> = {
    'a purge of the domain': () => edge.purge({ kind: 'all' }),
    'a purge of the page': () => edge.purge({ kind: 'path', path: path('/none') }),
    'a purge by prefix': () => edge.purge({ kind: 'prefix', prefix: '/no' }),
    'a refresh of the page': async () => {
      await transaction(edge.pool, (client) => refreshPages(client, edge.red, [path('/none')]))
      await edge.pool.query('delete from job')
    },
    'a warm': () => startWarm(edge.pool, edge.red),
    'a deploy': deploy,
    'a change of settings': () =>
      updateDomain(edge.pool, edge.account, red, { settings: { markdown: 'off' } }, view),
    'a change of the origin': () =>
      updateDomain(edge.pool, edge.account, red, { originUrl: edge.origin }, view),
  }
  for (const [way, act] of Object.entries(ways)) {
    it(`after ${way}`, async () => {
      edge.script(BLANK)
      await visit()
      assert.equal(await visit(), 'pass; blank')
      await act()
      await edge.settled()
      assert.equal(await visit(), 'rendered (a render)')
    })
  }

  it('not after a purge of another page, or of another domain', async () => {
    edge.script(BLANK)
    await visit()
    await edge.purge({ kind: 'path', path: path('/none/other') })
    await edge.purge({ kind: 'all' }, edge.blue)
    assert.equal(await visit(), 'pass; blank')
  })

  it('when the account has more refused pages than are remembered: the oldest of its own, none of another account', async () => {
    const limit = 3
    const foreign = await insertDomain(edge.pool, 'green.example')
    const [owner] = (await edge.pool.query('select account_id from domain where id = $1', [foreign])).rows
    const note = (domain: typeof foreign, account: typeof edge.account, target: string, atMs: number) => {
      const page = { domain, path: path(target), variant: 'desktop', key: `${domain}${target}` } as const
      return noteOutcome(edge.pool, { account, page, effect: '' }, 'blank', atMs, limit)
    }
    const remembered = async () => {
      const { rows } = await edge.pool.query('select domain_id, path from refused_page order by refused_at')
      return rows.map((row) => `${row.domain_id === foreign ? 'foreign ' : ''}${row.path}`)
    }
    await note(foreign, owner.account_id, '/old', 1)
    for (let at = 2; at <= 4; at++) await note(at === 3 ? edge.blue : edge.red, edge.account, `/${at}`, at)
    assert.deepEqual(await remembered(), ['foreign /old', '/2', '/3', '/4'])
    await note(edge.red, edge.account, '/2', 5)
    assert.deepEqual(await remembered(), ['foreign /old', '/3', '/4', '/2'], 'the same page again')
    await note(edge.red, edge.account, '/6', 6)
    assert.deepEqual(await remembered(), ['foreign /old', '/4', '/2', '/6'])
  })
})

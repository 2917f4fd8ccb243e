import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { DomainId, DomainName } from '@prepaint/contract/ids.ts'
import type { Facts, Render } from './facts.ts'
import { advance, type Open, type Watch } from './watch.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const QUIET: Facts = {
  nowMs: Date.parse('2026-11-15T12:00:00Z'),
  domain: { id: 1 as DomainId, name: 'a.example.com' as DomainName },
  renders: [],
  usual: { outcomes: {}, textNow: null, texts: {}, rendersADay: 0, search: null },
  quota: { used: 0, limit: 1_000 },
  certificate: { failures: 0, reason: null, endsMs: null },
  dns: { lostMs: null, lostAgainMs: null, state: null, address: null },
  front: { way: 'dns', lastVisitMs: null, refused: 0, lastMs: 0, reason: null, windowMs: 3 * MINUTE_MS },
  origin: { goodMs: null, badMs: null },
}

/** What is reported and resolved, with its minute, where each minute's facts differ so. */
function told(change: (minute: number, nowMs: number) => Partial<Facts>, minutes = 10, start = QUIET.nowMs) {
  const seen: string[] = []
  let watch: Watch = {}
  let open: Open[] = []
  for (let minute = 0; minute < minutes; minute++) {
    const nowMs = start + minute * MINUTE_MS
    const step = advance({ ...QUIET, nowMs, ...change(minute, nowMs) }, watch, open, 1)
    watch = step.watch
    for (const action of step.actions) {
      if (action.do === 'report') {
        seen.push(`${minute} ${action.kind}`)
        open.push({ id: seen.length, kind: action.kind, level: null, openedMs: nowMs })
      } else {
        seen.push(`${minute} ends: ${action.resolution}`)
        open = open.filter(({ id }) => id !== action.id)
      }
    }
  }
  return seen
}

it('opens after 3 minutes, ends after 5 without a sign; within 30 minutes of that only after holding for 30', () => {
  const failing: [from: number, to: number][] = [
    [1, 2],
    [10, 20],
    [54, 90],
    [125, 130],
  ]
  const seen = told((minute) => {
    const failures = failing.some(([from, to]) => minute >= from && minute <= to) ? 2 : 1
    return { certificate: { ...QUIET.certificate, failures } }
  }, 130)
  const [opens, ends] = ['certificate_failing', 'ends: recovered']
  assert.deepEqual(seen, [`13 ${opens}`, `25 ${ends}`, `84 ${opens}`, `95 ${ends}`, `128 ${opens}`])
})

it('a refused front: opens at once from five requests on, and ends ten minutes after the last', () => {
  const refused = (count: number) => (minute: number, nowMs: number) => {
    const lastMs = minute <= 1 ? nowMs : QUIET.nowMs + MINUTE_MS
    const front = {
      ...QUIET.front,
      lastMs,
      refused: minute <= 3 ? count : 0,
      reason: 'domain-not-registered',
    }
    return { front }
  }
  assert.deepEqual(told(refused(5), 15), ['0 integration_refused', '11 ends: recovered'])
  assert.deepEqual(told(refused(4), 15), [])
})

it('a site whose own front sends crawlers: no lost name, and 24 hours of silence after a week of visits', () => {
  const front = (lastVisitMs: number | null) => ({ ...QUIET.front, way: 'middleware', lastVisitMs }) as const
  const lost = { lostMs: QUIET.nowMs, lostAgainMs: QUIET.nowMs, state: 'elsewhere', address: null }
  assert.deepEqual(
    told(() => ({ front: front(null), dns: lost })),
    [],
  )
  assert.deepEqual(
    told((_, nowMs) => ({ front: front(nowMs - DAY_MS - 1) })),
    ['3 crawlers_gone'],
  )
  assert.deepEqual(
    told((_, nowMs) => ({ front: front(nowMs - DAY_MS) })),
    [],
  )
})

it('a forecast: from the fourth day on, at two looks 6 hours apart, until the month is used up', () => {
  const usual = { ...QUIET.usual, rendersADay: 100 }
  const start = Date.parse('2026-11-03T23:00:00Z')
  const quota = (minute: number) => ({ used: minute < 600 ? 100 : 1_000, limit: 1_000 })
  const seen = told((minute) => ({ usual, quota: quota(minute) }), 601, start)
  assert.deepEqual(seen, ['420 quota_forecast', '600 ends: quota_reached', '600 quota_reached'])
})

it('crawlers that are gone, text that shrinks, a certificate that ends, a lost name: at the limit, and one before it', () => {
  const usual = (more: Partial<Facts['usual']>) => told(() => ({ usual: { ...QUIET.usual, ...more } }))
  assert.deepEqual(usual({ search: [9, 50, 50, 50, 50] }), ['3 crawlers_gone'])
  assert.deepEqual(usual({ search: [10, 50, 50, 50, 50] }), [])
  assert.deepEqual(usual({ search: [0, 49, 49, 49, 49] }), [])
  assert.deepEqual(usual({ textNow: 499, texts: { monday: 1_000 } }), ['3 pages_shrinking'])
  assert.deepEqual(usual({ textNow: 500, texts: { monday: 1_000 } }), [])
  const ending = (ms: number) =>
    told((_, nowMs) => ({ certificate: { ...QUIET.certificate, endsMs: nowMs + ms } }))
  assert.deepEqual([ending(7 * DAY_MS - 1), ending(7 * DAY_MS)], [['3 certificate_failing'], []])
  const lost = (lostAgainMs: number | null, more: Partial<Facts> = {}) =>
    told(() => ({ dns: { ...QUIET.dns, lostMs: 1, lostAgainMs }, ...more }))
  const unused = { certificate: { ...QUIET.certificate, endsMs: QUIET.nowMs } }
  assert.deepEqual([lost(null), lost(2), lost(2, unused)], [[], ['0 dns_lost'], ['0 dns_lost']])
})

it('renders: each condition at its limit, and one before it', () => {
  const renders = (outcome: string, count: number, paths = count): Render[] =>
    Array.from({ length: count }, (_, n) => {
      return { path: `/${n % paths}`, outcome, detail: null, atMs: QUIET.nowMs }
    })
  const cases: [Render[], ...opened: string[]][] = [
    [[...renders('challenge', 5, 3), ...renders('rendered', 4)], '3 blocked'],
    [[...renders('challenge', 5, 3), ...renders('rendered', 5)]],
    [renders('challenge', 5, 2)],
    [renders('challenge', 4)],
    [renders('origin-unreachable', 3), '3 origin_unreachable'],
    [renders('origin-unreachable', 2)],
    [renders('shrunk', 5), '3 pages_shrinking'],
    [renders('shrunk', 4)],
  ]
  for (const [given, ...opened] of cases)
    assert.deepEqual(
      told(() => ({ renders: given })),
      opened,
    )

  const failing = (given: Render[], rendered: number, failed: number) => {
    const usual = { ...QUIET.usual, outcomes: { rendered, 'origin-error': failed } }
    return told(() => ({ renders: given, usual })).length
  }
  const errors = renders('origin-error', 10, 5)
  assert.deepEqual([failing(errors, 10, 10), failing(errors, 9, 10)], [1, 0], '20 renders in 7 days')
  assert.deepEqual([failing(errors.slice(1), 90, 9), failing(renders('origin-error', 10, 4), 90, 10)], [0, 0])
  // 60 % of the newest 50 is twice the 30 % of the others.
  const most = renders('rendered', 50).map((each, n) => ({
    ...each,
    outcome: n % 5 < 3 ? 'blank' : 'rendered',
  }))
  const fewer = most.with(47, { ...most[47]!, outcome: 'rendered' })
  assert.deepEqual([failing(most, 90, 60), failing(fewer, 91, 59)], [1, 0])
  // 26 % is twenty points more than 6 %, and not than 7 %, which is no half of it either.
  const some = renders('rendered', 50).map((each, n) => (n % 4 === 0 ? { ...each, outcome: 'blank' } : each))
  assert.deepEqual([failing(some, 37 + 94, 13 + 6), failing(some, 37 + 93, 13 + 7)], [1, 0])
})

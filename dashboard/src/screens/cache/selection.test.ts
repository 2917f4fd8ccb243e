import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Warm } from '../../api/types.ts'
import { between, isSelected, NONE_SELECTED, selectedCount, withSelected } from './selection.ts'
import { warmCost, warmHead, warmNotes, warmPercent } from './warm-progress.ts'

const LOADED = ['/a', '/b', '/c']

it('pages are selected and deselected one by one, and in ranges of both directions', () => {
  const two = withSelected(NONE_SELECTED, ['/a', '/b', '/a'], true, LOADED)
  assert.equal(selectedCount(two, 50_000), 2)
  const one = withSelected(two, ['/a', '/never'], false, LOADED)
  assert.deepEqual([isSelected(one, '/a'), isSelected(one, '/b')], [false, true])
  assert.deepEqual([between(LOADED, 0, 1), between(LOADED, 2, 1)].join(' '), '/a,/b /b,/c')
})

it('all matching pages are selected, loaded or not, and deselecting one keeps the other loaded ones', () => {
  const all = { kind: 'matching' } as const
  assert.equal(selectedCount(all, 50_000), 50_000)
  assert(isSelected(all, '/not-loaded'))
  const left = withSelected(all, ['/b'], false, LOADED)
  assert.deepEqual(left, { kind: 'some', paths: new Set(['/a', '/c']) })
})

const AT = '2026-11-15T12:30:00.000Z'
const WARM: Warm = {
  which: 'all',
  state: 'rendering',
  paused_at: null,
  reason: null,
  started_at: AT,
  ended_at: null,
  sitemaps: { read: 2, left: 3, failed: 0, failures: [] },
  known: 5_000,
  done: 1_200,
  unchanged: 0,
  failed: 300,
  forbidden: 0,
  passed: 0,
  redirected: 0,
  fresh: 0,
  left: 3_500,
  pages_per_second: 2.1,
  seconds_left: 1_667,
}

it('the progress of a warm run is told in words, without counts of 0, and with what it uses of the month', () => {
  const heads: [change: Partial<Warm>, head: string, percent: number | null][] = [
    [{}, '1,200 of 5,000 pages done, 2.1 pages/s, 28 min left', 30],
    [{ paused_at: AT, pages_per_second: null, seconds_left: null }, 'Paused. 1,200 of 5,000 pages done', 30],
    [{ state: 'reading', left: null }, 'Reading sitemaps: 2 read, 3 left', null],
    [{ state: 'cancelled', left: 0 }, 'Cancelled after 1,200 pages', 100],
  ]
  for (const [change, head, percent] of heads) {
    const warm = { ...WARM, ...change }
    assert.deepEqual([warmHead(warm), warmPercent(warm)], [head, percent])
  }
  assert.deepEqual(warmNotes(WARM), ['300 failed'])
  assert.deepEqual(
    warmNotes({ ...WARM, failed: 0, unchanged: 1_000, fresh: 2, forbidden: 3, passed: 4, redirected: 1 }),
    [
      '1,000 unchanged',
      '2 still fresh',
      '3 disallowed by robots.txt',
      '4 excluded by a rule',
      '1 skipped: redirected',
    ],
  )
  assert.match(warmCost(0), /no renders are left/)
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { WarmProgress } from '../../src/queue/warm/warm-progress.ts'
import { warmText } from './watch.ts'

const AT = '2026-11-15T12:30:00.000Z'
const WARM: WarmProgress = {
  ...{ which: 'all', state: 'rendering', paused_at: null, reason: null, started_at: AT, ended_at: null },
  sitemaps: { read: 2, left: 0, failed: 0, failures: [] },
  ...{ known: 500, done: 120, unchanged: 0, failed: 3, forbidden: 0, passed: 0, fresh: 0, left: 377 },
  ...{ pages_per_second: 2.1, seconds_left: 180 },
}

const LINES: [change: Partial<WarmProgress>, text: string][] = [
  [{}, '120 of 500 pages done, 3 failed, 377 left, 2.1 pages/s, 3 min to go'],
  [
    { failed: 0, unchanged: 100, forbidden: 1, passed: 2, fresh: 4, seconds_left: 7_200 },
    '120 of 500 pages done, 100 of them unchanged, 1 not allowed by robots.txt, 2 always passed to the origin, 4 still fresh, 377 left, 2.1 pages/s, 2 h to go',
  ],
  [
    { state: 'reading', sitemaps: { read: 1, left: 3, failed: 0, failures: [] } },
    'Reading sitemaps: 1 read, 3 left',
  ],
  [
    { paused_at: AT, pages_per_second: null, seconds_left: null },
    'Paused: 120 of 500 pages done, 3 failed, 377 left',
  ],
  [
    { paused_at: AT, reason: 'over-quota', pages_per_second: null, seconds_left: null },
    'Paused, the monthly renders are used up: 120 of 500 pages done, 3 failed, 377 left',
  ],
  [{ state: 'done', failed: 0, left: 0 }, 'Done: 120 of 500 pages done'],
  [
    { state: 'cancelled', reason: 'domain-inactive' },
    'Cancelled (domain-inactive): 120 of 500 pages done, 3 failed',
  ],
  [{ state: 'failed', reason: 'robots.txt could not be read' }, 'Failed: robots.txt could not be read'],
]
for (const [change, text] of LINES) it(text, () => assert.equal(warmText({ ...WARM, ...change }), text))

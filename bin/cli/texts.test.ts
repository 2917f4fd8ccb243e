import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RenderRecord } from '@prepaint/contract/outcome/record.ts'
import type { WarmProgress } from '@prepaint/pages/queue/warm/warm-progress.ts'
import { withReading } from '../../test/support/outcome.ts'
import { renderRecord } from '../../test/support/render-record.ts'
import { explanation, withoutReadings } from './render.ts'
import { warmText } from './watch.ts'

const RECORD: RenderRecord = {
  phases: { slot: 0, tab: 80, navigate: 90, firstResponse: 130, settled: 290, snapshot: 300 },
  capture: 'budget',
  requests: { made: 7, spared: 1, blocked: 1, failed: 2, preloaded: 3 },
  troubles: [
    { url: 'https://t.example/a.js', kind: 'blocked', reason: 'its host is on the list of blocked hosts' },
    { url: 'https://shop.example/api', kind: 'failed', reason: 'status 500' },
  ],
  consoleErrors: { count: 1, texts: ['TypeError: x is null\n    at app.js:1'] },
  htmlBytes: 23_456,
}
const ENDED_AT_MS = Date.UTC(2026, 10, 21, 16, 5, 12, 123)

it('the JSON of a render has the page, and nothing of how it was read', () => {
  const page = { status: 200, headers: [] as [string, string][], html: '<p>a</p>' }
  const rendered = { kind: 'rendered', ...page, application: null } as const
  assert.deepEqual(withoutReadings(withReading(rendered)), rendered)
  const incomplete = { kind: 'incomplete', reason: 'no answer', page } as const
  assert.deepEqual(withoutReadings({ ...incomplete, page: withReading(page) }), incomplete)
  assert.deepEqual(withoutReadings({ kind: 'blank' }), { kind: 'blank' })
})

describe('the explanation of a render', () => {
  it('a rendered page is explained by its outcome, requests and steps in time', () => {
    assert.equal(
      explanation({ kind: 'rendered', details: ['status 200'] }, RECORD, ENDED_AT_MS),
      `outcome   rendered, status 200
captured  when all timers had run (budget)
size      23 kB (23,456 bytes)
requests  7 sent, of these 1 blocked, 2 failed, 3 sent ahead of the page; 1 image not downloaded
console   1 error
ended     2026-11-21T16:05:12.123Z

  end ms took ms
       0       0  waiting for a slot
      80      80  opening a clean tab       ############
      90      10  requesting the page       ##
     130      40  waiting for the response  ######
     290     160  scripts and requests      ########################
     300      10  snapshot                  ##

blocked, failed and unanswered requests
  blocked https://t.example/a.js (its host is on the list of blocked hosts)
  failed https://shop.example/api (status 500)
  and 1 more

console errors
  TypeError: x is null at app.js:1`,
    )
  })

  it('of what ended early: what was not reached has no time, the next one counts from the last that was', () => {
    const phases = { slot: 5, tab: 50, navigate: 60, firstResponse: null, settled: null, snapshot: 3_060 }
    const text = explanation(
      { kind: 'timed-out', details: [] },
      renderRecord({ requests: RECORD.requests, phases, capture: null, htmlBytes: null }),
      ENDED_AT_MS,
    )
    assert.match(text, /^outcome +timed-out\ncaptured +no\nsize +no page$/m)
    assert.match(text, /^console +no errors$/m)
    assert.match(text, /^ {7}- {7}- {2}waiting for the response$/m)
    assert.match(text, /^ {4}3060 {4}3000 {2}snapshot +#{24}$/m)
    assert.match(text, /and 3 more$/)
  })

  it('lets no page move the cursor or write a line of its own', () => {
    const evil = 'a\u001b[2J\nb\u202ec\u2028d\re'
    const troubles: RenderRecord['troubles'] = [{ url: evil, kind: 'failed', reason: evil }]
    const record = { ...RECORD, troubles, consoleErrors: { count: 1, texts: [evil] } }
    const text = explanation({ kind: 'redirect', details: [`to ${evil}`] }, record, ENDED_AT_MS)
    assert.doesNotMatch(text, /[\u001b\u202e\u2028\r]/)
    assert.equal(text.split('\n').length, 21)
  })
})

const AT = '2026-11-15T12:30:00.000Z'
const WARM: WarmProgress = {
  ...{ which: 'all', state: 'rendering', paused_at: null, reason: null, started_at: AT, ended_at: null },
  sitemaps: { read: 2, left: 0, failed: 0, failures: [] },
  ...{
    known: 500,
    done: 120,
    unchanged: 0,
    failed: 3,
    forbidden: 0,
    passed: 0,
    redirected: 0,
    fresh: 0,
    left: 377,
  },
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
    { paused_at: AT, reason: 'over-quota', pages_per_second: null, seconds_left: null },
    'Paused, the monthly renders are used up: 120 of 500 pages done, 3 failed, 377 left',
  ],
  [
    { state: 'cancelled', reason: 'domain-inactive' },
    'Cancelled (domain-inactive): 120 of 500 pages done, 3 failed',
  ],
  [{ state: 'failed', reason: 'robots.txt could not be read' }, 'Failed: robots.txt could not be read'],
]
it('the progress of a warm run', () => {
  for (const [change, text] of LINES) assert.equal(warmText({ ...WARM, ...change }), text)
})

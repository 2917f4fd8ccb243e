import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Aged, freshnessOf } from './freshness.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const lifetimes = { freshMs: 10 * HOUR, staleMs: 20 * HOUR, keepMs: 100 * HOUR }

describe('freshness: each state up to the last millisecond and from the next', () => {
  const page = (fields: Partial<Aged> = {}): Aged => ({
    ...{ status: 200, renderedAtMs: 0, staleSinceMs: null, ...fields },
  })
  const cases: [string, Aged, endsAt: [fresh: number, stale: number, kept: number]][] = [
    ['a page', page(), [10 * HOUR, 30 * HOUR, 100 * HOUR]],
    ['a page that an event made stale', page({ staleSinceMs: HOUR }), [HOUR, 21 * HOUR, 100 * HOUR]],
    ['an event after its time', page({ staleSinceMs: 12 * HOUR }), [10 * HOUR, 30 * HOUR, 100 * HOUR]],
    ['404, never stale', page({ status: 404 }), [HOUR, HOUR, 100 * HOUR]],
    ['403, never stale', page({ status: 403 }), [HOUR, HOUR, 100 * HOUR]],
    ['410, never stale', page({ status: 410 }), [HOUR, HOUR, 100 * HOUR]],
    ['a permanent redirect', page({ status: 301 }), [10 * HOUR, 30 * HOUR, 100 * HOUR]],
    ['a temporary redirect', page({ status: 307 }), [HOUR, 21 * HOUR, 100 * HOUR]],
  ]
  for (const [name, entry, [fresh, stale, kept]] of cases) {
    it(name, () => {
      const at = (nowMs: number) => freshnessOf(entry, lifetimes, nowMs)
      assert.deepEqual([at(0), at(fresh - 1)], ['fresh', 'fresh'])
      if (stale > fresh) assert.deepEqual([at(fresh), at(stale - 1)], ['stale', 'stale'])
      assert.deepEqual([at(stale), at(kept - 1), at(kept)], ['kept', 'kept', 'gone'])
    })
  }

  it('a shorter setting wins over the constants', () => {
    const short = { freshMs: MINUTE, staleMs: 0, keepMs: 0 }
    assert.equal(freshnessOf(page({ status: 404 }), short, MINUTE - 1), 'fresh')
    assert.equal(freshnessOf(page({ status: 404 }), short, MINUTE), 'gone')
    assert.equal(freshnessOf(page(), { freshMs: 0, staleMs: 0, keepMs: 0 }, 0), 'gone')
  })
})

/** A page that may not be kept: its crawler gets the last good copy, or the origin, whatever the reason. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startTestEdge, type TestEdge } from '../../../test/support/edge.ts'
import type { RenderOutcome } from '../../render/outcome.ts'

const DAY_MS = 86_400_000

let edge: TestEdge
before(async () => {
  edge = await startTestEdge({ origin: (_req, res) => res.end('from the origin') })
})
after(() => edge.close())

const OUTCOMES: RenderOutcome[] = [
  { kind: 'too-large', what: 'requests' },
  { kind: 'too-large', what: 'response-bytes' },
  { kind: 'too-large', what: 'page-bytes' },
  { kind: 'too-large', what: 'unpacked-bytes' },
  { kind: 'too-large', what: 'elements' },
  { kind: 'too-large', what: 'snapshot-bytes' },
  { kind: 'too-large', what: 'memory' },
  { kind: 'timed-out', afterMs: 20_000 },
  { kind: 'blank' },
  { kind: 'origin-error', status: 500 },
  { kind: 'origin-unreachable', reason: 'headers-too-large' },
]

describe('a render that ends as', () => {
  for (const [at, outcome] of OUTCOMES.entries()) {
    const name = 'what' in outcome ? `${outcome.kind}, ${outcome.what}` : outcome.kind
    it(`${name}: the origin, and the last good copy where there is one`, async () => {
      const path = `/page-${at}`
      edge.script(outcome)
      const first = await edge.ask(path)
      assert.deepEqual([first.verdict, String(first.body)], [`pass; ${outcome.kind}`, 'from the origin'])

      const good = await edge.ask(path)
      assert.equal(good.verdict, 'rendered')
      // Past being stale, so that it would be rendered before it is served.
      edge.wait(9 * DAY_MS)
      edge.script(outcome)
      const kept = await edge.ask(path)
      assert.deepEqual([kept.status, kept.verdict], [200, 'stale'])
      assert.equal(String(kept.body), String(good.body))
      const { rows } = await edge.pool.query<{ outcome: string; detail: string }>(
        `select outcome, detail from job where state = 'failed' and path = $1`,
        [path],
      )
      assert(rows.length > 0 && rows.every((row) => row.outcome === outcome.kind), JSON.stringify(rows))
      if ('what' in outcome) assert(rows.every(({ detail }) => detail === outcome.what))
    })
  }
})

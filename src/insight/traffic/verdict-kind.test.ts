import assert from 'node:assert/strict'
import { it } from 'node:test'

import { hitRatio, kindOfVerdict, noVisits } from './verdict-kind.ts'

it('each verdict is of one kind', () => {
  const kinds = {
    hit: ['hit'],
    stale: ['stale'],
    rendered: ['rendered'],
    sitemap: ['sitemap'],
    passed: ['pass; asset', 'pass; category', 'pass; not-a-crawler', 'pass; inactive', 'pass; forged'],
    failed: ['pass; late', 'pass; timed-out', 'pass; over-quota', 'pass; database', 'pass; a-new-outcome'],
  }
  for (const [kind, verdicts] of Object.entries(kinds)) {
    for (const verdict of verdicts) assert.equal(kindOfVerdict(verdict), kind, verdict)
  }
})

// Proves decided "What counts as traffic"
it('the hit ratio is of requests for pages: what passes by rule and sitemaps are none', () => {
  assert.equal(hitRatio(noVisits()), null)
  assert.equal(hitRatio({ ...noVisits(), passed: 5, sitemap: 3 }), null)
  assert.equal(hitRatio({ ...noVisits(), rendered: 2, passed: 5 }), 0)
  assert.equal(hitRatio({ hit: 5, stale: 1, rendered: 2, failed: 1, passed: 100, sitemap: 7 }), 0.6667)
})

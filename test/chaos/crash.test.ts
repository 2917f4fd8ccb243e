import assert from 'node:assert/strict'
import { it } from 'node:test'

import { crashRun } from './crash-run.ts'

const KILLS = 6

/** The same run again, or a longer one: `node bench/crash.ts --seed N --kills N`. */
it('kill -9 of the node, of Chromium and of PostgreSQL loses nothing that was acknowledged', async (t) => {
  const seed = Math.floor(Math.random() * 1_000_000)
  t.diagnostic(`seed ${seed}`)
  const run = await crashRun({ seed, kills: KILLS, say: (line) => t.diagnostic(line) })
  t.diagnostic(JSON.stringify(run.counts))
  assert.deepEqual(run.violations, [], `seed ${seed}`)
  assert.deepEqual(run.leaked, [], `seed ${seed}`)
  // A run in which nothing happened proves nothing; a busy machine does little of it.
  assert(run.counts.acknowledged > 20 && run.counts.crawled > 5, JSON.stringify(run.counts))
})

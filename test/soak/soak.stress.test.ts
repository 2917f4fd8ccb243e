import assert from 'node:assert/strict'
import { it } from 'node:test'
import { soakRun } from './soak-run.ts'

/** The same for longer, with memory over time: `node bench/soak.ts --seed N`. */
it('renders while processes of the browser are killed come out as the pages are, and leave nothing', async (t) => {
  const seed = Math.floor(Math.random() * 1_000_000)
  t.diagnostic(`seed ${seed}`)
  const run = await soakRun({
    renders: 60,
    seed,
    killEveryMs: 1_000,
    say: (line) => t.diagnostic(line),
  })
  t.diagnostic(JSON.stringify({ ...run.outcomes, ...run.kills, retried: run.retried }))
  assert.deepEqual(run.findings, [], `seed ${seed}`)
  // A run in which nothing happened proves nothing.
  assert(Object.values(run.kills).reduce((sum, count) => sum + count, 0) > 0)
  assert((run.outcomes['rendered'] ?? 0) > 30)
})

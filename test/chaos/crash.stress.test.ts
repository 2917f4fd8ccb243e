import assert from 'node:assert/strict'
import { it } from 'node:test'
import { crashRun } from './crash-run.ts'
import type { Ledger } from './ledger.ts'

/** A run in which nothing happened proves nothing. */
const isEnough = ({ acknowledged, crawled, persons, hostile }: Ledger['counts']) =>
  acknowledged > 20 && crawled > 5 && persons > 0 && hostile > 0

/** The same run again, or a longer one: `node bench/crash.ts --seed N --kills N`. */
it('kill -9 of the node, of Chromium and of PostgreSQL loses nothing that was acknowledged', async (t) => {
  const seed = Math.floor(Math.random() * 1_000_000)
  t.diagnostic(`seed ${seed}`)
  const run = await crashRun({ seed, kills: 6, isEnough, say: (line) => t.diagnostic(line) })
  t.diagnostic(JSON.stringify(run.counts))
  assert.deepEqual([run.violations, run.leaked], [[], []], `seed ${seed}`)
  assert(isEnough(run.counts), JSON.stringify(run.counts))
})

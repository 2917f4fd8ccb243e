import assert from 'node:assert/strict'
import { it } from 'node:test'
import { churnRun } from './churn-run.ts'

/** For an hour, with memory, tables and files judged: `node bench/soak-churn.ts`. */
it('a node that is used by everybody at once while domains come and go answers all of them, and ends clean', async (t) => {
  const seed = Math.floor(Math.random() * 1_000_000)
  const say = (line: string) => t.diagnostic(line)
  const run = await churnRun({ seconds: 12, seed, cores: 2, sampleMs: 2_000, judge: false, say })
  t.diagnostic(`seed ${seed} ${JSON.stringify(run.counts)}`)
  assert.deepEqual(run.findings, [], `seed ${seed}`)
  assert(run.counts.crawled > 0 && run.counts.persons > 0, JSON.stringify(run.counts))
})

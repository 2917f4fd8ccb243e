/**
 * `node bench/soak.ts [--renders 5000] [--seed 1] [--kill-every-ms 4000]` renders pages while browser processes are
 * killed. Each render must succeed at the latest after one retry (without a kill, one in a thousand may need it).
 * Exits with status 1 if processes, files or sockets remain, or memory grows by 15 % (or 64 MiB) in the last two
 * thirds.
 */
import { parseArgs } from 'node:util'

import { soakRun } from '../test/soak/soak-run.ts'
import { processesOf, processTree } from '../test/support/processes.ts'
import { machineLine } from './figures.ts'
import { markdownTable } from './markdown.ts'
import { type MemorySample, trendOf } from './memory-trend.ts'
import { proportionalMemory } from './tree-meter.ts'

const { values } = parseArgs({
  options: {
    renders: { type: 'string', default: '5000' },
    seed: { type: 'string', default: '1' },
    'kill-every-ms': { type: 'string', default: '4000' },
  },
})
const startedMs = performance.now()
const seconds = () => (performance.now() - startedMs) / 1_000
const ROWS = 12
const SAMPLE_MS = 2_000

const samples: MemorySample[] = []
/** Of this process and the browsers, whose parents may have ended. */
function sample(dataDir: string): void {
  const pids = new Set([...processTree(process.pid), ...processesOf(dataDir)].map(({ pid }) => pid))
  const bytes = [...pids].reduce((sum, pid) => sum + proportionalMemory(pid), 0)
  samples.push({ atMs: performance.now() - startedMs, bytes })
}
const inMiB = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MiB`

const run = await soakRun({
  renders: Number(values.renders),
  seed: Number(values.seed),
  killEveryMs: Number(values['kill-every-ms']),
  begun: (dataDir) => void setInterval(() => sample(dataDir), SAMPLE_MS).unref(),
  say: (line) => console.error(`${seconds().toFixed(0)} s  ${line}`),
})

const trend = trendOf(samples)
if (!trend.isFlat)
  run.findings.push(`memory grew by ${inMiB(trend.growthBytes)} at ${inMiB(trend.levelBytes)}`)
console.log(`${new Date().toISOString().slice(0, 10)}, ${machineLine()}`)
console.log(
  `${values.renders} renders, seed ${values.seed}, ${seconds().toFixed(0)} s; outcomes ${JSON.stringify(run.outcomes)}; killed ${JSON.stringify(run.kills)}; ${run.retried} made once more after a kill, ${run.unsteady.length} without one\n`,
)
const step = Math.max(1, Math.ceil(samples.length / ROWS))
console.log(
  markdownTable(
    ['after s', 'mean MiB', 'highest MiB'],
    Array.from({ length: Math.ceil(samples.length / step) }, (_, row) => {
      const part = samples.slice(row * step, (row + 1) * step).map(({ bytes }) => bytes / 2 ** 20)
      const mean = part.reduce((sum, mib) => sum + mib, 0) / part.length
      const from = samples[row * step]!.atMs / 1_000
      return [from.toFixed(0), mean.toFixed(0), Math.max(...part).toFixed(0)]
    }),
    0,
  ),
)
console.log(
  `\nOver the last two thirds: level ${inMiB(trend.levelBytes)}, growth ${inMiB(trend.growthBytes)}, allowed ${inMiB(trend.allowedBytes)}`,
)
for (const words of run.unsteady) console.log(`unsteady: ${words.slice(0, 200)}`)
for (const finding of run.findings) console.log(`WRONG ${finding}`)
process.exitCode = run.findings.length === 0 ? 0 : 1

/**
 * `node bench/soak-churn.ts [--minutes 60] [--seed 1] [--cores 0.4]` uses a whole node with all kinds of clients.
 * Exits with status 1 if memory, tables or open files grow over the last two thirds of the run: by 15 %, or 64 MiB, 8
 * MiB and 16 files. Clients pause so that the node uses at most `--cores`.
 */
import { parseArgs } from 'node:util'

import { churnRun } from '../test/soak/churn-run.ts'
import { machineLine } from './figures.ts'
import { markdownTable } from './markdown.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    cores: { type: 'string', default: '0.4' },
  },
})
const ROWS = 12
const MIB = 2 ** 20
const seconds = Number(values.minutes) * 60
const startedAt = new Date()

const run = await churnRun({
  seconds,
  seed: Number(values.seed),
  cores: Number(values.cores),
  sampleMs: Math.max(2_000, Math.min(10_000, (seconds * 1_000) / 60)),
  judge: true,
  say: (line) => console.error(line),
})

const { samples } = run
console.log(`${startedAt.toISOString().slice(0, 16)}Z, ${machineLine()}`)
console.log(
  `${values.minutes} minutes, seed ${values.seed}, ${run.cores.toFixed(2)} cores; ${JSON.stringify(run.counts)}\n`,
)
const step = Math.max(1, Math.ceil(samples.length / ROWS))
const mean = (part: readonly number[]) => part.reduce((sum, value) => sum + value, 0) / part.length
console.log(
  markdownTable(
    ['after s', 'memory MiB', 'node', 'PostgreSQL', 'browsers', 'tables MiB', 'open files', 'processes'],
    Array.from({ length: Math.ceil(samples.length / step) }, (_, row) => {
      const part = samples.slice(row * step, (row + 1) * step)
      return [
        (part[0]!.atMs / 1_000).toFixed(0),
        mean(part.map(({ memoryBytes }) => memoryBytes / MIB)).toFixed(0),
        ...(['node', 'database', 'browsers'] as const).map((of) =>
          mean(part.map(({ memory }) => memory[of] / MIB)).toFixed(0),
        ),
        mean(part.map(({ tablesBytes }) => tablesBytes / MIB)).toFixed(1),
        mean(part.map(({ files }) => files)).toFixed(0),
        mean(part.map(({ processes }) => processes)).toFixed(0),
      ]
    }),
    0,
  ),
)
for (const [what, unit] of [
  ['memory', MIB],
  ['tables', MIB],
  ['files', 1],
] as const) {
  const { levelBytes, growthBytes, allowedBytes, isFlat } = run.trends[what]
  const say = (value: number) => (value / unit).toFixed(1)
  console.log(
    `${what}: level ${say(levelBytes)}, growth ${say(growthBytes)}, allowed ${say(allowedBytes)}: ${isFlat ? 'flat' : 'NOT FLAT'}`,
  )
}
for (const finding of run.findings) console.log(`WRONG ${finding}`)
process.exitCode = run.findings.length === 0 ? 0 : 1

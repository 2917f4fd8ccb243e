/** `node bench/crash.ts [--seed 1] [--kills 100]`. Exits with status 1 if an acknowledged change was lost. */
import { parseArgs } from 'node:util'

import { crashRun } from '../test/chaos/crash-run.ts'

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, kills: { type: 'string', default: '100' } },
})
const startedMs = performance.now()
const say = (line: string) => console.log(`${((performance.now() - startedMs) / 1000).toFixed(1)} s  ${line}`)

say(`seed ${values.seed}, ${values.kills} kills`)
const { violations, leaked, counts } = await crashRun({
  seed: Number(values.seed),
  kills: Number(values.kills),
  say,
})
say(JSON.stringify(counts))
for (const words of [...violations, ...leaked.map((command) => `left behind: ${command}`)])
  console.log(`WRONG ${words}`)
process.exitCode = violations.length + leaked.length === 0 ? 0 : 1

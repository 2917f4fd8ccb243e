/**
 * `node bench/soak-churn.ts [--minutes 60] [--seed 1] [--cores 0.4]` uses a whole node with all kinds of clients: domains
 * come and go, pages are rendered, hit, passed, purged and warmed, keys renewed, and hostile pages try to leave something
 * behind. Exits with status 1 if memory, tables or open files grow over the last two thirds of the run: by 15 %, or 64
 * MiB, 8 MiB and 16 files. Clients pause so that the node uses at most `--cores`.
 */
import { readdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openDatabase } from '@prepaint/postgres/database.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { type Client, usualClients, wanderer } from '../test/chaos/clients.ts'
import { openLedger, reckon } from '../test/chaos/ledger.ts'
import { seededRandom } from '../test/chaos/seeded-random.ts'
import { startVersionOrigin } from '../test/chaos/version-origin.ts'
import { clearDataDir, makeDataDir } from '../test/support/data-dir.ts'
import { startNodeProcess } from '../test/support/node-process.ts'
import { processTree } from '../test/support/processes.ts'
import { openAccount } from '../test/support/tenant.ts'
import { machineLine } from './figures.ts'
import { markdownTable } from './markdown.ts'
import { trendOf } from './memory-trend.ts'
import { proportionalMemory } from './tree-meter.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    cores: { type: 'string', default: '0.4' },
  },
})
const ROWS = 12
const MIB = 2 ** 20
const EMAIL = 'churn@example.com'
const seconds = Number(values.minutes) * 60
const sampleMs = Math.max(2_000, Math.min(10_000, (seconds * 1_000) / 60))
const startedAt = new Date()

type Sample = Awaited<ReturnType<typeof sample>>
const samples: Sample[] = []
const ledger = openLedger()
const findings = ledger.violations
const cores = await run()
if (ledger.counts.broken > 0) findings.push(`${ledger.counts.broken} requests were refused or broke off`)

async function run(): Promise<number> {
  const random = seededRandom(Number(values.seed))
  const dataDir = makeDataDir()
  const origin = await startVersionOrigin()
  try {
    const limits = { PREPAINT_RENDER_SLOTS: '2', PREPAINT_EDGE_MEMORY_BYTES: '33554432' }
    const node = await startNodeProcess(dataDir, limits)
    const { key } = await openAccount(node, { email: EMAIL, plan: 'enterprise' })
    const stage = { node, disturbed: false, email: EMAIL, key, origin, ledger }
    const database = await openDatabase({ databaseUrl: null, dataDir, log: silentLog(), attach: true })
    const startedMs = performance.now()
    const elapsedMs = () => performance.now() - startedMs
    const isOver = () => elapsedMs() > seconds * 1_000

    const meter = cpuMeter(node.pid)
    const work = async (client: Client) => {
      while (!isOver()) {
        await client(stage)
        // What was used beyond what was allowed is rested.
        while (!isOver() && meter() > Number(values.cores) * elapsedMs()) await delay(250)
      }
    }
    const watch = async () => {
      for (let next = sampleMs; !isOver(); next += sampleMs) {
        samples.push(await sample(node.pid, database.pool, elapsedMs()))
        if (samples.length % 30 === 0) console.error(JSON.stringify({ ...samples.at(-1), ...ledger.counts }))
        await delay(Math.max(0, Math.min(next, seconds * 1_000) - elapsedMs()))
      }
    }
    const clients = [...usualClients(random), wanderer(random)]
    await Promise.all([watch(), ...clients.map(work)])
    const used = meter() / elapsedMs()
    await database.close()
    findings.push(...(await reckon(ledger, node, key, Number.NEGATIVE_INFINITY)))
    const status = await node.stop()
    if (status !== 0) findings.push(`the node ended with status ${status}: ${node.log().slice(-1_000)}`)
    return used
  } finally {
    findings.push(...(await clearDataDir(dataDir)).map((command) => `left: ${command}`))
    await origin.close()
  }
}

/** Milliseconds of processor time that a process and all below it have used; what has ended counts on. */
function cpuMeter(pid: number): () => number {
  const used = new Map<number, number>()
  let lookedMs = Number.NEGATIVE_INFINITY
  let sum = 0
  return () => {
    // Reading all of /proc costs some milliseconds itself.
    if (performance.now() - lookedMs > 1_000) {
      lookedMs = performance.now()
      for (const { pid: each, cpuMs } of processTree(pid))
        used.set(each, Math.max(used.get(each) ?? 0, cpuMs))
      sum = [...used.values()].reduce((all, ms) => all + ms, 0)
    }
    return sum
  }
}

/** A node at one moment. */
async function sample(node: number, pool: pg.Pool, atMs: number) {
  const { rows } = await pool.query<{ bytes: number }>(
    `select sum(pg_total_relation_size(oid))::float8 as bytes
       from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  )
  const tree = processTree(node)
  const memory = { node: 0, database: 0, browsers: 0 }
  for (const { pid, command } of tree) {
    const part = /^postgres:|\/bin\/postgres /.test(command) ? 'database' : 'browsers'
    memory[pid === node ? 'node' : part] += proportionalMemory(pid)
  }
  return {
    atMs,
    memoryBytes: memory.node + memory.database + memory.browsers,
    /** Of it: the node's own process, its PostgreSQL, and the rest, which is its browsers. */
    memory,
    /** Of the node's own process. */
    files: readdirSync(`/proc/${node}/fd`).length,
    processes: tree.length,
    /** Of all tables with their indexes. */
    tablesBytes: rows[0]!.bytes,
  }
}

console.log(`${startedAt.toISOString().slice(0, 16)}Z, ${machineLine()}`)
console.log(
  `${values.minutes} minutes, seed ${values.seed}, ${cores.toFixed(2)} cores; ${JSON.stringify(ledger.counts)}\n`,
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
for (const [what, unit, flat, of] of [
  ['memory', MIB, 64 * MIB, ({ memoryBytes }: Sample) => memoryBytes],
  ['tables', MIB, 8 * MIB, ({ tablesBytes }: Sample) => tablesBytes],
  ['files', 1, 16, ({ files }: Sample) => files],
] as const) {
  const figures = samples.map((one) => ({ atMs: one.atMs, bytes: of(one) }))
  const { levelBytes, growthBytes, allowedBytes, isFlat } = trendOf(figures, flat)
  const say = (value: number) => (value / unit).toFixed(1)
  const words = `${what}: level ${say(levelBytes)}, growth ${say(growthBytes)}, allowed ${say(allowedBytes)}`
  console.log(`${words}: ${isFlat ? 'flat' : 'NOT FLAT'}`)
  if (!isFlat) findings.push(`${what} grew`)
}
for (const finding of findings) console.log(`WRONG ${finding}`)
process.exitCode = findings.length === 0 ? 0 : 1

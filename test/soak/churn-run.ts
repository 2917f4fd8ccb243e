import { setTimeout as delay } from 'node:timers/promises'
import { openDatabase } from '../../src/db/database.ts'
import { silentLog } from '../../src/log.ts'
import { seededRandom } from '../chaos/seeded-random.ts'
import { clearDataDir, makeDataDir } from '../support/data-dir.ts'
import { startNodeProcess } from '../support/node-process.ts'
import { processTree } from '../support/processes.ts'
import { openAccount } from '../support/tenant.ts'
import { actOnce, type Churn } from './churn-acts.ts'
import { startChurnOrigin } from './churn-origin.ts'
import { type ChurnSample, sampleChurn } from './churn-samples.ts'
import { type Trend, trendOf } from './memory-trend.ts'

export type ChurnRun = {
  /** What should not have been; empty when all is well. */
  findings: string[]
  counts: Record<string, number>
  samples: ChurnSample[]
  memory: Trend
  tables: Trend
  files: Trend
  /** Cores that the node, its browsers and its PostgreSQL used, on average. */
  cores: number
}

const CLIENTS = 2
/** Growth over the judged part that is still called flat, beside 15 % of the level. */
const TABLES_BYTES = 8 * 2 ** 20
const FILES = 16

/**
 * A whole node with its own PostgreSQL, used by all kinds of clients at once: domains come and go, pages are rendered,
 * hit, passed, purged, refreshed and warmed, keys renewed. Clients rest so that the node uses at most `cores`. `judge`:
 * whether memory, tables and files have to be flat; a short run says nothing of it.
 */
export async function churnRun(options: {
  seconds: number
  seed: number
  cores: number
  sampleMs: number
  judge: boolean
  say(line: string): void
}): Promise<ChurnRun> {
  const { seconds, seed, say } = options
  const dataDir = makeDataDir()
  const origin = await startChurnOrigin()
  const samples: ChurnSample[] = []
  const email = 'churn@example.com'
  const churn = { counts: {}, findings: [], domains: [], random: seededRandom(seed), email } as Pick<
    Churn,
    'counts' | 'findings' | 'domains' | 'random' | 'email'
  >
  let cores = 0
  try {
    const node = await startNodeProcess(dataDir, {
      PREPAINT_RENDER_SLOTS: '2',
      PREPAINT_EDGE_MEMORY_BYTES: '33554432',
    })
    const { key } = await openAccount(node, { email, plan: 'enterprise' })
    const stage: Churn = { ...churn, node, key, originUrl: origin.url }
    const database = await openDatabase({ databaseUrl: null, dataDir, log: silentLog(), attach: true })
    const startedMs = performance.now()
    const elapsedMs = () => performance.now() - startedMs
    const isOver = () => elapsedMs() > seconds * 1_000

    const meter = cpuMeter(node.pid)
    const work = async () => {
      while (!isOver()) {
        await actOnce(stage)
        // What was used beyond what was allowed is rested.
        while (!isOver() && meter() > options.cores * elapsedMs()) await delay(250)
        await delay(10)
      }
    }
    const watch = async () => {
      for (let next = options.sampleMs; !isOver(); next += options.sampleMs) {
        samples.push(await sampleChurn(node.pid, database.pool, elapsedMs()))
        if (samples.length % 30 === 0) say(lineOf(samples.at(-1)!, stage.counts))
        await delay(Math.max(0, Math.min(next, seconds * 1_000) - elapsedMs()))
      }
    }
    await Promise.all([watch(), ...Array.from({ length: CLIENTS }, work)])
    cores = meter() / elapsedMs()
    await database.close()
    if (!node.running) churn.findings.push(`the node ended: ${node.log().slice(-1_000)}`)
    const status = await node.stop()
    if (status !== 0) churn.findings.push(`the node ended with status ${status}`)
  } finally {
    churn.findings.push(...(await clearDataDir(dataDir)).map((command) => `left: ${command}`))
    await origin.close()
  }
  const trend = (of: (sample: ChurnSample) => number, allowed?: number) =>
    trendOf(
      samples.map((sample) => ({ atMs: sample.atMs, bytes: of(sample) })),
      allowed,
    )
  const memory = trend(({ memoryBytes }) => memoryBytes)
  const tables = trend(({ tablesBytes }) => tablesBytes, TABLES_BYTES)
  const files = trend((sample) => sample.files, FILES)
  if (options.judge) {
    for (const [what, { isFlat, growthBytes, levelBytes }] of Object.entries({ memory, tables, files })) {
      if (!isFlat)
        churn.findings.push(`${what} grew by ${growthBytes.toFixed(0)} at ${levelBytes.toFixed(0)}`)
    }
  }
  return { findings: churn.findings, counts: churn.counts, samples, memory, tables, files, cores }
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

export function lineOf(sample: ChurnSample, counts: Record<string, number>): string {
  const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(1)
  return `${(sample.atMs / 1_000).toFixed(0)} s: ${mib(sample.memoryBytes)} MiB in ${sample.processes} processes, ${sample.files} files, tables ${mib(sample.tablesBytes)} MiB; ${JSON.stringify(counts)}`
}

import { readdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { openDatabase } from '../../src/db/database.ts'
import { silentLog } from '../../src/log.ts'
import { type Client, usualClients } from '../chaos/clients.ts'
import { openLedger, reckon } from '../chaos/ledger.ts'
import { pick, type Random, seededRandom } from '../chaos/seeded-random.ts'
import { startVersionOrigin } from '../chaos/version-origin.ts'
import { clearDataDir, makeDataDir } from '../support/data-dir.ts'
import { edgeRequest, GOOGLEBOT, PERSON } from '../support/edge-request.ts'
import { startNodeProcess } from '../support/node-process.ts'
import { processTree, proportionalMemory } from '../support/processes.ts'
import { callApi, openAccount } from '../support/tenant.ts'

/** A node at one moment. */
type Sample = {
  atMs: number
  memoryBytes: number
  /** Of it: the node's own process, its PostgreSQL, and the rest, which is its browsers. */
  memory: { node: number; database: number; browsers: number }
  /** Of the node's own process. */
  files: number
  processes: number
  /** Of all tables with their indexes. */
  tablesBytes: number
}

type Trend = { levelBytes: number; growthBytes: number; allowedBytes: number; isFlat: boolean }

const EMAIL = 'churn@example.com'
/** Growth over the judged part that is still called flat: of the level, and in any case. */
const FLAT_SHARE = 0.15
const FLAT = { memory: 64 * 2 ** 20, tables: 8 * 2 ** 20, files: 16 }

/**
 * A whole node with its own PostgreSQL, used by all kinds of clients at once: domains come and go, pages are rendered,
 * hit, passed, purged and warmed, keys renewed, and hostile pages try to leave something behind. Clients rest so that
 * the node uses at most `cores`. `judge`: whether memory, tables and files have to be flat; a short run says nothing of
 * it. `findings`: what should not have been.
 */
export async function churnRun(options: {
  seconds: number
  seed: number
  cores: number
  sampleMs: number
  judge: boolean
  say(line: string): void
}) {
  const { seconds, say } = options
  const random = seededRandom(options.seed)
  const dataDir = makeDataDir()
  const origin = await startVersionOrigin(HOSTILE)
  const samples: Sample[] = []
  const ledger = openLedger()
  const findings = ledger.violations
  const counts = { persons: 0, hostile: 0, warmed: 0 }
  let cores = 0
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
        while (!isOver() && meter() > options.cores * elapsedMs()) await delay(250)
      }
    }
    const watch = async () => {
      for (let next = options.sampleMs; !isOver(); next += options.sampleMs) {
        samples.push(await sample(node.pid, database.pool, elapsedMs()))
        if (samples.length % 30 === 0) say(JSON.stringify({ ...samples.at(-1), ...ledger.counts, ...counts }))
        await delay(Math.max(0, Math.min(next, seconds * 1_000) - elapsedMs()))
      }
    }
    const clients = [...usualClients(random), wanderer(random, counts)]
    await Promise.all([watch(), ...clients.map(work)])
    cores = meter() / elapsedMs()
    await database.close()
    findings.push(...(await reckon(ledger, node, key, Number.NEGATIVE_INFINITY)))
    const status = await node.stop()
    if (status !== 0) findings.push(`the node ended with status ${status}: ${node.log().slice(-1_000)}`)
  } finally {
    findings.push(...(await clearDataDir(dataDir)).map((command) => `left: ${command}`))
    await origin.close()
  }
  const trends = {
    memory: trendOf(samples, FLAT.memory, ({ memoryBytes }) => memoryBytes),
    tables: trendOf(samples, FLAT.tables, ({ tablesBytes }) => tablesBytes),
    files: trendOf(samples, FLAT.files, ({ files }) => files),
  }
  for (const [what, { isFlat, growthBytes, levelBytes }] of Object.entries(trends)) {
    if (options.judge && !isFlat)
      findings.push(`${what} grew by ${growthBytes.toFixed(0)} at ${levelBytes.toFixed(0)}`)
  }
  return { findings, counts: { ...ledger.counts, ...counts }, samples, trends, cores }
}

/** Pages that try to leave something behind, by path: workers, storage, memory, frames. */
const HOSTILE: Record<string, string> = {
  '/hostile/workers': `for (let n = 0; n < 4; n++) new Worker(URL.createObjectURL(new Blob(['for (;;);'])))`,
  '/hostile/storage': `localStorage.all = 'x'.repeat(4e6)
    const request = indexedDB.open('soak', 1); request.onupgradeneeded = () => request.result.createObjectStore('s')
    request.onsuccess = () => request.result.transaction('s', 'readwrite').objectStore('s').put(new Blob(['z'.repeat(1e6)]), 1)`,
  '/hostile/memory': `window.held = new Uint8Array(6e7).fill(1)`,
  '/hostile/frames': `for (let n = 0; n < 60; n++) document.body.append(Object.assign(document.createElement('iframe'), { srcdoc: '<script>setInterval(() => {}, 10)</' + 'script>' }))`,
}

/** A person and a crawler on pages of which there is no end, hostile pages, and now and then a warm run. */
function wanderer(random: Random, counts: { persons: number; hostile: number; warmed: number }): Client {
  return async ({ node, key, ledger }) => {
    const there = ledger.domains.filter(({ standing }) => standing === 'there')
    if (there.length === 0) return void (await delay(20))
    const domain = pick(random, there)
    const ask = async (userAgent: string, path: string) => {
      const { status, verdict } = await edgeRequest(node.edge, { host: domain.name, path, userAgent })
      if (status !== 200 && domain.standing === 'there')
        ledger.violations.push(`${domain.name}${path}: ${status} ${verdict}`)
    }
    for (let n = 0; n < 10; n++) await ask(PERSON, `/q/${random()}`)
    counts.persons += 10
    await ask(GOOGLEBOT, `/q/${random()}`)
    if (random() < 0.2) {
      await ask(GOOGLEBOT, pick(random, Object.keys(HOSTILE)))
      counts.hostile++
    }
    if (random() < 0.05) {
      const path = `/api/domains/${domain.name}/warm`
      await callApi(node, key, { method: 'POST', path, body: { which: 'all' } })
      counts.warmed++
    }
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

async function sample(node: number, pool: pg.Pool, atMs: number): Promise<Sample> {
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
    memory,
    files: readdirSync(`/proc/${node}/fd`).length,
    processes: tree.length,
    tablesBytes: rows[0]!.bytes,
  }
}

/**
 * The straight line through the last two thirds of the samples (least squares): its height in the middle and what it
 * grows by from their first to their last. The first third is left out: caches fill, and browsers are not yet at the
 * size at which they are replaced. `flat`: growth that is called flat in any case.
 */
function trendOf(samples: readonly Sample[], flat: number, of: (sample: Sample) => number): Trend {
  const judged = samples.slice(Math.floor(samples.length / 3))
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1)
  const middleMs = mean(judged.map(({ atMs }) => atMs))
  const levelBytes = mean(judged.map(of))
  let over = 0
  let under = 0
  for (const one of judged) {
    over += (one.atMs - middleMs) * (of(one) - levelBytes)
    under += (one.atMs - middleMs) ** 2
  }
  const spanMs = (judged.at(-1)?.atMs ?? 0) - (judged[0]?.atMs ?? 0)
  const growthBytes = under === 0 ? 0 : (over / under) * spanMs
  const allowedBytes = Math.max(FLAT_SHARE * levelBytes, flat)
  return { levelBytes, growthBytes, allowedBytes, isFlat: growthBytes <= allowedBytes }
}

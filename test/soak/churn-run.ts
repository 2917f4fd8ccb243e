import { readdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { openDatabase } from '../../src/db/database.ts'
import { silentLog } from '../../src/log.ts'
import { pick, type Random, seededRandom } from '../chaos/seeded-random.ts'
import { runJson } from '../support/command-line.ts'
import { clearDataDir, makeDataDir } from '../support/data-dir.ts'
import { edgeRequest, GOOGLEBOT, PERSON } from '../support/edge-request.ts'
import { serve } from '../support/loopback.ts'
import { type NodeProcess, startNodeProcess } from '../support/node-process.ts'
import { type ProcessEntry, processTree, proportionalMemory } from '../support/processes.ts'
import { callApi, openAccount } from '../support/tenant.ts'
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

/** Of a churn run. */
export type Churn = {
  node: NodeProcess
  key: string
  email: string
  originUrl: string
  random: Random
  /** Live domains, the oldest first. */
  domains: string[]
  counts: Record<string, number>
  /** What should not have been. */
  findings: string[]
}

const DOMAINS = 10
const PAGES = 40
let made = 0

/** What the clients of a node do, and how often as compared with each other. */
const ACTS: readonly { weight: number; act(churn: Churn): Promise<void> }[] = [
  { weight: 30, act: (churn) => visit(churn, GOOGLEBOT, `/p/${number(churn, PAGES)}`) },
  { weight: 10, act: (churn) => visit(churn, GOOGLEBOT, `/q/${number(churn, 1e6)}`) },
  { weight: 40, act: (churn) => visit(churn, PERSON, `/p/${number(churn, PAGES)}`) },
  { weight: 1, act: (churn) => visit(churn, GOOGLEBOT, '/sitemap.xml') },
  { weight: 3, act: (churn) => post(churn, 'purge', { path: `/p/${number(churn, PAGES)}` }) },
  { weight: 1, act: (churn) => post(churn, 'purge', { path: '/q/*' }) },
  { weight: 3, act: (churn) => post(churn, 'refresh', { paths: [`/p/${number(churn, SITEMAP_PAGES)}`] }) },
  { weight: 1, act: (churn) => renew(churn) },
  { weight: 0.3, act: (churn) => warm(churn) },
  { weight: 0.1, act: (churn) => renewKey(churn) },
]

/** One thing, chosen at random. */
export async function actOnce(churn: Churn): Promise<void> {
  while (churn.domains.length < DOMAINS) await register(churn)
  let at = churn.random() * ACTS.reduce((sum, { weight }) => sum + weight, 0)
  const chosen = ACTS.find(({ weight }) => {
    at -= weight
    return at <= 0
  })
  const [found, there] = [churn.findings.length, new Set(churn.domains)]
  await (chosen ?? ACTS[0]!).act(churn).catch((error: Error) => churn.findings.push(error.message))
  // Another client has deleted a domain meanwhile: what was asked of it may have been refused.
  const gone = [...there].filter((name) => !churn.domains.includes(name))
  const excused = (words: string) => gone.some((name) => words.includes(name))
  churn.findings.push(...churn.findings.splice(found).filter((words) => !excused(words)))
}

function number({ random }: Churn, below: number): number {
  return Math.floor(random() * below)
}

function count({ counts }: Churn, what: string): void {
  counts[what] = (counts[what] ?? 0) + 1
}

async function visit(churn: Churn, userAgent: string, path: string): Promise<void> {
  const host = pick(churn.random, churn.domains)
  const { status, verdict } = await edgeRequest(churn.node.edge, { host, path, userAgent })
  count(churn, userAgent === PERSON ? 'person' : (verdict.split(';', 1)[0] ?? ''))
  if (status !== 200) churn.findings.push(`${host}${path}: ${status} ${verdict}`)
}

async function api(churn: Churn, call: Parameters<typeof callApi>[2], wanted: number): Promise<void> {
  const { status, body } = await callApi(churn.node, churn.key, call)
  if (status !== wanted) churn.findings.push(`${call.method} ${call.path}: ${status} ${JSON.stringify(body)}`)
}

async function post(churn: Churn, what: 'purge' | 'refresh', more: object): Promise<void> {
  count(churn, what)
  const body = { domain: pick(churn.random, churn.domains), ...more }
  await api(churn, { method: 'POST', path: `/api/cache/${what}`, body }, 200)
}

async function register(churn: Churn): Promise<void> {
  const name = `shop-${++made}.example`
  const body = { custom_domain: name, origin_url: churn.originUrl }
  await api(churn, { method: 'POST', path: '/api/domains', body }, 201)
  churn.domains.push(name)
  count(churn, 'registered')
}

/** The oldest domain goes, with its jobs under way; a new one comes. */
async function renew(churn: Churn): Promise<void> {
  const oldest = churn.domains.shift()
  if (oldest !== undefined) await api(churn, { method: 'DELETE', path: `/api/domains/${oldest}` }, 200)
  await register(churn)
}

async function warm(churn: Churn): Promise<void> {
  count(churn, 'warm')
  await command(churn, ['cache', 'warm', '--domain', pick(churn.random, churn.domains)])
}

async function renewKey(churn: Churn): Promise<void> {
  count(churn, 'key')
  const json = await command(churn, ['key', 'create', '--email', churn.email, '--name', 'another'])
  await command(churn, ['key', 'revoke', '--id', String(json['id'])])
}

async function command(churn: Churn, args: string[]): Promise<Record<string, unknown>> {
  const { code, json } = await runJson(args, churn.node.settings)
  if (code !== 0) churn.findings.push(`${args.join(' ')}: ${JSON.stringify(json)}`)
  return json
}

/** A node at one moment. */
export type ChurnSample = {
  atMs: number
  /** Of the node, its browsers and its PostgreSQL. */
  memoryBytes: number
  /** Of it: the node's own process, its PostgreSQL, and the rest, which is its browsers. */
  memory: { node: number; database: number; browsers: number }
  /** Of the node's own process. */
  files: number
  processes: number
  /** Of all tables with their indexes, and of each. */
  tablesBytes: number
  tables: Record<string, { bytes: number; live: number; dead: number }>
}

const TABLES = `
  select c.relname as name, pg_total_relation_size(c.oid)::float8 as bytes,
         coalesce(s.n_live_tup, 0)::float8 as live, coalesce(s.n_dead_tup, 0)::float8 as dead
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    left join pg_stat_user_tables s on s.relid = c.oid
   where c.relkind = 'r' and n.nspname = 'public'`

export async function sampleChurn(pid: number, pool: pg.Pool, atMs: number): Promise<ChurnSample> {
  const { rows } = await pool.query<{ name: string; bytes: number; live: number; dead: number }>(TABLES)
  const tree = processTree(pid)
  const memory = { node: 0, database: 0, browsers: 0 }
  for (const process of tree) memory[partOf(process, pid)] += proportionalMemory(process.pid)
  return {
    atMs,
    memoryBytes: memory.node + memory.database + memory.browsers,
    memory,
    files: readdirSync(`/proc/${pid}/fd`).length,
    processes: tree.length,
    tablesBytes: rows.reduce((sum, { bytes }) => sum + bytes, 0),
    tables: Object.fromEntries(rows.map(({ name, ...size }) => [name, size])),
  }
}

function partOf(process: ProcessEntry, node: number): 'node' | 'database' | 'browsers' {
  if (process.pid === node) return 'node'
  return process.command.startsWith('postgres:') || process.command.includes('/bin/postgres ')
    ? 'database'
    : 'browsers'
}

/** A client-rendered shop of as many pages as are asked for, with a sitemap of the first of them. */
export type ChurnOrigin = { url: string; close(): Promise<void> }

export const SITEMAP_PAGES = 12
const ROWS = 120

const DOCUMENT = `<!doctype html><html><head><title>shop</title></head><body><main></main><script>
fetch('/stock?of=' + location.pathname).then((answer) => answer.json()).then((stock) => {
  const main = document.querySelector('main')
  for (const { name, price } of stock) {
    const row = document.createElement('p')
    row.textContent = name + ' for ' + price + ' at ' + location.host + location.pathname
    main.append(row)
  }
})
</script></body></html>`

export async function startChurnOrigin(): Promise<ChurnOrigin> {
  const { url, close } = await serve((request, response) => {
    const send = (type: string, body: string) => response.writeHead(200, { 'content-type': type }).end(body)
    const { pathname } = new URL(request.url ?? '/', 'http://shop')
    if (pathname === '/stock') {
      // Otherwise each time, so that what is stored is new.
      const price = Math.random().toFixed(8)
      const stock = Array.from({ length: ROWS }, (_, row) => ({ name: `thing ${row}`, price }))
      send('application/json', JSON.stringify(stock))
    } else if (pathname === '/sitemap.xml') {
      const pages = Array.from({ length: SITEMAP_PAGES }, (_, at) => `<url><loc>${url}/p/${at}</loc></url>`)
      send('application/xml', `<?xml version="1.0"?><urlset>${pages.join('')}</urlset>`)
    } else if (pathname === '/robots.txt') send('text/plain', 'User-agent: *\nAllow: /\n')
    else send('text/html; charset=utf-8', DOCUMENT)
  })
  return { url, close }
}

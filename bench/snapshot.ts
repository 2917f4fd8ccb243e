/**
 * `node bench/snapshot.ts [--domains 10000] [--pages 10000] [--rate 500] [--only snapshot,marks]`
 * What edges need to serve without PostgreSQL: size, time and memory of a snapshot of all domains, each with a certificate; a
 * start from it while PostgreSQL is away; and pages in memory that a reconnect has marked, which are compared with
 * PostgreSQL under load. The node runs from the checkout.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { pageBody } from '@prepaint/pages/store/stored-page.ts'
import pg from 'pg'
import { createTestCa } from '../test/support/certificate-authority.ts'
import { until as untilWithin } from '../test/support/condition.ts'
import { clearDataDir, makeDataDir } from '../test/support/data-dir.ts'
import { startDatabaseProxy } from '../test/support/database-proxy.ts'
import { edgeRequest, GOOGLEBOT, PERSON } from '../test/support/edge-request.ts'
import { serve } from '../test/support/loopback.ts'
import { type NodeProcess, startNodeProcess } from '../test/support/node-process.ts'
import { startTestServer } from '../test/support/postgres-server.ts'
import { machineLine, percentile } from './figures.ts'
import { markdownTable } from './markdown.ts'

const { values } = parseArgs({
  options: {
    domains: { type: 'string', default: '10000' },
    pages: { type: 'string', default: '10000' },
    rate: { type: 'string', default: '500' },
    only: { type: 'string', default: 'snapshot,marks' },
  },
})
const domains = Number(values.domains)
const pages = Number(values.pages)
const rate = Number(values.rate)
const wanted = new Set(values.only.split(','))
const AT_ONCE = 50
/** Fewer than a node allows one client. */
const MOST_SOCKETS = 200
/** A statement may take 30 s. */
const FILL_STEP = 1_000
const until = <T>(what: string, probe: () => T | Promise<T>) => untilWithin(what, probe, 300_000)

const rows: [what: string, figure: string][] = []
const origin = await serve((_request, response) => response.end('of the origin'))
const server = await startTestServer()
const proxy = await startDatabaseProxy(server.connection)
const pool = new pg.Pool({ ...server.connection, max: 2 })
pool.on('error', () => {})
const dirs = [makeDataDir(), makeDataDir()] as const
const common = {
  PREPAINT_ROLES: 'edge,api',
  PREPAINT_SECRET_KEY: randomBytes(32).toString('base64'),
  PREPAINT_EDGE_MEMORY_BYTES: String(512 * 1024 * 1024),
  DATABASE_URL: proxy.url,
}
const started: NodeProcess[] = []

try {
  await fill()
  if (wanted.has('snapshot')) await measureSnapshot()
  if (wanted.has('marks')) await compareMarked()
} finally {
  for (const node of started) if (node.running) await node.stop()
  await pool.end()
  proxy.close()
  await server.close()
  await origin.close()
  for (const dir of dirs) await clearDataDir(dir)
}
console.log(`${new Date().toISOString().slice(0, 10)}, ${machineLine()}\n`)
console.log(markdownTable(['what', 'figure'], rows))

/** Writes a snapshot, and starts from it. */
async function measureSnapshot(): Promise<void> {
  const bare = await start(dirs[0], { PREPAINT_SNAPSHOT_HOURS: '0' })
  await sleep(5_000)
  note('a node without a snapshot', `ready in ${bare.readyMs.toFixed(0)} ms, ${memory(bare)}`)
  await bare.stop()

  const writing = await start(dirs[1])
  const beganMs = performance.now()
  await until(
    'the snapshot is complete',
    async () => (await metric(writing, 'prepaint_snapshot_domains')) === domains,
  )
  const writeMs = performance.now() - beganMs
  note('ready while it is written', `in ${writing.readyMs.toFixed(0)} ms`)
  note(`a first snapshot of ${domains} domains`, `in ${writeMs.toFixed(0)} ms after the ready line`)
  note('the same node afterwards', memory(writing))
  await writing.stop()
  const bytes = statSync(path.join(dirs[1], 'edge-snapshot.db')).size
  note('size on the disk', `${mib(bytes)}, ${(bytes / domains / 1024).toFixed(1)} KiB a domain`)

  await server.stop()
  const alone = await start(dirs[1])
  note(
    'a start from it without PostgreSQL',
    `ready in ${alone.readyMs.toFixed(0)} ms (${alone.database}), ${memory(alone)}`,
  )
  await askEach(alone, domains, (at) => ({ host: `d${at}.example`, path: '/', userAgent: PERSON }))
  note(`after a person of each of ${domains} domains`, memory(alone))
  await alone.stop()
  await server.start()
}

/** All pages are in memory; then all connections to PostgreSQL end, and each page is asked for once. */
async function compareMarked(): Promise<void> {
  const node = await start(dirs[1])
  const page = (at: number) => ({ host: 'd0.example', path: `/p${at}`, userAgent: GOOGLEBOT })
  await askEach(node, pages, page)
  const before = await load(node, page)
  note(`hits at ${rate}/s before`, shown(before))
  const readBytes = proxy.bytesRead()
  await pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'prepaint' and pid <> pg_backend_pid()`,
  )
  const during = await load(node, page)
  note(`hits at ${rate}/s while ${pages} marked pages are compared`, shown(during))
  note('p99, times that before', (during.p99Ms / before.p99Ms).toFixed(2))
  note('read from PostgreSQL meanwhile', mib(proxy.bytesRead() - readBytes))
  await node.stop()
}

type Load = { p50Ms: number; p99Ms: number; verdicts: Record<string, number> }

/** Asks for each page once, at an even rate. */
async function load(node: NodeProcess, page: (at: number) => Asked): Promise<Load> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: MOST_SOCKETS })
  const took: number[] = []
  const verdicts: Record<string, number> = {}
  const open: Promise<void>[] = []
  const beganMs = performance.now()
  for (let at = 0; at < pages; at++) {
    const waitMs = beganMs + (at * 1_000) / rate - performance.now()
    if (waitMs > 0) await sleep(waitMs)
    const askedMs = performance.now()
    const answered = edgeRequest(node.edge, { ...page(at), agent }).then(({ verdict }) => {
      took.push(performance.now() - askedMs)
      verdicts[verdict] = (verdicts[verdict] ?? 0) + 1
    })
    open.push(answered)
  }
  await Promise.all(open)
  agent.destroy()
  return { p50Ms: percentile(took, 0.5), p99Ms: percentile(took, 0.99), verdicts }
}

function shown({ p50Ms, p99Ms, verdicts }: Load): string {
  return `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms, ${JSON.stringify(verdicts)}`
}

type Asked = { host: string; path: string; userAgent: string }

async function askEach(node: NodeProcess, count: number, asked: (at: number) => Asked): Promise<void> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: AT_ONCE })
  let next = 0
  const work = async () => {
    while (next < count) await edgeRequest(node.edge, { ...asked(next++), agent })
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  agent.destroy()
}

async function fill(): Promise<void> {
  await pool.query(`insert into account (email, plan) values ('bench@example.com', 'enterprise')`)
  await pool.query(
    `insert into domain (account_id, custom_domain, origin_url, is_active)
     select account.id, 'd' || n || '.example', $2, true from account, generate_series(0, $1::integer - 1) n`,
    [domains, origin.url],
  )
  // A chain of two, as CAs give it. The keys are as long as sealed ones; no handshake opens them.
  const middle = createTestCa('Bench intermediate', Date.now(), createTestCa())
  const { chain } = middle.leaf({ names: ['d0.example'] })
  const filled = `${chain}${chain}`.slice(0, 2_900)
  await pool.query(
    `insert into certificate (domain_id, source, chain, key_sealed, not_before, not_after)
     select id, 'own', $1, $2, now() - interval '1 day', now() + interval '60 days' from domain`,
    [filled, randomBytes(170)],
  )
  const { bodyBr, htmlBytes, etag } = await pageBody(`<h1>A page</h1>${randomBytes(3_000).toString('hex')}`)
  for (let at = 0; at < pages; at += FILL_STEP) {
    await pool.query(
      `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
       select id, '/p' || n, 200, '[["Content-Type", "text/html"]]', $3, $4, $5, now()
         from domain, generate_series($1::integer, $2::integer) n where custom_domain = 'd0.example'`,
      [at, Math.min(at + FILL_STEP, pages) - 1, bodyBr, htmlBytes, etag],
    )
  }
  await pool.query('vacuum analyze')
}

async function start(dir: string, settings: Record<string, string> = {}): Promise<NodeProcess> {
  const node = await startNodeProcess(dir, { ...common, ...settings })
  started.push(node)
  return node
}

async function metric(node: NodeProcess, name: string): Promise<number> {
  const text = await (await fetch(`${node.api}/metrics`)).text()
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1])
}

/** Resident memory of the node's process, now and at most so far. */
function memory({ pid }: NodeProcess): string {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1])
  return `${mib(kib('VmRSS') * 1_024)} resident, at most ${mib(kib('VmHWM') * 1_024)}`
}

function mib(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`
}

function note(what: string, figure: string): void {
  rows.push([what, figure])
  console.error(`${what}: ${figure}`)
}

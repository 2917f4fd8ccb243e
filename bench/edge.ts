/**
 * `node bench/edge.ts [--quick] [--rounds 3] [--seconds 4] [--only hit,pass,h2,database,spread,growth,processes]`
 * `[--processes 2]`
 * Compares the edge of the packaged program, as it is started by default, with nginx: throughput, 99th percentile and processor time (which other load affects least), as
 * medians. Needs wrk, taskset, nginx and h2load (package nghttp2-client). Ends with the table of `bench/RESULTS.md`.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'

import { clearDataDir, makeDataDir } from '../test/support/data-dir.ts'
import { startNodeProcess } from '../test/support/node-process.ts'
import { askForAll, type Burst, burst, type Load, processorSeconds } from './edge-load.ts'
import { waitForAnswer, writeNginx } from './edge-nginx.ts'
import { openStore, type Store } from './edge-store.ts'
import { machineLine, median } from './figures.ts'
import { pinned, startEdgeNode } from './program/edge-node.ts'
import { packedProgram } from './program/packed.ts'

const ALL = 'hit,pass,h2,database,spread,growth,processes'

const { values: given } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    only: { type: 'string', default: ALL },
    processes: { type: 'string', default: '2' },
  },
})
const rounds = Number(given.rounds ?? (given.quick ? 1 : 3))
const seconds = Number(given.seconds ?? (given.quick ? 1 : 4))
const wanted = new Set(given.only.split(','))
/** `pages` is per domain. */
const FEW = { domains: 10, pages: 10 }
const SOME = { domains: 10, pages: 600 }
const MANY = given.quick ? { domains: 2_000, pages: 50 } : { domains: 10_000, pages: 100 }

const SPREAD = { kind: 'spread', cores: '1', path: '/', who: 'crawler' } as const

/** The last rival is the baseline. */
type Rival = { name: string; load: Omit<Load, 'seconds'> }
type Row = { what: string; name: string; figures: Burst; of: Burst }

const dir = mkdtempSync(path.join(tmpdir(), 'prepaint-bench-'))
const open: ChildProcess[] = []
const nodes: { close(): Promise<void> }[] = []
const rows: Row[] = []
const program = packedProgram()
console.log(machineLine())
try {
  const nginx = await writeNginx(dir)
  const origin = await start(['nginx', '-p', dir, '-c', nginx.files.origin], '1', nginx.ports.origin)
  const pids: Record<string, number> = { origin }
  for (const name of ['cache', 'pass'] as const) {
    pids[name] = await start(['nginx', '-p', dir, '-c', nginx.files[name]], '0', nginx.ports[name])
  }
  const originUrl = `http://127.0.0.1:${nginx.ports.origin}`
  const edge = await serve(originUrl)
  const bare = await serveBare(path.join(dir, 'www'))

  const on = { kind: 'http1', cores: '1' } as const
  for (const size of [8, 60]) {
    const hit = { ...on, path: `/${size}`, who: 'crawler' } as const
    if (wanted.has('hit')) {
      await compare(`hit from memory, ${size} KB`, [
        { name: 'Prepaint', load: { ...hit, port: edge.port, pids: [edge.pid] } },
        { name: 'Prepaint, gzip', load: { ...hit, encoding: 'gzip', port: edge.port, pids: [edge.pid] } },
        { name: 'Prepaint, br', load: { ...hit, encoding: 'br', port: edge.port, pids: [edge.pid] } },
        { name: 'node:http alone', load: { ...hit, port: bare.port, pids: [bare.pid] } },
        { name: 'nginx proxy_cache', load: { ...hit, port: nginx.ports.cache, pids: [pids['cache']!] } },
      ])
    }
    if (wanted.has('pass')) {
      const pass = { ...hit, who: 'person' } as const
      await compare(`passed to the origin, ${size} KB`, [
        { name: 'Prepaint', load: { ...pass, port: edge.port, pids: [edge.pid] } },
        { name: 'nginx proxy_pass', load: { ...pass, port: nginx.ports.pass, pids: [pids['pass']!] } },
      ])
    }
    if (wanted.has('h2') && isThere('h2load')) {
      const h2 = { ...on, kind: 'h2', path: `/${size}` } as const
      const ours = { port: edge.tlsPort, pids: [edge.pid] }
      await compare(`hit from memory, ${size} KB, HTTP/2 with TLS`, [
        { name: 'Prepaint', load: { ...h2, ...ours, who: 'crawler' } },
        {
          name: 'nginx proxy_cache',
          load: { ...h2, port: nginx.ports.cacheTls, pids: [pids['cache']!], who: 'crawler' },
        },
      ])
      await compare(`passed to the origin, ${size} KB, HTTP/2 with TLS`, [
        { name: 'Prepaint', load: { ...h2, ...ours, who: 'person' } },
        {
          name: 'nginx proxy_pass',
          load: { ...h2, port: nginx.ports.passTls, pids: [pids['pass']!], who: 'person' },
        },
      ])
    }
  }
  if (wanted.has('processes')) await processes(Number(given.processes), originUrl)
  if (wanted.has('spread')) await spread({ port: nginx.ports.cache, pid: pids['cache']! })
  if (wanted.has('database') || wanted.has('growth')) {
    await stored({ port: nginx.ports.cache, pid: pids['cache']! })
  }
} finally {
  for (const node of nodes) await node.close()
  for (const child of open) child.kill('SIGTERM')
  await Promise.all(
    open.map(async (child) => child.exitCode === null && child.signalCode === null && once(child, 'exit')),
  )
  rmSync(dir, { recursive: true })
}
console.log(
  '\n| what | who | requests/s | p99 ms | us of processor a request | throughput | p99 | by processor time |',
)
console.log('|---|---|--:|--:|--:|--:|--:|--:|')
for (const row of rows) console.log(`| ${cells(row).join(' | ')} |`)

/** All on two cores, with the client. The nodes differ in PREPAINT_EDGE_PROCESSES. */
async function processes(count: number, originUrl: string): Promise<void> {
  const several = await serve(originUrl, { PREPAINT_EDGE_PROCESSES: `${count}` }, '0,1')
  const alone = await serve(originUrl, { PREPAINT_EDGE_PROCESSES: '1' }, '0,1')
  const on = { cores: '0,1', path: '/8' } as const
  const loads: [what: string, Pick<Load, 'kind' | 'who'>][] = [
    ['hit from memory, 8 KB', { kind: 'http1', who: 'crawler' }],
    ['passed to the origin, 8 KB', { kind: 'http1', who: 'person' }],
  ]
  if (isThere('h2load'))
    loads.push(['hit from memory, 8 KB, HTTP/2 with TLS', { kind: 'h2', who: 'crawler' }])
  for (const [what, load] of loads) {
    const loadOf = ({ port, tlsPort, pid }: Served) => ({
      ...on,
      ...load,
      port: load.kind === 'h2' ? tlsPort : port,
      pids: [pid],
    })
    await compare(`${what}, all on two cores`, [
      { name: `${count} processes`, load: loadOf(several) },
      { name: 'one process', load: loadOf(alone) },
    ])
  }
}

/** More pages than the processor's caches hold, and than a domain's most visited paths that are counted. */
async function spread(nginx: { port: number; pid: number }): Promise<void> {
  const store = await openStore()
  try {
    await store.fill(SOME.domains, SOME.pages)
    const edge = await serveStore(store)
    for (const [what, { port, pid }] of [
      ['hit from memory', edge],
      ['the same bytes from nginx', nginx],
    ] as const) {
      const rivals = [SOME, FEW].map((asked) => {
        const load = { ...SPREAD, ...asked, port, pids: [pid] }
        return { name: `any of ${count(asked)} asked for`, load }
      })
      const before = processorSeconds([pid])
      await askForAll(rivals[0]!.load)
      const micros = ((processorSeconds([pid]) - before) / (SOME.domains * SOME.pages)) * 1e6
      console.log(`${what}: first reads, us of processor a page | ${micros.toFixed(0)}`)
      await compare(what, rivals)
    }
    await edge.close()
  } finally {
    await store.close()
  }
}

/** Varies memory, stored pages and requested pages. nginx shows the effect of the machine's own caches. */
async function stored(nginx: { port: number; pid: number }): Promise<void> {
  const store = await openStore()
  const servers: Served[] = []
  try {
    const found: Record<string, Rival[]> = { memory: [], PostgreSQL: [] }
    for (const size of wanted.has('growth') ? [FEW, MANY] : [FEW]) {
      await store.fill(size.domains, size.pages)
      for (const [what, settings] of [
        ['memory', {}],
        ['PostgreSQL', { PREPAINT_EDGE_MEMORY_BYTES: '0' }],
      ] as const) {
        const server = await serveStore(store, settings)
        servers.push(server)
        const beside = what === 'memory' ? [] : await serving(store, server.port)
        const among = `${count(size)} stored, ${size.domains.toLocaleString('en')} domains`
        // Of many pages, two of each domain are in memory and requested.
        const any = what === 'memory' && size === MANY ? { ...size, pages: 2 } : size
        for (const asked of size === FEW ? [FEW] : [FEW, any]) {
          const load = { ...SPREAD, ...asked, port: server.port, pids: [server.pid, ...beside] }
          if (what === 'memory') await askForAll(load)
          found[what]!.unshift({ name: `${among}, any of ${count(asked)} asked for`, load })
        }
      }
    }
    for (const [what, rivals] of Object.entries(found)) await compare(`hit from ${what}`, rivals)
    if (wanted.has('growth')) {
      const rivals = [{ ...MANY, pages: 2 }, FEW].map((asked) => {
        const load = { ...SPREAD, ...asked, port: nginx.port, pids: [nginx.pid] }
        return { name: `nginx, any of ${count(asked)} asked for`, load }
      })
      for (const { load } of rivals) await askForAll(load)
      await compare('the same bytes', rivals)
    }
  } finally {
    for (const server of servers) await server.close()
    await store.close()
  }
}

async function serving(store: Store, port: number): Promise<number[]> {
  await burst({ ...SPREAD, ...FEW, port, pids: [], seconds: 1 })
  return store.pids()
}

function count({ domains, pages }: { domains: number; pages: number }): string {
  return `${(domains * pages).toLocaleString('en')} pages`
}

async function compare(what: string, rivals: readonly Rival[]): Promise<void> {
  const bursts = rivals.map((): Burst[] => [])
  // Warm up: compile code and read cached pages.
  for (const { load } of rivals) await burst({ ...load, seconds: 1 })
  for (let round = 0; round < rounds; round++) {
    for (const [at, { load }] of rivals.entries()) bursts[at]!.push(await burst({ ...load, seconds }))
  }
  const middles = bursts.map(
    (list): Burst => ({
      perSecond: median(list.map(({ perSecond }) => perSecond)),
      p99Ms: median(list.map(({ p99Ms }) => p99Ms)),
      microsARequest: median(list.map(({ microsARequest }) => microsARequest)),
    }),
  )
  rivals.forEach(({ name }, at) => {
    const row = { what, name, figures: middles[at]!, of: middles.at(-1)! }
    rows.push(row)
    console.log(cells(row).join(' | '))
  })
}

function cells({ what, name, figures, of }: Row): string[] {
  const { perSecond, p99Ms, microsARequest } = figures
  const ratio = (value: number) => (Number.isNaN(value) ? '' : value.toFixed(2))
  return [
    ...[what, name, Math.round(perSecond).toLocaleString('en'), ratio(p99Ms), microsARequest.toFixed(1)],
    ratio(perSecond / of.perSecond),
    ratio(p99Ms / of.p99Ms),
    ratio(of.microsARequest / microsARequest),
  ]
}

type Served = { port: number; tlsPort: number; pid: number; close(): Promise<void> }

async function serve(originUrl: string, settings: Record<string, string> = {}, cores = '0'): Promise<Served> {
  const edge = await startEdgeNode(pinned(program, cores), { originUrl, paths: ['/8', '/60'], settings })
  nodes.push(edge)
  return { port: edge.port, tlsPort: edge.tlsPort, pid: edge.node.pid, close: edge.close }
}

/** A node on the stored pages, which are of the size of a small page. */
async function serveStore(store: Store, settings: Record<string, string> = {}): Promise<Served> {
  const dataDir = makeDataDir()
  const all = { DATABASE_URL: store.url, ...settings }
  const node = await startNodeProcess(dataDir, all, pinned(program, '0'))
  return {
    port: Number(new URL(node.edge).port),
    tlsPort: Number(new URL(node.edgeTls).port),
    pid: node.pid,
    async close() {
      await node.stop()
      await clearDataDir(dataDir)
    },
  }
}

/** Only `node:http`, with the same pages. */
async function serveBare(www: string): Promise<{ port: number; pid: number }> {
  const child = onCore([process.execPath, path.join(import.meta.dirname, 'bare-server.ts'), www], '0')
  for await (const line of createInterface({ input: child.stdout! })) {
    return { port: Number(line), pid: child.pid! }
  }
  throw new Error('The server did not start')
}

async function start(command: string[], core: string, port: number): Promise<number> {
  const child = onCore(command, core)
  await waitForAnswer(child, port)
  return child.pid!
}

function onCore(command: string[], cores: string): ChildProcess {
  const child = spawn('taskset', ['-c', cores, ...command], { stdio: ['pipe', 'pipe', 'inherit'] })
  open.push(child)
  return child
}

function isThere(program: string): boolean {
  try {
    execFileSync('which', [program])
    return true
  } catch {
    console.log(`${program} is not there: its figures are left out`)
    return false
  }
}

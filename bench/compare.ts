/**
 * `node bench/compare.ts <git ref> [--now <git ref>] [--parts hits,passed,h2,render,start,memory,rest] [--turns 5]`
 * `[--seconds 3] [--pages 16] [--rest-seconds 30]`
 * Compares this checkout, or the commit of `--now`, with another commit. Both are built as users get them, and run at their defaults by turns.
 * Prints processor time per request and its ratio, and marks what needs over 5 % more. Ends with 1 then. Times to the
 * client are printed, but not judged: other load changes them. Needs nginx, wrk, taskset and h2load.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Program } from '../test/support/command-line.ts'
import { clearDataDir, makeDataDir } from '../test/support/data-dir.ts'
import { edgeRequest, GOOGLEBOT } from '../test/support/edge-request.ts'
import { type NodeProcess, startNodeProcess } from '../test/support/node-process.ts'
import { registerDomain } from '../test/support/tenant.ts'
import { judge, type Pair } from './compare-judge.ts'
import { burst, processorSeconds } from './edge-load.ts'
import { waitForAnswer, writeNginx } from './edge-nginx.ts'
import { machineLine, median } from './figures.ts'
import { markdownTable } from './markdown.ts'
import type { Site } from './peers/service.ts'
import { startDomainNode } from './program/domain-node.ts'
import { type EdgeNode, pinned, startEdgeNode } from './program/edge-node.ts'
import { packedProgram, programAt } from './program/packed.ts'
import { openSite } from './sites.ts'
import { treeBytes, treeCpuMs } from './tree-meter.ts'

const PARTS = ['hits', 'passed', 'h2', 'render', 'start', 'memory', 'rest'] as const
const RENDER_HOST = 'render.example'
/** After a start, until memory is read. */
const SETTLE_MS = 4_000
const WARM_UP_PAGES = 20
const REST_HOST = 'rest.example'
/** After a start: what it leaves to do, and the compiler of JavaScript, are over then. */
const REST_SETTLE_MS = 60_000

type Version = 'before' | 'now'
const VERSIONS: readonly Version[] = ['before', 'now']

type Measured = { what: string; isJudged: boolean; before: number[]; now: number[] }

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    now: { type: 'string' },
    parts: { type: 'string', default: PARTS.join(',') },
    turns: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    pages: { type: 'string', default: '16' },
    'rest-seconds': { type: 'string', default: '30' },
  },
})
const ref = positionals[0]
const parts = new Set(values.parts.split(','))
const unknown = [...parts].filter((part) => !PARTS.some((known) => known === part))
if (ref === undefined || unknown.length > 0) {
  console.error(`Usage: node bench/compare.ts <git ref> [--parts ${PARTS.join(',')}] [--turns 5]`)
  process.exit(2)
}
const turns = Number(values.turns)
const seconds = Number(values.seconds)
const pages = Number(values.pages)
const restSeconds = Number(values['rest-seconds'])

const programs: Record<Version, Program> = {
  before: programAt(ref),
  now: values.now === undefined ? packedProgram() : programAt(values.now),
}
const measured = new Map<string, Measured>()
const dir = mkdtempSync(path.join(tmpdir(), 'prepaint-bench-'))
const opened: (() => Promise<void> | void)[] = []
let visit = 0
try {
  if (['hits', 'passed', 'h2', 'render'].some((part) => parts.has(part))) await compareRequests()
  if (parts.has('start') || parts.has('memory')) await compareStarts()
  if (parts.has('rest')) await compareRest()
} finally {
  for (const close of opened.reverse()) await close()
  rmSync(dir, { recursive: true })
}
const isWorse = report()
process.exit(isWorse ? 1 : 0)

/** The server has one core, its client the other. */
async function compareRequests(): Promise<void> {
  const nginx = await writeNginx(dir)
  const origin = spawn('taskset', ['-c', '1', 'nginx', '-p', dir, '-c', nginx.files.origin], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  opened.push(() => endOf(origin))
  await waitForAnswer(origin, nginx.ports.origin)
  const site = parts.has('render') ? await openSite('shop') : null
  opened.push(async () => site?.close())
  const originUrl = `http://127.0.0.1:${nginx.ports.origin}`
  const open = async (version: Version) => {
    const edge = await startEdgeNode(pinned(programs[version], '0'), { originUrl, paths: ['/8'] })
    opened.push(() => edge.close())
    if (site !== null)
      await registerDomain(edge.node, edge.key, { customDomain: RENDER_HOST, originUrl: site.originUrl })
    return edge
  }
  const edges: Record<Version, EdgeNode> = { before: await open('before'), now: await open('now') }

  const loads = [
    { part: 'hits', what: 'hit, 8 KB', kind: 'http1', who: 'crawler' },
    { part: 'passed', what: 'passed, 8 KB', kind: 'http1', who: 'person' },
    { part: 'h2', what: 'hit, 8 KB, HTTP/2', kind: 'h2', who: 'crawler' },
    { part: 'h2', what: 'passed, 8 KB, HTTP/2', kind: 'h2', who: 'person' },
  ] as const
  for (const { part, what, kind, who } of loads) {
    if (!parts.has(part)) continue
    const load = (version: Version) => {
      const { node, port, tlsPort } = edges[version]
      return { kind, who, path: '/8', cores: '1', pids: [node.pid], port: kind === 'h2' ? tlsPort : port }
    }
    // Code is compiled under load first.
    for (const version of VERSIONS) await burst({ ...load(version), seconds })
    await takeTurns(async (version) => {
      const { microsARequest, p99Ms } = await burst({ ...load(version), seconds })
      keep(`${what}: us of processor`, version, microsARequest)
      keep(`${what}: p99 in ms`, version, p99Ms, false)
    })
  }
  if (site !== null) await compareRenders(site, edges)
}

async function compareRenders(site: Site, edges: Record<Version, EdgeNode>): Promise<void> {
  for (const version of VERSIONS) await render(version, WARM_UP_PAGES)
  await takeTurns((version) => render(version, pages, true))

  async function render(version: Version, count: number, isKept = false): Promise<void> {
    const { node } = edges[version]
    const times: number[] = []
    const beforeMs = treeCpuMs(node.pid)
    for (let page = 0; page < count; page++) {
      const begunMs = performance.now()
      const answer = await edgeRequest(node.edge, {
        host: RENDER_HOST,
        path: site.page(visit++).path,
        userAgent: GOOGLEBOT,
      })
      if (answer.verdict !== 'rendered') throw new Error(`A page was not rendered: ${answer.verdict}`)
      times.push(performance.now() - begunMs)
    }
    if (!isKept) return
    keep(
      'render of the shop: ms of processor, all processes',
      version,
      (treeCpuMs(node.pid) - beforeMs) / count,
    )
    keep('render of the shop: p50 in ms', version, median(times), false)
    if (parts.has('memory')) keep('memory under load: MiB', version, treeBytes(node.pid) / 2 ** 20)
  }
}

async function compareStarts(): Promise<void> {
  const dataDirs: Record<Version, string> = { before: makeDataDir(), now: makeDataDir() }
  opened.push(async () => {
    for (const version of VERSIONS) await clearDataDir(dataDirs[version])
  })
  const start = async (version: Version, isKept: boolean) => {
    const node = await startNodeProcess(dataDirs[version], {}, programs[version])
    const processorMs = processorSeconds([node.pid]) * 1_000
    if (isKept && parts.has('start')) {
      keep('start: ms of processor until ready', version, processorMs)
      keep('start: ms until ready', version, node.readyMs, false)
    }
    if (isKept && parts.has('memory')) {
      await sleep(SETTLE_MS)
      keep('memory at rest: MiB', version, treeBytes(node.pid) / 2 ** 20)
    }
    await node.stop()
  }
  // The first start makes the database, the second one compiled code.
  for (const version of [...VERSIONS, ...VERSIONS]) await start(version, false)
  await takeTurns((version) => start(version, true))
}

/** Both at the same time, each with one domain and its own PostgreSQL, and without requests. */
async function compareRest(): Promise<void> {
  const nodes = new Map<Version, NodeProcess>()
  for (const version of VERSIONS) {
    const domain = { customDomain: REST_HOST, originUrl: 'http://127.0.0.1:9' }
    const started = await startDomainNode(programs[version], {}, domain, async () => {})
    opened.push(() => started.close())
    nodes.set(version, started.node)
  }
  await sleep(REST_SETTLE_MS)
  for (let turn = 0; turn < turns; turn++) {
    const beforeMs = new Map(VERSIONS.map((version) => [version, treeCpuMs(nodes.get(version)!.pid)]))
    await sleep(restSeconds * 1_000)
    for (const version of VERSIONS) {
      const usedMs = treeCpuMs(nodes.get(version)!.pid) - beforeMs.get(version)!
      keep('at rest: ms of processor a minute, all processes', version, (usedMs / restSeconds) * 60)
    }
  }
}

/** Each version is first in every other turn. */
async function takeTurns(measure: (version: Version) => Promise<void>): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    const order = turn % 2 === 0 ? VERSIONS : VERSIONS.toReversed()
    for (const version of order) await measure(version)
  }
}

function keep(what: string, version: Version, value: number, isJudged = true): void {
  const figure = measured.get(what) ?? { what, isJudged, before: [], now: [] }
  figure[version].push(value)
  measured.set(what, figure)
}

/** Returns whether something is worse. */
function report(): boolean {
  let isAnyWorse = false
  const rows = [...measured.values()].map(({ what, isJudged, before, now }) => {
    const pairs = before.map((value, turn): Pair => ({ before: value, now: now[turn]! }))
    const { ratio, least, most, isWorse } = judge(pairs)
    const mark = isJudged && isWorse ? 'worse' : ''
    if (mark !== '') isAnyWorse = true
    const spread = `${ratio.toFixed(3)} (${least.toFixed(2)} to ${most.toFixed(2)})`
    return [what, median(before).toFixed(1), median(now).toFixed(1), spread, mark]
  })
  const load = loadavg()[0]!.toFixed(0)
  console.log(`${new Date().toISOString().slice(0, 10)}, ${machineLine()}, load ${load}, ${turns} turns\n`)
  console.log(markdownTable(['', ref!, values.now ?? 'now', 'ratio, least to most', ''], rows, 1))
  return isAnyWorse
}

async function endOf(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await ended
}

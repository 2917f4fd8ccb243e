/**
 * `node bench/start.ts [--site shop] [--rounds 5]`
 * Times the packaged program from the command until a node is ready, and until a crawler has its first page, complete: in a new data
 * directory (the first start) and in one that is there. Beside it `prerender`, which starts its browser too. In turns, as medians.
 */
import { execFileSync } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'

import { clearDataDir, makeDataDir } from '../test/support/data-dir.ts'
import { edgeRequest, GOOGLEBOT } from '../test/support/edge-request.ts'
import { startNodeProcess } from '../test/support/node-process.ts'
import { openAccount, registerDomain } from '../test/support/tenant.ts'
import { machineLine, median } from './figures.ts'
import { givenBrowser } from './given-browser.ts'
import { markdownTable } from './markdown.ts'
import { startPrerender } from './peers/prerender.ts'
import type { PageToRender } from './peers/service.ts'
import { packedProgram } from './program/packed.ts'
import { openSite } from './sites.ts'

const { values } = parseArgs({
  options: { site: { type: 'string', default: 'shop' }, rounds: { type: 'string', default: '5' } },
})

type Times = { readyMs: number; pageMs: number }

const program = packedProgram()
const site = await openSite(values.site)
const host = `${site.name}.example`
const dataDir = makeDataDir()
const dir = await mkdtemp(path.join(tmpdir(), 'prepaint-start-'))
await chmod(dir, 0o711)
const newDirs: string[] = []
let asked = 0

try {
  const browser = await givenBrowser(undefined, dir)
  const first = await startNodeProcess(dataDir, {}, program)
  const { key } = await openAccount(first, { email: 'bench@example.com', plan: 'enterprise' })
  await registerDomain(first, key, { customDomain: host, originUrl: site.originUrl })
  await first.stop()
  const firsts: number[] = []
  const ours: Times[] = []
  const theirs: Times[] = []
  for (let round = 0; round < Number(values.rounds); round += 1) {
    firsts.push(await startFirst())
    ours.push(await startOurs())
    theirs.push(await startTheirs(browser))
  }
  console.log(`${new Date().toISOString().slice(0, 10)}, ${machineLine()}\n`)
  const rows = [
    // A new node has no site.
    ['Prepaint, first start', spread(firsts), ''],
    row('Prepaint, later starts', ours),
    row('prerender', theirs),
  ]
  console.log(markdownTable(['ms', 'ready', 'first page'], rows))
} finally {
  for (const made of [dataDir, ...newDirs]) await clearDataDir(made)
  await rm(dir, { recursive: true, force: true, maxRetries: 5 })
  await site.close()
}

/** Returns the time until ready. What earlier starts wrote is on the disk by then, and is removed later: both would slow this one down. */
async function startFirst(): Promise<number> {
  const newDir = makeDataDir()
  newDirs.push(newDir)
  execFileSync('sync')
  const node = await startNodeProcess(newDir, {}, program)
  await node.stop()
  return node.readyMs
}

async function startOurs(): Promise<Times> {
  const startedMs = performance.now()
  const node = await startNodeProcess(dataDir, {}, program)
  try {
    const page = nextPage()
    const answer = await edgeRequest(node.edge, { host, path: page.path, userAgent: GOOGLEBOT })
    const pageMs = performance.now() - startedMs
    requireWhole(page, answer.body.toString())
    return { readyMs: node.readyMs, pageMs }
  } finally {
    await node.stop()
  }
}

async function startTheirs(browser: Awaited<ReturnType<typeof givenBrowser>>): Promise<Times> {
  const home = await mkdtemp(path.join(dir, 'prerender-'))
  const startedMs = performance.now()
  const service = await startPrerender(site, browser, home)
  try {
    const readyMs = performance.now() - startedMs
    const page = nextPage()
    let { status, html } = await service.render(page.path)
    // It answers 503 while its browser starts.
    while (status === 503) ({ status, html } = await service.render(page.path))
    const pageMs = performance.now() - startedMs
    requireWhole(page, html)
    return { readyMs, pageMs }
  } finally {
    await service.close()
  }
}

function nextPage(): PageToRender {
  asked += 1
  return site.page(asked)
}

function requireWhole({ path: at, texts }: PageToRender, html: string): void {
  const missing = texts.find((text) => !html.includes(text))
  if (missing !== undefined) throw new Error(`${at} is not whole: it lacks "${missing}"`)
}

function row(who: string, times: readonly Times[]): string[] {
  return [who, spread(times.map(({ readyMs }) => readyMs)), spread(times.map(({ pageMs }) => pageMs))]
}

function spread(times: readonly number[]): string {
  return `${median(times).toFixed(0)} (${Math.min(...times).toFixed(0)} to ${Math.max(...times).toFixed(0)})`
}

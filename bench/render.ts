/**
 * `node bench/render.ts [--sites shop,docute,swagger-ui] [--runs 2] [--only prepaint,prerender,rendertron]`
 * `[--warm-up-pages 40] [--latency-pages 12] [--seconds 8] [--crawlers 8] [--floor-pages 9]`
 * `[--peer-browser PATH] [--slots N] [--idle-minutes 11] [--json FILE]`
 * Compares Prepaint with its npm peers, in turns, for bench/RESULTS.md. Takes 15 minutes at its defaults. Services
 * warm up first: the first dozens of pages are slower, ours by a fifth.
 */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'

import { machineLine } from './figures.ts'
import { type FloorFigures, floorTables, measureFloor } from './floor-measure.ts'
import { givenBrowser } from './given-browser.ts'
import { startPrepaint } from './peers/prepaint.ts'
import { startPrerender } from './peers/prerender.ts'
import { startRendertron } from './peers/rendertron.ts'
import type { Service, Site } from './peers/service.ts'
import { measureRun, type PageNumbers, type RunFigures, warmUp } from './render-measure.ts'
import { type AtRest, reportTable, type Summary, summarise } from './render-report.ts'
import { openSite } from './sites.ts'
import { treeBytes } from './tree-meter.ts'

const { values } = parseArgs({
  options: {
    sites: { type: 'string', default: 'shop,docute,swagger-ui' },
    runs: { type: 'string', default: '2' },
    only: { type: 'string', default: 'prepaint,prerender,rendertron' },
    'warm-up-pages': { type: 'string', default: '40' },
    'latency-pages': { type: 'string', default: '12' },
    seconds: { type: 'string', default: '8' },
    crawlers: { type: 'string', default: '8' },
    'floor-pages': { type: 'string', default: '9' },
    'idle-minutes': { type: 'string', default: '0' },
    json: { type: 'string' },
    'peer-browser': { type: 'string' },
    slots: { type: 'string' },
  },
})
const plan = {
  latencyPages: Number(values['latency-pages']),
  seconds: Number(values.seconds),
  crawlers: Number(values.crawlers),
}
const runs = Number(values.runs)
const floorPages = Number(values['floor-pages'])
const idleMinutes = Number(values['idle-minutes'])
/** After the last page, until memory is read. */
const SETTLE_MS = 5_000
const names = values.sites.split(',')
const warmUpPages = Number(values['warm-up-pages'])

const dir = await mkdtemp(path.join(tmpdir(), 'prepaint-bench-'))
// As root, the browser runs as another user, who must be able to enter this directory.
await chmod(dir, 0o711)
// Other load slows services that compute, and hardly those that wait.
const loadBefore = loadavg()[0]!
const peerBrowser = await givenBrowser(values['peer-browser'], dir)
const date = new Date().toISOString().slice(0, 10)
console.log(`${date}, ${machineLine()}, load before ${loadBefore.toFixed(1)}`)
console.log(`peers with ${path.basename(peerBrowser.executable)}; ${runs} runs\n`)
const summaries: Record<string, Summary[]> = {}
const floors: FloorFigures[] = []
try {
  for (const name of names) {
    summaries[name] = await compare(name)
    const peer = summaries[name].find(({ service }) => service === 'prerender') ?? summaries[name][0]!
    console.log(`${name}:\n\n${reportTable(summaries[name], peer.service)}\n`)
  }
  if (floorPages > 0) {
    const browser = await givenBrowser(undefined, dir)
    for (const name of names)
      floors.push(await measureFloor(name, { browser, pages: floorPages, warmUpPages, dir }))
    console.log(floorTables(floors))
  }
  const about = { date, machine: machineLine(), loadBefore, runs, ...plan, warmUpPages }
  if (values.json !== undefined)
    await writeFile(values.json, `${JSON.stringify({ ...about, summaries, floors }, null, 2)}\n`)
} finally {
  await rm(dir, { recursive: true, force: true, maxRetries: 5 })
}

async function compare(name: string): Promise<Summary[]> {
  const site = await openSite(name)
  const services: Service[] = []
  try {
    for (const wanted of values.only.split(',')) services.push(await start(wanted, site))

    let last = 0
    const numbers = {
      next() {
        last += 1
        return last
      },
    }
    const rested = async () => {
      await delay(SETTLE_MS)
      return services.map(({ pid }) => treeBytes(pid))
    }
    const restBytes = await rested()
    for (const service of services) await warmUp(service, site, numbers, warmUpPages)
    const warmBytes = await rested()

    const figures = new Map<Service, RunFigures[]>(services.map((service) => [service, []]))
    for (let run = 0; run < runs; run += 1) {
      // Each is first, second and last equally often.
      for (let turn = 0; turn < services.length; turn += 1) {
        const service = services[(run + turn) % services.length]!
        const measured = await measureRun(service, site, numbers, plan)
        figures.get(service)!.push(measured)
        console.error(
          `${name}, run ${run + 1}, ${service.name}: ${measured.pagesPerSecond.toFixed(2)} pages/s, ${measured.incomplete.length} of ${measured.pages} incomplete ${measured.incomplete[0] ?? ''}`,
        )
      }
    }
    const after = idleMinutes > 0 ? await idle(services, site, numbers) : null
    const atRest = (at: number): AtRest => ({
      ...{ restBytes: restBytes[at]!, warmBytes: warmBytes[at]! },
      ...(after?.[at] ?? { idleBytes: Number.NaN, wakeMs: Number.NaN }),
    })
    const peer = services.find((service) => service.name === 'prerender') ?? services[0]!
    return services.map((service, at) =>
      summarise(service, figures.get(service)!, figures.get(peer)!, atRest(at)),
    )
  } finally {
    for (const service of services.reverse()) await service.close()
    await site.close()
  }
}

/** Memory after `--idle-minutes`, then the time of one page. */
async function idle(services: readonly Service[], site: Site, numbers: PageNumbers) {
  await delay(idleMinutes * 60_000)
  const found: { idleBytes: number; wakeMs: number }[] = []
  for (const service of services) {
    const idleBytes = treeBytes(service.pid)
    const begunMs = performance.now()
    await warmUp(service, site, numbers, 1)
    found.push({ idleBytes, wakeMs: performance.now() - begunMs })
  }
  return found
}

async function start(service: string, site: Site): Promise<Service> {
  const home = () => mkdtemp(path.join(dir, `${service}-`))
  if (service === 'prepaint')
    return startPrepaint(site, values.slots === undefined ? {} : { PREPAINT_RENDER_SLOTS: values.slots })
  if (service === 'prerender') return startPrerender(site, peerBrowser, await home())
  if (service === 'rendertron') return startRendertron(site, peerBrowser, await home())
  throw new Error(`--only knows prepaint, prerender and rendertron, not "${service}"`)
}

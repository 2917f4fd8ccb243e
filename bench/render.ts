/**
 * Pages of one site rendered by Prepaint (a whole node, asked at its edge) and
 * by its peers from npm, in turns on one machine: latency one at a time, pages
 * a second with eight crawlers, CPU of the whole process tree, its peak memory,
 * and whether each page was complete. No page is ever asked for twice.
 *
 *   node bench/render.ts [--runs 5] [--site shop] [--only prepaint,prerender,rendertron]
 *                        [--latency-pages 16] [--seconds 8] [--crawlers 8] [--json FILE]
 *                        [--peer-browser PATH]
 *
 * All run at their defaults, the peers with the browser that Prepaint finds for
 * itself or with --peer-browser (for example the one they would find: Debian's
 * /usr/bin/chromium). The site and the crawlers
 * share the machine with whoever is being measured. The last figures stand in
 * bench/RESULTS.md.
 */
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'

import { findBrowser } from '../src/render/browser-binary.ts'
import { machineLine } from './figures.ts'
import { startPrepaint } from './peers/prepaint.ts'
import { startPrerender } from './peers/prerender.ts'
import { startRendertron } from './peers/rendertron.ts'
import type { GivenBrowser, Service, Site } from './peers/service.ts'
import { measureRun, type RunFigures, warmUp } from './render-measure.ts'
import { reportTable, summarise } from './render-report.ts'
import { openSite } from './sites.ts'

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '5' },
    site: { type: 'string', default: 'shop' },
    only: { type: 'string', default: 'prepaint,prerender,rendertron' },
    'latency-pages': { type: 'string', default: '16' },
    seconds: { type: 'string', default: '8' },
    crawlers: { type: 'string', default: '8' },
    json: { type: 'string' },
    'peer-browser': { type: 'string' },
  },
})
const plan = {
  latencyPages: Number(values['latency-pages']),
  seconds: Number(values.seconds),
  crawlers: Number(values.crawlers),
}
const WARM_UP_PAGES = 10

const dir = await mkdtemp(path.join(tmpdir(), 'prepaint-bench-'))
// As root the browser is another user's: one that could not pass would be unpacked elsewhere, and stay there.
await chmod(dir, 0o711)
// Others at work on the machine slow down whoever computes, and hardly whoever waits.
const loadBefore = loadavg()[0]!
const site = await openSite(values.site)
const services: Service[] = []
try {
  const browser = await givenBrowser()
  const wanted = values.only.split(',')
  const starters: Record<string, (site: Site) => Promise<Service>> = {
    prepaint: startPrepaint,
    prerender: async () => startPrerender(site, browser, await home('prerender')),
    rendertron: async () => startRendertron(site, browser, await home('rendertron')),
  }
  for (const name of wanted) {
    const start = starters[name]
    if (start === undefined)
      throw new Error(`--only knows ${Object.keys(starters).join(', ')}, not "${name}"`)
    services.push(await start(site))
  }

  let last = 0
  const numbers = { next: () => (last += 1) }
  for (const service of services) await warmUp(service, site, numbers, WARM_UP_PAGES)

  const runs = new Map<Service, RunFigures[]>(services.map((service) => [service, []]))
  for (let run = 0; run < Number(values.runs); run += 1) {
    // Each is first, second and last equally often.
    for (let turn = 0; turn < services.length; turn += 1) {
      const service = services[(run + turn) % services.length]!
      const figures = await measureRun(service, site, numbers, plan)
      runs.get(service)!.push(figures)
      console.error(
        `run ${run + 1} ${service.name}: ${figures.pagesPerSecond.toFixed(2)} pages/s, ${figures.incomplete.length} of ${figures.pages} incomplete ${figures.incomplete[0] ?? ''}`,
      )
    }
  }

  // Ratios are against prerender, the peer that the aims name.
  const peer = services.find(({ name }) => name === 'prerender') ?? services[0]!
  const summaries = services.map((service) => summarise(service, runs.get(service)!, runs.get(peer)!))
  const about = {
    date: new Date().toISOString().slice(0, 10),
    machine: machineLine(),
    loadBefore,
    site: site.name,
    ...{ runs: Number(values.runs), ...plan, warmUpPages: WARM_UP_PAGES },
  }
  console.log(`${about.date}, ${about.machine}, load before ${loadBefore.toFixed(1)}; ${site.name}`)
  console.log(reportTable(summaries, peer.name))
  if (values.json !== undefined)
    await writeFile(values.json, `${JSON.stringify({ ...about, summaries }, null, 2)}\n`)
} finally {
  for (const service of services.reverse()) await service.close()
  await site.close()
  await rm(dir, { recursive: true, force: true, maxRetries: 5 })
}

/** For the peers, which bring none. */
async function givenBrowser(): Promise<GivenBrowser> {
  const chromium = values['peer-browser'] ?? process.env['PREPAINT_CHROMIUM'] ?? null
  const { executable, libraryDir, fontsDir } = await findBrowser({
    chromium,
    dataDir: path.join(dir, 'browser'),
  })
  return {
    executable,
    environment: {
      ...(libraryDir !== null && { LD_LIBRARY_PATH: libraryDir }),
      ...(fontsDir !== null && { FONTCONFIG_PATH: fontsDir }),
    },
  }
}

async function home(name: string): Promise<string> {
  const at = path.join(dir, name)
  await mkdir(at)
  return at
}

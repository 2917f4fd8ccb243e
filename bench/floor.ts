/**
 * How near a render comes to what no renderer can undercut: the moment at which
 * the page itself made its last content change, in a plain load by the same
 * browser: real time, no gateway, nothing of ours but an observer. And where
 * the rest goes, phase by phase, out of the records that Prepaint keeps.
 *
 *   node bench/floor.ts [--sites shop,docute,swagger-ui] [--pages 12]
 *
 * Loads and renders take turns, page by page, in one run. Warm: the tab has
 * been at the site before; cold: a new browser context. Pages with timers would
 * be unfair to the plain load, which has to wait for them: these have none.
 * Prints tables for bench/RESULTS.md.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'

import { findBrowser } from '../src/render/browser-binary.ts'
import { machineLine, median } from './figures.ts'
import { markdownTable } from './markdown.ts'
import { startPrepaint } from './peers/prepaint.ts'
import type { GivenBrowser } from './peers/service.ts'
import { startPlainBrowser } from './plain-browser.ts'
import { PARTS, type Parts, partsOf } from './render-parts.ts'
import { openSite } from './sites.ts'

const { values } = parseArgs({
  options: {
    sites: { type: 'string', default: 'shop,docute,swagger-ui' },
    pages: { type: 'string', default: '12' },
  },
})
const pages = Number(values.pages)
const WARM_UP_PAGES = 6
/** One cold load for so many warm ones. */
const COLD_EVERY = 3

type Figures = { site: string; warmMs: number; coldMs: number; oursMs: number; parts: Parts }

const dir = await mkdtemp(path.join(tmpdir(), 'prepaint-floor-'))
const loadBefore = loadavg()[0]!
const figures: Figures[] = []
try {
  const browser = await sameBrowser()
  for (const name of values.sites.split(',')) figures.push(await measure(name, browser))
} finally {
  await rm(dir, { recursive: true, force: true, maxRetries: 5 })
}

console.log(
  `${new Date().toISOString().slice(0, 10)}, ${machineLine()}, load before ${loadBefore.toFixed(1)}\n`,
)
console.log(
  markdownTable(
    ['site', 'plain, warm ms', 'plain, cold ms', 'Prepaint p50 ms', 'Prepaint : warm', 'Prepaint : cold'],
    figures.map(({ site, warmMs, coldMs, oursMs }) => [
      site,
      ...[warmMs, coldMs, oursMs].map((ms) => ms.toFixed(0)),
      ...[oursMs / warmMs, oursMs / coldMs].map((ratio) => ratio.toFixed(2)),
    ]),
  ),
)
console.log(`\nWhere the time of one page goes, medians in ms:\n`)
console.log(
  markdownTable(
    ['site', ...PARTS],
    figures.map(({ site, parts }) => [site, ...PARTS.map((part) => parts[part].toFixed(0))]),
  ),
)

async function measure(name: string, browser: GivenBrowser): Promise<Figures> {
  const site = await openSite(name)
  const prepaint = await startPrepaint(site)
  const plain = await startPlainBrowser(browser, await mkdtemp(path.join(dir, 'plain-')))
  try {
    let asked = 0
    const next = () => {
      asked += 1
      return site.page(asked)
    }
    for (let page = 0; page < WARM_UP_PAGES; page += 1) {
      await prepaint.render(next().path)
      await plain.warm(site.originUrl + next().path)
    }

    const warm: number[] = []
    const cold: number[] = []
    const ours = new Map<string, number>()
    for (let page = 0; page < pages; page += 1) {
      const { path: at, texts } = next()
      warm.push((await plain.warm(site.originUrl + at)).lastChangeMs)
      const begunMs = performance.now()
      const { html, fresh } = await prepaint.render(at)
      ours.set(at, performance.now() - begunMs)
      const missing = texts.find((text) => !html.includes(text))
      if (!fresh || missing !== undefined) throw new Error(`${name}${at} is not whole: ${missing}`)
      if (page % COLD_EVERY === 0) cold.push((await plain.cold(site.originUrl + next().path)).lastChangeMs)
    }
    const renders = (await prepaint.lastRenders()).filter(({ path: at }) => ours.has(at))
    const parts = renders.map((render) => partsOf(render, ours.get(render.path)!))
    const [warmMs, coldMs, oursMs] = [median(warm), median(cold), median([...ours.values()])]
    return { site: name, warmMs, coldMs, oursMs, parts: medians(parts) }
  } finally {
    await plain.close()
    await prepaint.close()
    await site.close()
  }
}

function medians(all: readonly Parts[]): Parts {
  const entries = PARTS.map((part) => [part, median(all.map((one) => one[part]))] as const)
  return Object.fromEntries(entries) as Parts
}

/** The one that Prepaint takes. */
async function sameBrowser(): Promise<GivenBrowser> {
  const chromium = process.env['PREPAINT_CHROMIUM'] ?? null
  const { executable, libraryDir, fontsDir } = await findBrowser({ chromium, dataDir: dir })
  return {
    executable,
    environment: {
      ...(libraryDir !== null && { LD_LIBRARY_PATH: libraryDir }),
      ...(fontsDir !== null && { FONTCONFIG_PATH: fontsDir }),
    },
  }
}

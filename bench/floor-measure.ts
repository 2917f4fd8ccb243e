import { mkdtemp } from 'node:fs/promises'
import path from 'node:path'

import { median } from './figures.ts'
import { markdownTable } from './markdown.ts'
import { startPrepaint } from './peers/prepaint.ts'
import type { GivenBrowser } from './peers/service.ts'
import { startPlainBrowser } from './plain-browser.ts'
import { PARTS, type Parts, partsOf } from './render-parts.ts'
import { openSite } from './sites.ts'
import { meterTree } from './tree-meter.ts'

/**
 * Plain loads end at the last content change, renders at the crawler's last byte. `CpuMs`: of all processes for a page,
 * one after another.
 */
export type FloorFigures = {
  site: string
  warmMs: number
  coldMs: number
  warmCpuMs: number
  oursMs: number
  oursCpuMs: number
  parts: Parts
}

const COLD_EVERY = 3

/** Alternates loads and renders. `dir` holds profiles. Throws if a render lacks content. */
export async function measureFloor(
  name: string,
  {
    browser,
    pages,
    warmUpPages,
    dir,
  }: { browser: GivenBrowser; pages: number; warmUpPages: number; dir: string },
): Promise<FloorFigures> {
  const site = await openSite(name)
  const prepaint = await startPrepaint(site)
  const plain = await startPlainBrowser(browser, await mkdtemp(path.join(dir, 'plain-')))
  const meter = meterTree(plain.pid)
  const ourMeter = meterTree(prepaint.pid)
  try {
    let asked = 0
    const next = () => {
      asked += 1
      return site.page(asked)
    }
    for (let page = 0; page < warmUpPages; page += 1) {
      await prepaint.render(next().path)
      await plain.warm(site.originUrl + next().path)
    }

    const warm: number[] = []
    let warmCpuMs = 0
    const cold: number[] = []
    const ours = new Map<string, number>()
    for (let page = 0; page < pages; page += 1) {
      const { path: at, texts } = next()
      meter.cpuMs()
      warm.push((await plain.warm(site.originUrl + at)).lastChangeMs)
      warmCpuMs += meter.cpuMs() / pages
      const begunMs = performance.now()
      const { html, fresh } = await prepaint.render(at)
      ours.set(at, performance.now() - begunMs)
      const missing = texts.find((text) => !html.includes(text))
      if (!fresh || missing !== undefined) throw new Error(`${name}${at} is not whole: ${missing}`)
      if (page % COLD_EVERY === 0) cold.push((await plain.cold(site.originUrl + next().path)).lastChangeMs)
    }
    const renders = (await prepaint.lastRenders()).filter(({ path: at }) => ours.has(at))
    const parts = renders.map((render) => partsOf(render, ours.get(render.path)!))
    const rendersInARow = pages * 3
    await prepaint.render(next().path)
    ourMeter.cpuMs()
    for (let page = 0; page < rendersInARow; page += 1) await prepaint.render(next().path)
    const oursCpuMs = ourMeter.cpuMs() / rendersInARow
    const [warmMs, coldMs, oursMs] = [median(warm), median(cold), median([...ours.values()])]
    return { site: name, warmMs, coldMs, warmCpuMs, oursMs, oursCpuMs, parts: medians(parts) }
  } finally {
    meter.stop()
    ourMeter.stop()
    await plain.close()
    await prepaint.close()
    await site.close()
  }
}

function medians(all: readonly Parts[]): Parts {
  const entries = PARTS.map((part) => [part, median(all.map((one) => one[part]))] as const)
  return Object.fromEntries(entries) as Parts
}

export function floorTables(figures: readonly FloorFigures[]): string {
  const ratios = markdownTable(
    [
      ...['site', 'plain, warm ms', 'plain, cold ms', 'plain, warm, CPU ms'],
      ...['Prepaint p50 ms', 'CPU ms', 'Prepaint : warm', 'Prepaint : cold', 'CPU : warm'],
    ],
    figures.map(({ site, warmMs, coldMs, warmCpuMs, oursMs, oursCpuMs }) => [
      site,
      ...[warmMs, coldMs, warmCpuMs, oursMs, oursCpuMs].map((ms) => ms.toFixed(0)),
      ...[oursMs / warmMs, oursMs / coldMs, oursCpuMs / warmCpuMs].map((ratio) => ratio.toFixed(2)),
    ]),
  )
  const parts = markdownTable(
    ['site, ms', ...PARTS],
    figures.map(({ site, parts }) => [site, ...PARTS.map((part) => parts[part].toFixed(0))]),
  )
  return `${ratios}\n\n${parts}`
}

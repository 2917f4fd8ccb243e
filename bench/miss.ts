/**
 * `node bench/miss.ts [--before <git ref>] [--site shop] [--pages 200]`
 * Measures what a miss costs besides the render, in the packaged program. Versions take turns, page by page, so other load affects all alike.
 * Prints medians, and medians of the paired differences to the first version.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'

import type { RenderView } from '@prepaint/pages/queue/judging/render-records.ts'
import type { Program } from '../test/support/command-line.ts'
import { machineLine, median } from './figures.ts'
import { markdownTable } from './markdown.ts'
import { type Prepaint, startPrepaint } from './peers/prepaint.ts'
import { packedProgram, programAt } from './program/packed.ts'
import { PARTS, type Parts, partsOf } from './render-parts.ts'
import { openSite } from './sites.ts'

const { values } = parseArgs({
  options: {
    before: { type: 'string' },
    site: { type: 'string', default: 'shop' },
    pages: { type: 'string', default: '200' },
  },
})
/** The API shows this many of a domain's last renders. */
const STEP = 40
const WARM_UP_PAGES = 10

type Node = { version: string; prepaint: Prepaint; parts: Parts[]; totals: number[] }

const site = await openSite(values.site)
const nodes: Node[] = []
let asked = 0
try {
  const programs = new Map<string, Program>()
  if (values.before !== undefined) programs.set(values.before, programAt(values.before))
  programs.set('this checkout', packedProgram())
  for (const [version, program] of programs) {
    nodes.push({ version, prepaint: await startPrepaint(site, {}, program), parts: [], totals: [] })
  }
  for (let page = 0; page < WARM_UP_PAGES; page++) {
    for (const { prepaint } of nodes) await prepaint.render(site.page(asked).path)
    asked++
  }
  for (let left = Number(values.pages); left > 0; left -= STEP) await measure(Math.min(left, STEP))
  report()
} finally {
  for (const { prepaint } of nodes) await prepaint.close()
  await site.close()
}

/** Each node is first in a pair equally often. */
async function measure(pages: number): Promise<void> {
  const took = nodes.map(() => new Map<string, number>())
  for (let page = 0; page < pages; page++) {
    const at = site.page(asked++).path
    for (let turn = 0; turn < nodes.length; turn++) {
      const index = (page + turn) % nodes.length
      const begunMs = performance.now()
      const { fresh } = await nodes[index]!.prepaint.render(at)
      if (!fresh) throw new Error(`${at} was not rendered`)
      took[index]!.set(at, performance.now() - begunMs)
    }
  }
  for (const [index, { prepaint, parts, totals }] of nodes.entries()) {
    const renders = await recordsOf(prepaint, [...took[index]!.keys()])
    for (const [at, ms] of took[index]!) {
      parts.push(partsOf(renders.get(at)!, ms))
      totals.push(ms)
    }
  }
}

/** A record is stored after the response. */
async function recordsOf(prepaint: Prepaint, paths: readonly string[]): Promise<Map<string, RenderView>> {
  for (let tries = 0; tries < 50; tries++) {
    const renders = new Map((await prepaint.lastRenders()).map((render) => [render.path as string, render]))
    if (paths.every((at) => renders.has(at))) return renders
    await sleep(100)
  }
  throw new Error('renders have left no record')
}

function report(): void {
  const beside = ({ queue, store, answer }: Parts) => queue + store + answer
  const first = nodes[0]!
  const rows = nodes.map(({ version, parts, totals }) => [
    version,
    ...PARTS.map((part) => median(parts.map((one) => one[part])).toFixed(1)),
    median(totals).toFixed(1),
    median(parts.map(beside)).toFixed(1),
    median(parts.map((one, at) => beside(one) - beside(first.parts[at]!))).toFixed(1),
    median(totals.map((ms, at) => ms - first.totals[at]!)).toFixed(1),
  ])
  console.log(`${new Date().toISOString().slice(0, 10)}, ${machineLine()}, ${values.site}\n`)
  console.log(
    markdownTable(
      [
        ...['version, ms', ...PARTS, 'whole', 'beside the render'],
        ...['beside, to the first, pair by pair', 'whole, to the first, pair by pair'],
      ],
      rows,
    ),
  )
}

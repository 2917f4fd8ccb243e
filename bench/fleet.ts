/**
 * `node bench/fleet.ts crash [--nodes 3] [--seconds 300] [--seed 1]` kills nodes of one PostgreSQL at random moments.
 * Exits with status 1 if an acknowledged change or a count of renders is wrong.
 * `node bench/fleet.ts speed [--pages 300] [--slots 2] [--most 3]` compares pages per second of 1 to `--most` nodes.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { fleetRun } from '../test/chaos/fleet-run.ts'
import { startVersionOrigin } from '../test/chaos/version-origin.ts'
import { edgeRequest, GOOGLEBOT } from '../test/support/edge-request.ts'
import { type Fleet, startFleet } from '../test/support/fleet.ts'
import { processTree } from '../test/support/processes.ts'
import { openAccount, registerDomain } from '../test/support/tenant.ts'
import { machineLine } from './figures.ts'
import { markdownTable } from './markdown.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    nodes: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    pages: { type: 'string', default: '300' },
    slots: { type: 'string', default: '2' },
    most: { type: 'string', default: '3' },
  },
})
const startedMs = performance.now()
const say = (line: string) =>
  console.error(`${((performance.now() - startedMs) / 1_000).toFixed(0)} s  ${line}`)

const folder = mkdtempSync(path.join(tmpdir(), 'prepaint-fleet-'))
const origin = await startVersionOrigin()
const plansFile = path.join(folder, 'plans.json')
const roomy = { site_limit: null, monthly_render_limit: 1_000_000, api_keys: true, webhooks: true }
writeFileSync(plansFile, JSON.stringify({ roomy }))

if (positionals[0] === 'crash') await crash()
else if (positionals[0] === 'speed') await speed()
else {
  console.error('node bench/fleet.ts crash | speed: see its head')
  process.exitCode = 2
}
await origin.close()
rmSync(folder, { recursive: true })

async function open(nodes: number, more: Record<string, string> = {}): Promise<Fleet> {
  const settings = { PREPAINT_PLANS_FILE: plansFile, ...more }
  return startFleet(Array.from({ length: nodes }, () => ({ settings })))
}

async function crash(): Promise<void> {
  const fleet = await open(Number(values.nodes))
  const { process: node } = fleet.members[0]!
  const { key } = await openAccount(node, { email: 'roomy@example.com', plan: 'roomy' })
  const options = { seed: Number(values.seed), seconds: Number(values.seconds), origin, say }
  const { violations, counts } = await fleetRun(fleet, { email: 'roomy@example.com', key }, options)
  const left = (await fleet.close()).map((command) => `left: ${command}`)
  console.log(`${new Date().toISOString().slice(0, 10)}, ${machineLine()}`)
  console.log(`${values.nodes} nodes, seed ${values.seed}, ${values.seconds} s: ${JSON.stringify(counts)}`)
  for (const words of [...violations, ...left]) console.log(`WRONG ${words}`)
  if (violations.length + left.length > 0) process.exitCode = 1
}

async function speed(): Promise<void> {
  console.log(`${new Date().toISOString().slice(0, 10)}, ${machineLine()}, ${values.slots} slots a node\n`)
  const rows: string[][] = []
  for (let nodes = 1; nodes <= Number(values.most); nodes++) {
    const fleet = await open(nodes, { PREPAINT_RENDER_SLOTS: values.slots })
    rows.push([String(nodes), ...(await pagesPerSecond(fleet))])
    await fleet.close()
  }
  console.log(markdownTable(['nodes', 'pages/s', 'CPU ms a page', 'median ms', 'not rendered'], rows, 0))
}

/** Requests new pages at every node in turn, with one crawler for each slot. */
async function pagesPerSecond(fleet: Fleet): Promise<string[]> {
  const nodes = fleet.members.map((member) => member.process)
  const { key } = await openAccount(nodes[0]!, { email: 'roomy@example.com', plan: 'roomy' })
  const domains = Array.from({ length: 8 }, (_, at) => `speed-${at}.example`)
  for (const customDomain of domains)
    await registerDomain(nodes[0]!, key, { customDomain, originUrl: origin.url })
  const pages = Number(values.pages)
  const times: number[] = []
  let asked = 0
  let failed = 0
  const crawlTo = (end: number) => async () => {
    while (asked < end) {
      const at = asked++
      const host = domains[at % domains.length]!
      const askedMs = performance.now()
      const answer = await edgeRequest(nodes[at % nodes.length]!.edge, {
        host,
        path: `/${at}`,
        userAgent: GOOGLEBOT,
      })
      times.push(performance.now() - askedMs)
      if (answer.verdict !== 'rendered') failed++
    }
  }
  const crawlers = Number(values.slots) * nodes.length * 2
  const crawl = (end: number) => Promise.all(Array.from({ length: crawlers }, crawlTo(end)))
  await crawl(40 * nodes.length)
  times.length = 0
  failed = 0
  const usedMs = cpuOf(fleet)
  const begunMs = performance.now()
  await crawl(asked + pages)
  const tookMs = performance.now() - begunMs
  const median = times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN
  return [
    (pages / (tookMs / 1_000)).toFixed(1),
    ((cpuOf(fleet) - usedMs) / pages).toFixed(0),
    median.toFixed(0),
    String(failed),
  ]
}

/** All nodes and browsers so far, without PostgreSQL. */
function cpuOf(fleet: Fleet): number {
  const trees = fleet.members.flatMap((member) => processTree(member.process.pid))
  return trees.reduce((sum, { cpuMs }) => sum + cpuMs, 0)
}

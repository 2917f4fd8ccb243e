/**
 * `node bench/people-first.ts [--rounds 5] [--seconds 5] [--crawlers 8]`
 * Times people's requests (passed) and hits: alone, and beside crawlers that cause only misses. By turns, Chromium has
 * the priority that the node gives it, or an ordinary one. Clients and their origin have the highest priority, as if
 * they ran on other machines. Prints medians over the rounds. Needs root.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { getPriority, loadavg, setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'

import { edgeRequest, GOOGLEBOT, PERSON } from '../test/support/edge-request.ts'
import { isBrowser, processTree } from '../test/support/processes.ts'
import { registerDomain } from '../test/support/tenant.ts'
import { machineLine, median, percentile } from './figures.ts'
import { markdownTable } from './markdown.ts'
import { startPrepaint } from './peers/prepaint.ts'
import { openSite } from './sites.ts'

const CLIENTS = 4
const PAUSE_MS = 10
const HIGHEST = -20
const SETTLE_MS = 500
const PAGE = Buffer.alloc(8 * 1024, 'x')

type Task = { edge: string; seconds: number; hitHost: string; hitPath: string }
type Times = { people: number[]; hits: number[] }
type Turn = { people50: number; people99: number; hits50: number; hits99: number; pagesPerSecond: number }

if (process.send) await beClients()
else await measureAll()

async function measureAll(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '5' },
      crawlers: { type: 'string', default: '8' },
    },
  })
  const seconds = Number(values.seconds)
  const site = await openSite('shop')
  // A session of its own, which the kernel schedules against other sessions.
  const clients = fork(import.meta.filename, { detached: true })
  const [originUrl] = (await once(clients, 'message')) as [string]
  const prepaint = await startPrepaint(site)
  let visit = 0
  try {
    await registerDomain(prepaint.node, prepaint.key, { customDomain: 'people.example', originUrl })
    for (; visit < 30; visit++) await prepaint.render(site.page(visit).path)
    const hit = { hitHost: 'shop.example', hitPath: site.page(visit - 1).path }
    const browsers = () => processTree(prepaint.pid).filter((one) => isBrowser(one))
    const given = getPriority(browsers()[0]!.pid)
    prioritise(clients.pid!, HIGHEST)

    const kinds = {
      alone: { crawlers: 0, nice: given },
      'beside misses, ordinary priority': { crawlers: Number(values.crawlers), nice: 0 },
      'beside misses': { crawlers: Number(values.crawlers), nice: given },
    }
    const turns = new Map(Object.keys(kinds).map((kind) => [kind, [] as Turn[]]))
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const [kind, { crawlers, nice }] of Object.entries(kinds)) {
        for (const { pid } of browsers()) prioritise(pid, nice)
        // The node sets its own where it changes.
        const hold = setInterval(
          () => browsers().forEach(({ pid }) => void prioritiseSession(pid, nice)),
          250,
        )
        const stop = new AbortController()
        let pages = 0
        const crawl = async () => {
          while (!stop.signal.aborted) {
            const { fresh } = await prepaint.render(site.page(visit++).path)
            if (fresh) pages++
          }
        }
        const crawling = Array.from({ length: crawlers }, crawl)
        await sleep(SETTLE_MS)
        pages = 0
        clients.send({ edge: prepaint.node.edge, seconds, ...hit } satisfies Task)
        const [{ people, hits }] = (await once(clients, 'message')) as [Times]
        const turn = {
          ...{ people50: percentile(people, 0.5), people99: percentile(people, 0.99) },
          ...{ hits50: percentile(hits, 0.5), hits99: percentile(hits, 0.99) },
          pagesPerSecond: pages / seconds,
        }
        turns.get(kind)!.push(turn)
        console.log(
          kind,
          Object.values(turn)
            .map((value) => value.toFixed(2))
            .join(' '),
        )
        clearInterval(hold)
        stop.abort()
        await Promise.all(crawling)
      }
    }
    const rows = [...turns].map(([kind, all]) => [
      kind,
      ...(['people50', 'people99', 'hits50', 'hits99', 'pagesPerSecond'] as const).map((name) =>
        median(all.map((one) => one[name])).toFixed(1),
      ),
    ])
    console.log(`${machineLine()}, load ${loadavg()[0]!.toFixed(0)}\n`)
    const columns = ['people p50 ms', 'p99', 'hits p50', 'p99', 'pages/s']
    console.log(markdownTable(['', ...columns], rows, 1))
  } finally {
    await prepaint.close()
    clients.kill()
    await site.close()
  }
}

/** All threads of a process group, and its session, to whose processes other sessions' priorities mean nothing. */
function prioritise(leader: number, nice: number): void {
  for (const { pid, group } of processTree(leader)) {
    if (group !== leader) continue
    for (const thread of threadsOf(pid)) {
      try {
        setPriority(thread, nice)
      } catch {} // It has ended.
    }
  }
  prioritiseSession(leader, nice)
}

function threadsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number)
  } catch {
    return []
  }
}

function prioritiseSession(pid: number, nice: number): void {
  if (existsSync(`/proc/${pid}/autogroup`)) writeFileSync(`/proc/${pid}/autogroup`, `${nice}`)
}

/** The process of people, of crawlers that cause hits, and of the origin that people see. */
async function beClients(): Promise<void> {
  const origin = http.createServer((_req, res) => void res.end(PAGE)).listen(0, '127.0.0.1')
  await once(origin, 'listening')
  process.on('message', async ({ edge, seconds, hitHost, hitPath }: Task) => {
    const until = performance.now() + seconds * 1_000
    const client = async (
      host: string,
      path: string,
      userAgent: string,
      verdict: RegExp,
      times: number[],
    ) => {
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
      while (performance.now() < until) {
        const begun = performance.now()
        const answer = await edgeRequest(edge, { host, path, userAgent, agent })
        times.push(performance.now() - begun)
        if (!verdict.test(answer.verdict)) throw new Error(`${host}${path} was ${answer.verdict}`)
        await sleep(PAUSE_MS)
      }
      agent.destroy()
    }
    const times: Times = { people: [], hits: [] }
    await Promise.all(
      Array.from({ length: CLIENTS }, () => [
        client('people.example', '/', PERSON, /^pass/, times.people),
        client(hitHost, hitPath, GOOGLEBOT, /^hit/, times.hits),
      ]).flat(),
    )
    process.send!(times)
  })
  process.send!(`http://127.0.0.1:${(origin.address() as AddressInfo).port}`)
}

/**
 * `node bench/beside-warm.ts [--pages 2000] [--misses 40] [--rounds 3]`
 * Times misses of one domain of the packaged program alone, and beside a warm of another domain of the same account. Prints medians over
 * the rounds.
 */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { until } from '../test/support/condition.ts'
import { callApi, registerDomain } from '../test/support/tenant.ts'
import { machineLine, median, percentile } from './figures.ts'
import { markdownTable } from './markdown.ts'
import { startPrepaint } from './peers/prepaint.ts'
import type { Site } from './peers/service.ts'
import { openSite } from './sites.ts'

const { values } = parseArgs({
  options: {
    pages: { type: 'string', default: '2000' },
    misses: { type: 'string', default: '40' },
    rounds: { type: 'string', default: '3' },
  },
})
const WARMED = 'warmed.example'
/** The warm has used all slots by then. */
const RENDERED_BEFORE = 12
const WARM_UP_PAGES = 20

type Times = { p50: number; p99: number }

const site = await openSite('shop')
const warmed = await openWithSitemap(site, Number(values.pages))
const prepaint = await startPrepaint(site)
let visit = 0
try {
  await registerDomain(prepaint.node, prepaint.key, { customDomain: WARMED, originUrl: warmed.originUrl })
  for (let page = 0; page < WARM_UP_PAGES; page++) await miss()
  const alone: Times[] = []
  const beside: Times[] = []
  for (let round = 0; round < Number(values.rounds); round++) {
    alone.push(await misses())
    await callWarm('POST')
    await until('the warm is under way', async () => (await readWarm()).done >= RENDERED_BEFORE, 60_000)
    beside.push(await misses())
    if ((await readWarm()).ended_at !== null) throw new Error('The warm ended before the misses')
    await callWarm('DELETE')
    await until('the warm has ended', async () => (await readWarm()).ended_at !== null, 60_000)
  }
  report(alone, beside)
} finally {
  await prepaint.close()
  await warmed.close()
  await site.close()
}

async function miss(): Promise<number> {
  const { path } = site.page(visit++)
  const begunMs = performance.now()
  const { fresh } = await prepaint.render(path)
  if (!fresh) throw new Error(`${path} was not rendered`)
  return performance.now() - begunMs
}

async function misses(): Promise<Times> {
  const times: number[] = []
  for (let count = Number(values.misses); count > 0; count--) times.push(await miss())
  return { p50: median(times), p99: percentile(times, 0.99) }
}

async function callWarm(
  method: 'GET' | 'POST' | 'DELETE',
): Promise<{ done: number; ended_at: string | null }> {
  const { status, body } = await callApi(prepaint.node, prepaint.key, {
    method,
    path: `/api/domains/${WARMED}/warm`,
  })
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body['warm'] as { done: number; ended_at: string | null }
}

function readWarm(): ReturnType<typeof callWarm> {
  return callWarm('GET')
}

/** The site with a sitemap of so many pages. */
async function openWithSitemap(
  of: Site,
  pages: number,
): Promise<{ originUrl: string; close(): Promise<void> }> {
  const { hostname, port } = new URL(of.originUrl)
  const agent = new http.Agent({ keepAlive: true })
  const server = http.createServer((request, response) => {
    const base = `https://${WARMED}`
    if (request.url === '/robots.txt') {
      response.end(`User-agent: *\nAllow: /\nSitemap: ${base}/sitemap.xml\n`)
      return
    }
    if (request.url === '/sitemap.xml') {
      const addresses = Array.from(
        { length: pages },
        (_, number) => `<url><loc>${base}${of.page(number).path}</loc></url>`,
      )
      response.setHeader('Content-Type', 'application/xml')
      response.end(
        `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${addresses.join('')}</urlset>`,
      )
      return
    }
    const { method, url: path, headers } = request
    const asked = http.request({ hostname, port, agent, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    asked.on('error', () => response.destroy())
    request.pipe(asked)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    originUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      agent.destroy()
      await closed
    },
  }
}

function report(alone: readonly Times[], beside: readonly Times[]): void {
  const ms = (times: readonly Times[], of: keyof Times) => median(times.map((one) => one[of])).toFixed(0)
  const ratio = median(beside.map(({ p50 }, round) => p50 / alone[round]!.p50))
  console.log(
    `${new Date().toISOString().slice(0, 10)}, ${machineLine()}, load ${loadavg()[0]!.toFixed(0)}\n`,
  )
  const rows = [
    ['alone', ms(alone, 'p50'), ms(alone, 'p99'), ''],
    [`beside a warm of ${values.pages}`, ms(beside, 'p50'), ms(beside, 'p99'), ratio.toFixed(2)],
  ]
  console.log(markdownTable(['misses', 'p50 ms', 'p99 ms', 'p50, to alone'], rows, 1))
}

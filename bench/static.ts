/** Warms a site without scripts, and the same pages with a script that does nothing, in turn: `npx node bench/static.ts`. */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { clearDataDir, makeDataDir } from '../test/support/data-dir.ts'
import { startNodeProcess } from '../test/support/node-process.ts'
import { callApi, openAccount, registerDomain } from '../test/support/tenant.ts'
import { machineLine, median } from './figures.ts'
import { treeCpuMs } from './tree-meter.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
const PAGES = { plain: Number(process.env['PAGES'] ?? 6_000), scripted: 300 } as const
const PAGE_BYTES = 1_500

type Kind = keyof typeof PAGES

function pageOf(kind: Kind, path: string): string {
  const script = kind === 'scripted' ? '<script>0</script>' : ''
  const start = `<!doctype html><html><head><meta charset="utf-8"><title>${path}</title></head><body>${script}<h1>${path}</h1><p>`
  const words = 'some words of this page '.repeat(100)
  return `${start}${path} ${words.slice(0, PAGE_BYTES - start.length - 30)}</p></body></html>`
}

const origin = http.createServer(({ url = '/', headers }, response) => {
  const kind = String(headers['x-forwarded-host']).startsWith('plain') ? 'plain' : 'scripted'
  const host = `https://${kind}.example`
  if (url === '/robots.txt')
    return void response.end(`User-agent: *\nAllow: /\nSitemap: ${host}/sitemap.xml\n`)
  if (url === '/sitemap.xml') {
    const places = Array.from({ length: PAGES[kind] }, (_, n) => `<url><loc>${host}/p/${n}</loc></url>`)
    response.setHeader('content-type', 'application/xml')
    return void response.end(
      `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${places.join('')}</urlset>`,
    )
  }
  response.setHeader('content-type', 'text/html; charset=utf-8').end(pageOf(kind, url))
})
origin.listen(0, '127.0.0.1')
await once(origin, 'listening')
const originUrl = `http://127.0.0.1:${(origin.address() as AddressInfo).port}`

const dataDir = makeDataDir()
const node = await startNodeProcess(dataDir, {})
try {
  const { key } = await openAccount(node, { email: 'bench@example.com', plan: 'enterprise' })
  const kinds = Object.keys(PAGES) as Kind[]
  for (const kind of kinds) await registerDomain(node, key, { customDomain: `${kind}.example`, originUrl })

  const warm = async (kind: Kind) => {
    const call = (method: string, path: string) =>
      callApi(node, key, { method, path: `/api/domains/${kind}.example${path}` })
    await call('POST', '/purge-all')
    const beforeMs = treeCpuMs(node.pid)
    const startMs = performance.now()
    await call('POST', '/warm')
    for (;;) {
      // Seldom: each call is work for the node that is measured.
      await sleep(250)
      const { body } = await call('GET', '/warm')
      const run = body['warm'] as { ended_at: string | null; done: number; failed: number }
      if (run.ended_at === null) continue
      const seconds = (performance.now() - startMs) / 1_000
      return {
        pagesPerSecond: run.done / seconds,
        cpuMsPerPage: (treeCpuMs(node.pid) - beforeMs) / run.done,
        failed: run.failed,
      }
    }
  }
  const found: Record<Kind, { pagesPerSecond: number; cpuMsPerPage: number }[]> = { plain: [], scripted: [] }
  for (let round = 0; round < ROUNDS; round++) {
    for (const kind of kinds) {
      const run = await warm(kind)
      found[kind].push(run)
      console.log(
        `${kind}: ${run.pagesPerSecond.toFixed(1)} pages/s, ${run.cpuMsPerPage.toFixed(2)} ms CPU a page, ${run.failed} failed`,
      )
    }
  }
  console.log(`\n${machineLine()}\n`)
  console.log('| pages of 1.5 KB | pages/s | CPU a page, ms |\n|---|--:|--:|')
  for (const kind of kinds) {
    const [rate, cpu] = [
      found[kind].map((run) => run.pagesPerSecond),
      found[kind].map((run) => run.cpuMsPerPage),
    ]
    console.log(
      `| ${kind === 'plain' ? 'without scripts' : 'with a script (browser)'} | ${median(rate).toFixed(1)} | ${median(cpu).toFixed(2)} |`,
    )
  }
} finally {
  await node.stop()
  await clearDataDir(dataDir)
  origin.close()
  origin.closeAllConnections()
}

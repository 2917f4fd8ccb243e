/** Loads a page with and without the gateway: `node bench/gateway.ts [pages]`. See docs/decisions/0003-gateway.md. */
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { findBrowser } from '@prepaint/engine/browser-binary'
import { silentLog } from '@prepaint/runtime/log.ts'
import ipaddr from 'ipaddr.js'
import { type GatewaySite, launchBrowser, signIn, startGateway } from '../test/support/engine-parts.ts'

const RESOURCES = 20
const RESOURCE_BYTES = 30_000
const pages = Number(process.argv[2] ?? 40)

const script = `globalThis.loaded = (globalThis.loaded ?? 0) + 1; // ${'x'.repeat(RESOURCE_BYTES)}`
const tags = Array.from({ length: RESOURCES }, (_, n) => `<script src="/${n}.js"></script>`).join('')
const html = `<!doctype html><title>page</title>${tags}<script>
  fetch('/data.json').then((r) => r.json()).then((d) => { document.title = 'done ' + loaded + ' ' + d.ok })
</script>`

const origin = http.createServer((request, response) => {
  const [type, body] =
    request.url === '/'
      ? ['text/html', html]
      : request.url === '/data.json'
        ? ['application/json', '{"ok":true}']
        : ['text/javascript', script]
  response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' }).end(body)
})
origin.keepAliveTimeout = 60_000
origin.listen(0, '127.0.0.1')
await once(origin, 'listening')
const { port } = origin.address() as AddressInfo

const dataDir = await mkdtemp(path.join(tmpdir(), 'prepaint-bench-'))
// As root, the browser runs as another user, who must be able to enter this directory.
await chmod(dataDir, 0o711)
const log = silentLog()
const gateway = await startGateway({ allowed: [{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port }], log })
const site = await gateway.openSite({ customDomain: 'shop.example', originUrl: `http://127.0.0.1:${port}` })
const binary = await findBrowser({ chromium: process.env['PREPAINT_CHROMIUM'] ?? null, dataDir })
const browser = await launchBrowser({
  binary,
  dataDir,
  spkiHash: gateway.spkiHash,
  requireSandbox: false,
  pageMemoryBytes: 2 ** 40,
  log,
})
console.log(`${browser.product} (${binary.source}), Node ${process.version}, ${pages} pages each way`)

const ways = {
  direct: await openWay(null, `http://127.0.0.1:${port}/`),
  gateway: await openWay(site, 'https://shop.example/'),
}
const times: Record<keyof typeof ways, number[]> = { direct: [], gateway: [] }
const cpu: Record<keyof typeof ways, number> = { direct: 0, gateway: 0 }
for (let turn = -3; turn < pages; turn += 1) {
  for (const way of ['direct', 'gateway'] as const) {
    const before = process.cpuUsage()
    const tookMs = await ways[way]()
    const { user, system } = process.cpuUsage(before)
    if (turn < 0) continue
    times[way].push(tookMs)
    cpu[way] += (user + system) / 1000
  }
}
for (const way of ['direct', 'gateway'] as const) {
  const sorted = times[way].toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(sorted.length * share)]!.toFixed(1)
  console.log(
    `${way.padEnd(8)} p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, node CPU ${(cpu[way] / pages).toFixed(1)} ms a page`,
  )
}

await browser.kill('the benchmark is over')
await gateway.close()
origin.close()
origin.closeAllConnections()
await rm(dataDir, { recursive: true, force: true })

/** Returns a function that reloads the page in its own context and resolves with milliseconds. */
async function openWay(site: GatewaySite | null, url: string): Promise<() => Promise<number>> {
  const { browserContextId } = await browser.cdp.browser.send('Target.createBrowserContext', {
    proxyServer: site === null ? 'direct://' : site.proxyUrl,
    proxyBypassList: '<-loopback>',
  })
  const { targetId } = await browser.cdp.browser.send('Target.createTarget', {
    url: 'about:blank',
    browserContextId,
  })
  if (site !== null) await signIn(browser.cdp, targetId, site)
  const { sessionId } = await browser.cdp.browser.send('Target.attachToTarget', { targetId, flatten: true })
  const page = browser.cdp.session(sessionId)
  await page.send('Network.enable', {})
  await page.send('Network.setCacheDisabled', { cacheDisabled: true })
  await page.send('Page.enable', {})
  return async () => {
    const startedMs = performance.now()
    await page.send('Page.navigate', { url })
    const { result } = await page.send('Runtime.evaluate', {
      expression: `new Promise((done) => { const look = () => document.title.startsWith('done')
        ? done(document.title) : setTimeout(look, 1); look() })`,
      awaitPromise: true,
    })
    const tookMs = performance.now() - startedMs
    if (result.value !== `done ${RESOURCES} true`) throw new Error(`incomplete page: ${result.value}`)
    return tookMs
  }
}

import assert from 'node:assert/strict'
import http from 'node:http'
import { after, it } from 'node:test'
import zlib from 'node:zlib'
import type { WarmProgress } from '../src/queue/warm/warm-progress.ts'
import { runJson } from '../test/support/command-line.ts'
import { until } from '../test/support/condition.ts'
import { clearDataDir, makeDataDir } from '../test/support/data-dir.ts'
import { listening } from '../test/support/loopback.ts'
import { startNodeProcess } from '../test/support/node-process.ts'
import { callApi, openAccount, registerDomain } from '../test/support/tenant.ts'

// A whole node, as its users have it, that dies in the middle of a warm.

const PAGES = 24
const DOMAIN = 'shop.example.com'
const WARM_URL = `/api/domains/${DOMAIN}/warm`
const WITHIN_MS = 120_000

/** The origin gives so many of them until the node has died: however quick it is, its warm is not over by then. */
const GIVEN_FIRST = PAGES / 2
const asked = new Set<string>()
let held: (() => void)[] | null = []

const dataDir = makeDataDir()
const origin = http.createServer((req, res) => {
  const entries = Array.from({ length: PAGES }, (_, n) => `<url><loc>/p/${n}</loc></url>`).join('')
  const files: Record<string, string | Buffer> = {
    '/robots.txt': 'User-agent: *\nDisallow: /secret\nSitemap: /index.xml',
    '/index.xml': '<sitemapindex><sitemap><loc>/pages.xml.gz</loc></sitemap></sitemapindex>',
    '/pages.xml.gz': zlib.gzipSync(
      `<urlset>${entries}<url><loc>/secret</loc></url><url><loc>https://else.example/x</loc></url></urlset>`,
    ),
  }
  const file = files[req.url ?? '']
  if (file !== undefined) return void res.end(file)
  if (req.url?.startsWith('/p/')) asked.add(req.url)
  const answer = () => {
    res.setHeader('content-type', 'text/html')
    res.end(`<!doctype html><title>Shop</title><div id="app"></div><script>
      document.getElementById('app').textContent = 'This is ' + location.pathname</script>`)
  }
  if (held !== null && asked.size > GIVEN_FIRST) held.push(answer)
  else answer()
})
let node = await startNodeProcess(dataDir)
const { key } = await openAccount(node, { email: 'owner@example.com', plan: 'agency_plus' })
await registerDomain(node, key, {
  customDomain: DOMAIN,
  originUrl: `http://127.0.0.1:${await listening(origin)}`,
})
after(async () => {
  await node.stop()
  origin.close()
  origin.closeAllConnections()
  assert.deepEqual(await clearDataDir(dataDir), [])
})

async function call(method: string, path: string, body?: unknown) {
  const answer = await callApi(node, key, { method, path, body })
  assert(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`)
  return answer.body
}
const warm = async (method = 'GET', body?: unknown) =>
  (await call(method, WARM_URL, body))['warm'] as WarmProgress
const soFar = (what: string, holds: (progress: WarmProgress) => boolean) =>
  until(what, async () => [await warm()].find(holds), WITHIN_MS)

it('a warm is paused and resumed, outlives the node, and renders every page that the site allows, once', async () => {
  await warm('POST', {})
  await soFar('some pages are done', ({ done }) => done >= 3)
  assert.notEqual((await warm('PUT', { paused: true })).paused_at, null)
  const queued = await runJson(['jobs', '--domain', DOMAIN, '--state', 'queued'], node.settings)
  // A look at the site where it has no page is none of the warm's.
  const waiting = (queued.json['jobs'] as { path: string }[]).map(({ path }) => path)
  assert.equal(waiting.filter((path) => path.startsWith('/p/')).join(), '')
  await warm('PUT', { paused: false })
  const { done } = await soFar('it has gone on', (progress) => progress.done >= 6)
  assert(done < PAGES, 'it is not over yet')

  await node.kill()
  for (const answer of held?.splice(0) ?? []) answer()
  held = null
  node = await startNodeProcess(dataDir)
  const end = await soFar('it is over', ({ ended_at: endedAt }) => endedAt !== null)
  assert.deepEqual(
    [end.state, end.known, end.done, end.failed, end.forbidden, end.left],
    ['done', PAGES + 1, PAGES, 0, 1, 0],
  )
  assert.equal((await call('GET', `/api/cache/list/${DOMAIN}`))['cachedPages'], PAGES)
})

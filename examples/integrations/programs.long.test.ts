/** The guides for applications and platforms, each in its real program, or in the nearest that runs here, before a real node. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { buffer } from 'node:stream/consumers'
import { before, it } from 'node:test'
import vm from 'node:vm'
import { rolldown } from 'rolldown'
import { runJson } from '../../test/support/command-line.ts'
import { until } from '../../test/support/condition.ts'
import { GOOGLEBOT, PERSON, request } from '../../test/support/edge.ts'
import {
  FrontTests,
  type Promised,
  SERVER_MOODS,
  type Site,
  SPA,
  type Ways,
} from '../../test/support/front-tests.ts'
import { installedPeer } from '../../test/support/installed-peer.ts'
import { freePort, listening, serve } from '../../test/support/loopback.ts'
import { registerDomain } from '../../test/support/tenant.ts'

const fronts = new FrontTests()
const peer = installedPeer('fronts')
const here = (file: string) => path.join(import.meta.dirname, file)
const HTML = { 'Content-Type': 'text/html; charset=utf-8' }

const nameOf = (file: string) => file.split('.', 1)[0]!

const ROUTE = `const html = ${JSON.stringify(SPA)}
export const GET = () => new Response(html, { headers: ${JSON.stringify(HTML)} })
export const POST = GET`

type BuiltSite = {
  title: string
  host: string
  /** The files of the site, beside the guide's. */
  files: Record<string, string>
  guide: Record<string, string>
  build: string[]
  start(dir: string, port: number): string[]
  promised?: Promised
}

const next = path.join(peer.folderOf('next'), 'dist/bin/next')
const vite = path.resolve(import.meta.dirname, '../../node_modules/vite/bin/vite.js')

/** The server of Nuxt is one of Nitro: alone, it is asked for a page only. */
const NITRO = 'nitro.example.com'

const BUILT_SITES: readonly BuiltSite[] = [
  {
    title: 'next-proxy.ts, built and started by Next.js',
    host: 'next.example.com',
    guide: { 'next-proxy.ts': 'proxy.ts' },
    files: {
      'next.config.mjs': `export default { turbopack: { root: ${JSON.stringify(path.resolve(import.meta.dirname, '../..'))} } }`,
      'app/[[...path]]/route.js': `export const dynamic = 'force-dynamic'\n${ROUTE}`,
    },
    build: [next, 'build'],
    start: (_dir, port) => [next, 'start', '--port', `${port}`, '--hostname', '127.0.0.1'],
    promised: { limits: { respellsQuery: true } },
  },
  {
    title: 'nitro-middleware.ts, built by Nuxt',
    host: 'nuxt.example.com',
    guide: { 'nitro-middleware.ts': 'server/middleware/prepaint.ts' },
    files: {
      'nuxt.config.ts':
        'export default { compatibilityDate: "2026-01-01", telemetry: false, devtools: { enabled: false } }',
      // The server sends it empty, and the browser draws it.
      'app/app.vue': `<script setup>
const drawn = ref('')
onMounted(() => { drawn.value = 'drawn ' + location.href + ' ' + 'ä'.repeat(9) })
</script>
<template><div id="app">{{ drawn }}</div></template>`,
    },
    build: [path.join(peer.folderOf('nuxt'), 'bin/nuxt.mjs'), 'build'],
    start: (dir) => [path.join(dir, '.output/server/index.mjs')],
  },
  {
    title: 'nitro-middleware.ts, built by Nitro',
    host: NITRO,
    guide: { 'nitro-middleware.ts': 'middleware/prepaint.ts' },
    files: {
      'nitro.config.ts': 'export default { compatibilityDate: "2026-01-01" }',
      'routes/[...].ts': `export default () => new Response(${JSON.stringify(SPA)}, { headers: ${JSON.stringify(HTML)} })`,
    },
    build: [path.join(peer.folderOf('nitropack'), 'dist/cli/index.mjs'), 'build'],
    start: (dir) => [path.join(dir, '.output/server/index.mjs')],
  },
  {
    title: 'vite.config.mjs, in vite preview',
    host: 'vite.example.com',
    guide: { 'vite.config.mjs': 'vite.config.mjs' },
    files: { 'index.html': SPA },
    build: [vite, 'build'],
    start: (_dir, port) => [vite, 'preview', '--host', '127.0.0.1', '--port', `${port}`, '--strictPort'],
  },
]

/** The folders of built sites, by host. */
const built = new Map<string, string>()

fronts.guides(() => {
  // Before all of them: a build takes all cores, and pages that are asked for meanwhile would be late.
  before(buildSites, { timeout: 600_000 })
  for (const file of ['express.mjs', 'express-prerender-node.mjs', 'fastify.mjs']) {
    const site = { dir: import.meta.dirname, name: nameOf(file) }
    fronts.guide(file, (ways) => startWhole(file, { ...site, ways }), { echoes: true })
  }
  for (const [file, name] of [
    ['express.mjs', 'express-5'],
    ['koa.mjs', 'koa'],
    ['hono.mjs', 'hono'],
  ] as const) {
    const start = (ways: Ways) => startWhole(file, { dir: folderOfSite({ [file]: file }), name, ways })
    fronts.guide(`${file}, as ${name}`, start, { echoes: true })
  }
  for (const { title, host, start, promised } of BUILT_SITES) {
    if (host === NITRO) continue
    fronts.guide(title, (ways) => startBuilt(host, { start, ways }), promised)
  }
  fronts.guide('cloudflare-worker.mjs, in workerd', startWorker)
  fronts.guide('vercel-middleware.mjs, in the runtime of edge functions', startEdgeRuntime)
  fronts.guide('netlify-edge-function.mjs, as a fetch handler', startNetlify)
  fronts.guide('cloudfront.js, with stand-ins for its module and its origin group', startCloudFront, {
    moods: SERVER_MOODS.filter((mood) => mood !== 401 && mood !== 400),
    limits: { byStatus: true },
  })
})

it('nitro-middleware.ts, built by Nitro alone: crawlers get the page, people the app', async () => {
  const { start } = BUILT_SITES.find(({ host }) => host === NITRO)!
  await fronts.assertWorks(await startBuilt(NITRO, { start, ways: await fronts.openWays() }))
})

async function buildSites(): Promise<void> {
  const { api } = await fronts.openWays()
  await Promise.all(
    BUILT_SITES.map(async ({ host, guide, files, build }) => {
      const dir = folderOfSite(guide)
      for (const [file, text] of Object.entries(files)) writeIn(dir, file, text)
      await buildSite(dir, build, { ...fronts.environment(host, { api }), NODE_ENV: 'production' })
      built.set(host, dir)
    }),
  )
}

async function startWorker(ways: Ways): Promise<Site> {
  const host = 'worker.example.com'
  const app = await serve((_req, res) => res.writeHead(200, HTML).end(SPA))
  const { Miniflare } = peer.require('miniflare') as MiniflareModule
  const { PREPAINT_URL, PREPAINT_KEY, WAIT_MS } = fronts.environment(host, ways)
  const modules = { modules: true, compatibilityDate: '2026-01-01' }
  const worker = new Miniflare({
    host: '127.0.0.1',
    port: 0,
    workers: [
      {
        ...modules,
        name: 'site',
        script: await bundled(here('cloudflare-worker.mjs'), 'esm'),
        bindings: { PREPAINT_URL, PREPAINT_KEY, WAIT_MS },
        outboundService: 'internet',
      },
      {
        ...modules,
        name: 'internet',
        // What is asked of the zone goes to its origin.
        script: `export default { fetch(request) {
          const url = new URL(request.url)
          if (url.hostname !== '${host}') return fetch(request)
          return fetch(new Request('${app.url}' + url.pathname + url.search, request))
        } }`,
        outboundService: { network: { allow: ['public', 'private'] } },
      },
    ],
  })
  fronts.closing.push(app.close, () => worker.dispose())
  return { host, port: Number((await worker.ready).port), origin: app.port }
}

type MiniflareModule = {
  Miniflare: new (options: object) => { ready: Promise<URL>; dispose(): Promise<void> }
}

async function startEdgeRuntime(ways: Ways): Promise<Site> {
  const host = 'vercel.example.com'
  const dir = folderOfSite({ 'vercel-middleware.mjs': 'middleware.mjs' })
  writeIn(
    dir,
    'entry.mjs',
    `import middleware from './middleware.mjs'
     addEventListener('fetch', (event) => event.respondWith(middleware(event.request)))`,
  )
  const { EdgeRuntime } = peer.require('edge-runtime') as EdgeRuntimeModule
  const env = fronts.environment(host, ways)
  const runtime = new EdgeRuntime({
    initialCode: await bundled(path.join(dir, 'entry.mjs'), 'iife'),
    extend: (context) => Object.assign(context, { process: { env } }),
  })
  return startPlatform(host, async (asked) => {
    const { method, headers } = asked
    const answer = await runtime.dispatchFetch(asked.url, { method, headers })
    return answer.headers.get('x-middleware-next') === '1' ? theSite() : answer
  })
}

type EdgeRuntimeModule = {
  EdgeRuntime: new (options: {
    initialCode: string
    extend: (context: object) => object
  }) => {
    dispatchFetch(url: string, init: object): Promise<Response>
  }
}

async function startNetlify(ways: Ways): Promise<Site> {
  const host = 'netlify.example.com'
  const env = fronts.environment(host, ways)
  Object.assign(globalThis, { Netlify: { env: { get: (name: string) => env[name] } } })
  const { default: handler } = (await import(here('netlify-edge-function.mjs'))) as NetlifyModule
  return startPlatform(host, (asked) => handler(asked, { next: async () => theSite() }))
}

type NetlifyModule = {
  default: (request: Request, context: { next(): Promise<Response> }) => Promise<Response>
}

type CloudFrontOrigin = {
  originPath: string
  customHeaders: Record<string, string>
  timeouts: { connectionTimeout: number; readTimeout: number }
}

const OPENS_ON = [403, 404, 500, 502, 503, 504]

async function startCloudFront({ api }: Ways): Promise<Site> {
  const host = 'cloudfront.example.com'
  const code = readFileSync(here('cloudfront.js'), 'utf8')
    .replace("import cf from 'cloudfront'", '')
    .replaceAll('www.example.com', host)
    .replaceAll('pp_site_TOKEN', fronts.key)
  let chosen: CloudFrontOrigin | 'app' = 'app'
  const cf = {
    selectRequestOriginById(id: 'app') {
      chosen = id
    },
    updateRequestOrigin(origin: CloudFrontOrigin) {
      chosen = origin
    },
  }
  const context = vm.createContext({ cf })
  vm.runInContext(code, context)
  const server = http.createServer(async (req, res) => {
    const [uri = '', query] = req.url!.split('?')
    const given = Object.entries(req.headers).map(([name, value]) => [name, { value: String(value) }])
    const event = {
      request: { method: req.method, uri, headers: Object.fromEntries(given), cookies: { session: {} } },
    }
    const asked = vm.runInContext('handler', context)(event) as typeof event.request
    const page = chosen === 'app' ? null : await primary(api.url, chosen, asked, query)
    if (page === null) {
      res.writeHead(200, HTML).end(SPA)
      return
    }
    res.writeHead(page.statusCode!, page.headers)
    res.end(await buffer(page))
  })
  return { host, port: await closedAfter(server) }
}

/** Returns null if the group asks its second origin. */
async function primary(
  apiUrl: string,
  { originPath, customHeaders, timeouts }: CloudFrontOrigin,
  {
    method,
    uri,
    headers,
    cookies,
  }: { method: string | undefined; uri: string; headers: object; cookies: object },
  query: string | undefined,
): Promise<http.IncomingMessage | null> {
  assert.deepEqual(Object.keys(cookies), [])
  const passed: Record<string, string> = { ...customHeaders, host: '127.0.0.1' }
  for (const [name, { value }] of Object.entries(headers as Record<string, { value: string }>)) {
    if (/^(user-agent|accept|x-prerender.*)$/.test(name)) passed[name] = value
  }
  const target = `${apiUrl}${originPath}${uri}${query === undefined ? '' : `?${query}`}`
  const signal = AbortSignal.timeout(timeouts.readTimeout * 1_000)
  const sent = http.request(target, { method, headers: passed, signal })
  try {
    sent.end()
    const [answer] = (await once(sent, 'response')) as [http.IncomingMessage]
    if (!OPENS_ON.includes(answer.statusCode!)) return answer
    answer.destroy()
    return null
  } catch {
    return null
  }
}

// Proves decided "Way of crawlers"
it('a front whose site token has ended: crawlers get the app, and its owner is told why', async () => {
  const host = 'token.example.com'
  const token = async (verb: string) => {
    const { code, json } = await runJson(['site-token', verb, '--domain', host], fronts.node.settings)
    assert.equal(code, 0, JSON.stringify(json))
    return String(json['token'])
  }
  const origin = await serve((_req, res) => res.writeHead(200, HTML).end(SPA))
  fronts.closing.push(origin.close)
  await registerDomain(fronts.node, fronts.key, { customDomain: host, originUrl: origin.url })
  const ways = await fronts.openWays()
  const key = await token('create')
  const site = await startWhole('express.mjs', { dir: import.meta.dirname, name: 'token', ways, key })
  const crawl = () => request(site.port, '/', { host, agent: GOOGLEBOT })
  assert.equal((await crawl()).verdict, 'rendered')

  await token('revoke')
  const opened = await crawl()
  assert.deepEqual([opened.status, opened.verdict], [200, undefined])
  const domain = `/api/domains/${host}`
  const body = { via: `http://127.0.0.1:${site.port}` }
  const { check } = await fronts.call('POST', `${domain}/integration/check`, body)
  const { state, reason, detail } = check as Record<string, unknown>
  const dead = 'invalid-x-prerender-token-provided'
  assert.deepEqual([state, reason, detail], ['not_seen', 'refused', dead])
  await until('the refusals are counted', async () => {
    const { refused } = await fronts.call('GET', `${domain}/integration`)
    const { count, reason: why } = (refused ?? { count: 0 }) as Record<string, unknown>
    return count === 2 && why === dead
  })
})

it('crawlers of a paused domain are evidence, people and our renderer are not', async () => {
  const host = 'paused.example.com'
  const origin = await serve((_req, res) => res.writeHead(200, HTML).end(SPA))
  fronts.closing.push(origin.close)
  await registerDomain(fronts.node, fronts.key, { customDomain: host, originUrl: origin.url })
  const domain = `/api/domains/${host}`
  const seen = async () => {
    const { ways } = await fronts.call('GET', `${domain}/integration`)
    return (ways as Record<string, { visits_24h: number; crawler: string } | null>)['proxy']
  }
  await fronts.call('PUT', domain, { is_active: false })
  const edge = Number(new URL(fronts.node.edge).port)
  await request(edge, '/', { host, agent: PERSON })
  const passed = await request(edge, '/', { host, agent: GOOGLEBOT })
  assert.equal(passed.verdict, 'pass; inactive')
  const way = await until('the crawler is seen', seen)
  assert.deepEqual([way.visits_24h, way.crawler], [1, 'Googlebot'])
})

it('one name of a request leads through the log and the record of its render, and the node counted it', async () => {
  const host = 'express.example.com'
  const { headers } = await request(Number(new URL(fronts.node.edge).port), '/named', {
    host,
    agent: GOOGLEBOT,
  })
  const id = String(headers['x-request-id'])
  const lines = () => {
    const found = fronts.node.log().split('\n')
    return found.filter((line) => line.includes(`"${id}"`)).map((line) => JSON.parse(line))
  }
  await until('both lines are there', () => lines().length === 2)
  const job = lines().find(({ msg }) => msg === 'job')
  const live = lines().find(({ msg }) => msg !== 'job')
  assert.deepEqual([job.domain, job.path, job.outcome], [host, '/named', 'rendered'])
  assert.deepEqual([live.host, live.path, live.verdict], [host, '/named', 'rendered'])
  await until('the record is there', async () => {
    const { renders } = await fronts.call('GET', `/api/domains/${host}/renders`)
    return (renders as Record<string, unknown>[]).some(
      ({ requestId, jobId }) => requestId === id && jobId === job.job,
    )
  })
  const metrics = await (await fetch(`${fronts.node.api}/metrics`)).text()
  assert.match(metrics, /^prepaint_edge_requests_total\{verdict="rendered",why="",crawler="search"\} [1-9]/m)
  assert.match(metrics, /^prepaint_renders_total\{outcome="rendered"\} [1-9]/m)
  assert.match(metrics, /^prepaint_tree_memory_bytes\{part="browsers"\} [1-9]\d{6}/m)
})

function theSite(): Response {
  return new Response(SPA, { headers: HTML })
}

/** A server that hands each request to a fetch handler, as the platform does. */
async function startPlatform(host: string, answer: (asked: Request) => Promise<Response>): Promise<Site> {
  const server = http.createServer(async (req, res) => {
    const headers = req.headers as Record<string, string>
    const found = await answer(new Request(`https://${host}${req.url}`, { method: req.method!, headers }))
    res.writeHead(found.status, Object.fromEntries(found.headers))
    res.end(Buffer.from(await found.arrayBuffer()))
  })
  return { host, port: await closedAfter(server) }
}

function closedAfter(server: http.Server): Promise<number> {
  fronts.closing.push(() => server.close().closeAllConnections())
  return listening(server)
}

/** Below the peer: what a file imports is found there, and our package in the workspace above. */
function folderOfSite(files: Record<string, string>): string {
  const dir = fronts.folder(path.resolve(import.meta.dirname, '../../test/peers/fronts'))
  for (const [file, as] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(dir, as)), { recursive: true })
    copyFileSync(here(file), path.join(dir, as))
  }
  return dir
}

function writeIn(dir: string, file: string, text: string): void {
  mkdirSync(path.dirname(path.join(dir, file)), { recursive: true })
  writeFileSync(path.join(dir, file), text)
}

/** A file that says at which port it listens. */
async function startWhole(
  file: string,
  { dir, name, ways, key = fronts.key }: { dir: string; name: string; ways: Ways; key?: string },
): Promise<Site> {
  const host = `${name}.example.com`
  const env = { ...fronts.environment(host, ways), PREPAINT_KEY: key }
  const child = spawn(process.execPath, [path.join(dir, file)], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  fronts.closing.push(() => child.kill())
  const [said] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { host, port: (JSON.parse(said) as { port: number }).port }
}

async function buildSite(cwd: string, command: string[], env: Record<string, string>): Promise<void> {
  const child = spawn(process.execPath, command, { cwd, env, stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = (await once(child, 'exit')) as [number | null]
  assert.equal(code, 0, `${command.join(' ')} failed`)
}

async function startBuilt(
  host: string,
  { start, ways }: { start: BuiltSite['start']; ways: Ways },
): Promise<Site> {
  const dir = built.get(host)!
  const port = await freePort()
  const env = {
    ...fronts.environment(host, ways),
    PORT: `${port}`,
    HOST: '127.0.0.1',
    NODE_ENV: 'production',
  }
  const child: ChildProcess = spawn(process.execPath, start(dir, port), { cwd: dir, env, stdio: 'ignore' })
  const ended = once(child, 'exit')
  fronts.closing.push(async () => {
    child.kill()
    await ended
  })
  await until(`${host} listens`, async () => {
    assert.equal(child.exitCode, null)
    const socket = net.connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return socket.destroy()
  })
  return { host, port }
}

async function bundled(file: string, format: 'esm' | 'iife'): Promise<string> {
  const bundle = await rolldown({ input: file, logLevel: 'silent' })
  const { output } = await bundle.generate({ format })
  await bundle.close()
  return output[0].code
}

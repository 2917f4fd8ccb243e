import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, it } from 'node:test'
import { until } from '../../test/support/condition.ts'
import { clearDataDir, makeDataDir } from '../../test/support/data-dir.ts'
import { type Answer, GOOGLEBOT, PERSON, request } from '../../test/support/edge.ts'
import { openFolder } from '../../test/support/folder.ts'
import { freePort, listening, serve } from '../../test/support/loopback.ts'
import { hasNginx, startNginx } from '../../test/support/nginx.ts'
import { type NodeProcess, startNodeProcess } from '../../test/support/node-process.ts'
import { hasProgram } from '../../test/support/program.ts'
import { callApi, openAccount, registerDomain } from '../../test/support/tenant.ts'

// A real node, and before it the guides' own configurations, each also its own origin: renders come back through it.

const SPA = `<!doctype html><meta charset="utf-8"><title>Shop</title><div id="app"></div>
<script>document.getElementById('app').textContent = 'drawn ' + location.href + ' ' + 'ä'.repeat(9)</script>`
const WAIT_MS = 8_000
const here = (file: string) => path.join(import.meta.dirname, file)

const dataDir = makeDataDir()
const siteDir = openFolder()
const closing: (() => unknown)[] = []
let node: NodeProcess
let key: string
let line: Awaited<ReturnType<typeof startLine>>
let edgeLine: Awaited<ReturnType<typeof startLine>>
before(async () => {
  writeFileSync(path.join(siteDir, 'index.html'), SPA)
  node = await startNodeProcess(dataDir, { PREPAINT_RENDER_SLOTS: '2', PREPAINT_LOG_LEVEL: 'info' })
  key = (await openAccount(node, { email: 'owner@example.com', plan: 'agency' })).key
  line = await startLine(node.api)
  edgeLine = await startLine(node.edge)
  closing.push(
    () => line.close(),
    () => edgeLine.close(),
  )
})
after(async () => {
  for (const close of closing.reverse()) await close()
  await node?.stop()
  assert.deepEqual(await clearDataDir(dataDir), [])
})

/** `origin`: a front that answers for its own name only cannot be its own origin. */
type Site = { host: string; port: number; origin?: number }

/** `away`: refuses requests; `hang`: never answers; `half`: stops in the middle of a page. */
const MOODS = ['away', 'hang', 'half', 500, 503, 401, 403, 400] as const
type Mood = 'well' | (typeof MOODS)[number]

/** What every guide promises of its configuration. */
function promises(
  start: () => Promise<Site>,
  moods: readonly Mood[] = MOODS,
  way: 'middleware' | 'proxy' = 'middleware',
): void {
  const lineOf = () => (way === 'proxy' ? edgeLine : line)
  let site: Site
  before(async () => {
    site = await start()
    await registerDomain(node, key, {
      customDomain: site.host,
      originUrl: `http://127.0.0.1:${site.origin ?? site.port}`,
    })
  })
  const get = (url: string, agent: string | null, how: { method?: string } = {}): Promise<Answer> =>
    request(site.port, url, { host: site.host, agent, ...how })
  const isApp = ({ status, verdict, body }: Answer) =>
    status === 200 && verdict === undefined && body.toString().includes('<div id="app"></div>')

  it('a person gets the app, and we are not asked', async () => {
    lineOf().asked = 0
    assert(isApp(await get('/', PERSON)))
    assert(isApp(await get('/', null)))
    assert.equal(lineOf().asked, 0)
  })

  // Proves decided "Middleware integration"
  it('a crawler gets the finished page, rendered once, though the renderer comes through the same front', async () => {
    const first = await get('/shoes?size=38', GOOGLEBOT)
    assert.deepEqual([first.status, first.verdict], [200, 'rendered'])
    assert.match(first.body.toString(), new RegExp(`drawn https://${site.host}/shoes\\?size=38 ä{9}<`))
    assert.doesNotMatch(first.body.toString(), /<script/)
    const second = await get('/shoes?size=38&utm_source=x', GOOGLEBOT)
    assert.deepEqual([second.status, second.verdict], [200, 'hit'])
    assert.equal(second.body.toString(), first.body.toString())
    const head = await get('/shoes?size=38', GOOGLEBOT, { method: 'HEAD' })
    assert.deepEqual([head.status, head.verdict, head.body.length], [200, 'hit', 0])
  })

  it('no cookie of a visitor reaches Prepaint, and other methods, assets and marked requests do not go there', async () => {
    lineOf().heard = ''
    const headers = { host: site.host, 'user-agent': GOOGLEBOT, cookie: 'session=secret' }
    const page = await request(site.port, '/cookie', { host: site.host, headers })
    assert.equal(page.verdict, 'rendered')
    assert.doesNotMatch(lineOf().heard, /session=secret/)
    lineOf().asked = 0
    for (const [method, url, more] of [
      ['POST', '/shoes', {}],
      ['GET', '/app.js', {}],
      ['GET', '/shoes?size=38', { 'x-prerender': '1' }],
    ] as const) {
      const passed = await request(site.port, url, { host: site.host, method, headers: more })
      assert.equal(passed.verdict, undefined, url)
    }
    assert.equal(lineOf().asked, 0)
  })

  it('a check of the installation says the way', async () => {
    const { body } = await callApi(node, key, {
      method: 'POST',
      path: `/api/domains/${site.host}/integration/check`,
      body: { via: `http://127.0.0.1:${site.port}` },
    })
    const { state, reason, detail } = body['check'] as Record<string, unknown>
    assert.deepEqual([state, reason, detail], [way, null, null])
  })

  it('a renderer that calls itself a crawler is not sent back to us', async () => {
    const settings = { render: { user_agent: GOOGLEBOT } }
    await callApi(node, key, { method: 'PUT', path: `/api/domains/${site.host}`, body: { settings } })
    const page = await get('/as-crawler', GOOGLEBOT)
    assert.equal(page.verdict, 'rendered')
    assert.match(page.body.toString(), /drawn https:/)
  })

  for (const mood of moods) {
    it(`Prepaint that is ${mood}: the app answers crawlers too`, { timeout: 240_000 }, async () => {
      lineOf().turn(mood)
      try {
        const answer = await get('/shoes?size=38', GOOGLEBOT)
        assert(isApp(answer), `${answer.status} ${answer.body}`)
      } finally {
        lineOf().turn('well')
      }
      await until(
        'crawlers get pages again',
        async () => (await get('/shoes?size=38', GOOGLEBOT)).verdict === 'hit',
      )
    })
  }
}

const PROGRAMS = ['express.mjs', 'express-prerender-node.mjs', 'fastify.mjs']
for (const file of PROGRAMS) {
  describe(file, () => {
    promises(async () => {
      const host = `${file.replace('.mjs', '')}.example.com`
      const env = {
        ...{ PATH: process.env['PATH'], PREPAINT_URL: line.url, PREPAINT_KEY: key },
        ...{ SITE_HOST: host, SITE: `https://${host}`, SITE_DIR: siteDir, WAIT_MS: `${WAIT_MS}`, PORT: '0' },
      }
      const child = spawn(process.execPath, [here(file)], { env, stdio: ['ignore', 'pipe', 'inherit'] })
      closing.push(() => child.kill())
      const [said] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
      return { host, port: (JSON.parse(said) as { port: number }).port }
    })
  })
}

describe('cloudflare-worker.mjs, in Node', () => {
  promises(async () => {
    const host = 'worker.example.com'
    const worker = (await import(here('cloudflare-worker.mjs'))).default
    const env = { PREPAINT_URL: `${line.url}/`, PREPAINT_KEY: key, WAIT_MS: `${WAIT_MS}` }
    // On the edge, what `fetch` is given of the zone goes to its origin.
    const { fetch } = globalThis
    globalThis.fetch = async (to, init) =>
      to instanceof Request && new URL(to.url).host === host
        ? new Response(SPA, { headers: { 'Content-Type': 'text/html' } })
        : fetch(to, init)
    closing.push(() => {
      globalThis.fetch = fetch
    })
    const server = http.createServer(async (req, res) => {
      const headers = req.headers as Record<string, string>
      const asked = new Request(`https://${host}${req.url}`, { method: req.method ?? 'GET', headers })
      const answer: Response = await worker.fetch(asked, env)
      res.writeHead(answer.status, Object.fromEntries(answer.headers))
      res.end(Buffer.from(await answer.arrayBuffer()))
    })
    closing.push(() => server.close().closeAllConnections())
    return { host, port: await listening(server) }
  })
})

type ServerGuide = {
  file: string
  way: 'middleware' | 'proxy'
  listens: string
  start(port: number, configuration: string): Promise<{ close(): Promise<void> }>
}

const GUIDES: ServerGuide[] = []
if (hasNginx) GUIDES.push({ file: 'nginx.conf', way: 'middleware', listens: 'listen 80;', start: startNginx })
if (hasProgram('haproxy', 'haproxy')) {
  const command = (file: string) => ['haproxy', '-db', '-f', file]
  GUIDES.push({ file: 'haproxy.cfg', way: 'proxy', listens: 'bind :80', start: startServer(command) })
}
if (hasProgram('caddy', 'caddy')) {
  const command = (file: string) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', file]
  GUIDES.push({
    file: 'Caddyfile',
    way: 'proxy',
    listens: 'http://www.example.com {',
    start: startServer(command),
  })
}
if (hasProgram('varnishd', 'varnish')) {
  const command = (file: string, port: number) => {
    const dir = path.dirname(file)
    return [
      'varnishd',
      '-F',
      // Without it, a user that may not read this folder compiles the file.
      '-j',
      'none',
      '-n',
      path.join(dir, 'v'),
      '-a',
      `127.0.0.1:${port}`,
      '-f',
      file,
      '-s',
      'malloc,16m',
    ]
  }
  GUIDES.push({ file: 'varnish.vcl', way: 'proxy', listens: '', start: startServer(command) })
}

/** A server hands on what it has while more comes: a page that breaks off breaks off for the crawler, who asks again. */
const SERVER_MOODS = MOODS.filter((mood) => mood !== 'half')
for (const guide of GUIDES) {
  describe(guide.file, () =>
    promises(
      () => startSite(guide),
      guide.way === 'proxy'
        ? SERVER_MOODS.filter((mood) => typeof mood !== 'number' || mood >= 500)
        : SERVER_MOODS,
      guide.way,
    ),
  )
}

it('one name of a request leads through the log and the record of its render, and the node counted it', async () => {
  const host = 'express.example.com'
  const { headers } = await request(Number(new URL(node.edge).port), '/named', { host, agent: GOOGLEBOT })
  const id = String(headers['x-request-id'])
  const lines = () => {
    const found = node.log().split('\n')
    return found.filter((line) => line.includes(`"${id}"`)).map((line) => JSON.parse(line))
  }
  await until('both lines are there', () => lines().length === 2)
  const job = lines().find(({ msg }) => msg === 'job')
  const live = lines().find(({ msg }) => msg !== 'job')
  assert.deepEqual([job.domain, job.path, job.outcome], [host, '/named', 'rendered'])
  assert.deepEqual([live.host, live.path, live.verdict], [host, '/named', 'rendered'])
  await until('the record is there', async () => {
    const { body } = await callApi(node, key, { method: 'GET', path: `/api/domains/${host}/renders` })
    const renders = body['renders'] as Record<string, unknown>[]
    return renders.some(({ requestId, jobId }) => requestId === id && jobId === job.job)
  })
  const metrics = await (await fetch(`${node.api}/metrics`)).text()
  assert.match(metrics, /^prepaint_edge_requests_total\{verdict="rendered",why="",crawler="search"\} [1-9]/m)
  assert.match(metrics, /^prepaint_renders_total\{outcome="rendered"\} [1-9]/m)
  assert.match(metrics, /^prepaint_tree_memory_bytes\{part="browsers"\} [1-9]\d{6}/m)
})

async function startSite({ file, way, listens, start }: ServerGuide): Promise<Site> {
  const host = `${file.split('.')[0]!.toLowerCase()}.example.com`
  const app = await serve((_req, res) => res.end(SPA))
  const port = await freePort()
  const text = readFileSync(here(file), 'utf8')
  const changes: Record<string, string> = { '127.0.0.1:8000': `127.0.0.1:${app.port}` }
  if (file === 'varnish.vcl') {
    changes['"8000"'] = `"${app.port}"`
    changes['"8080"'] = `"${edgeLine.port}"`
    delete changes['127.0.0.1:8000']
  } else if (way === 'proxy') changes['127.0.0.1:8080'] = `127.0.0.1:${edgeLine.port}`
  else changes['127.0.0.1:3000'] = `127.0.0.1:${line.port}`
  if (file === 'Caddyfile') changes[listens] = `http://${host}:${port} {\n\tbind 127.0.0.1`
  else if (listens !== '') changes[listens] = listens.replace(/:?80/, `127.0.0.1:${port}`)
  if (text.includes('pp_site_TOKEN')) changes['pp_site_TOKEN'] = key
  if (file === 'nginx.conf') changes['www.example.com'] = host
  const server = await start(port, replaceAll(text, changes))
  closing.push(server.close, app.close)
  return file === 'Caddyfile' ? { host, port, origin: app.port } : { host, port }
}

function startServer(command: (file: string, port: number) => string[]): ServerGuide['start'] {
  return async (port, configuration) => {
    const file = path.join(openFolder(), 'configuration')
    writeFileSync(file, configuration)
    const [program = '', ...args] = command(file, port)
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (part) => {
        said += part
      })
    }
    const ended = once(child, 'exit')
    const close = async () => {
      child.kill()
      await ended
    }
    const listens = until(`${program} listens`, async () => {
      if (child.exitCode !== null) throw new Error(said)
      const socket = net.connect(port, '127.0.0.1')
      await once(socket, 'connect')
      return socket.destroy()
    })
    await listens.catch(async (cause) => {
      await close()
      throw new Error(said, { cause })
    })
    return { close }
  }
}

function replaceAll(text: string, changes: Record<string, string>): string {
  return Object.entries(changes).reduce((changed, [from, to]) => {
    assert(changed.includes(from), from)
    return changed.replaceAll(from, to)
  }, text)
}

/** The way to the API, which can fail. */
async function startLine(api: string) {
  const open = new Set<net.Socket>()
  let mood: Mood = 'well'
  const broken = http.createServer((_req, res) => {
    if (mood === 'hang') return
    if (mood === 'half') {
      res.writeHead(200, { 'Content-Length': '1000', 'X-Prepaint': 'hit', 'X-Prepaint-Status': '200' })
      res.write('<h1>half')
      setTimeout(() => res.destroy(), 50)
      return
    }
    res.writeHead(Number(mood), { 'Content-Type': 'application/json' }).end('{"error":"Internal error"}')
  })
  const server = net.createServer((near) => {
    line.asked++
    open.add(near)
    near.on('data', (part) => {
      line.heard += part
    })
    near.on('close', () => open.delete(near)).on('error', () => near.destroy())
    if (mood === 'away') return void near.destroy()
    if (mood !== 'well') return void broken.emit('connection', near)
    const far = net.connect(Number(new URL(api).port), '127.0.0.1')
    far.on('error', () => near.destroy())
    near.pipe(far).pipe(near)
  })
  const endAll = () => {
    for (const socket of open) socket.destroy()
  }
  const port = await listening(server)
  const line = {
    ...{ port, url: `http://127.0.0.1:${port}`, asked: 0, heard: '' },
    turn(next: Mood) {
      mood = next
      endAll()
    },
    close() {
      endAll()
      server.close()
    },
  }
  return line
}

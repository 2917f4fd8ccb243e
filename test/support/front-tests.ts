/** What guides for fronts promise, asked of a configuration in its real program before a real node. */
import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { until } from './condition.ts'
import { clearDataDir, makeDataDir } from './data-dir.ts'
import { type Answer, type AskOptions, GOOGLEBOT, GPTBOT, PERSON, request } from './edge.ts'
import { openFolder } from './folder.ts'
import { listening, serve } from './loopback.ts'
import { type NodeProcess, startNodeProcess } from './node-process.ts'
import { callApi, openAccount, registerDomain } from './tenant.ts'

/** The app of every site, which draws its address. */
export const SPA = `<!doctype html><meta charset="utf-8"><title>Shop</title><div id="app"></div>
<script>document.getElementById('app').textContent = 'drawn ' + location.href + ' ' + 'ä'.repeat(9)</script>`

/** How long the programs of the guides wait for a page here. */
const WAIT_MS = 8_000

/** Within this time, crawlers get pages again. */
const AGAIN_MS = 20_000

/** `origin`: where Prepaint reaches the app, if not by way of the front. */
export type Site = { host: string; port: number; origin?: number }

/**
 * `refuses`: takes no connection; `away`: breaks off before an answer; `hang`: never answers; `half`: stops in the middle
 * of a page.
 */
const MOODS = ['refuses', 'away', 'hang', 'half', 500, 503, 401, 403, 400] as const
type Mood = (typeof MOODS)[number]

/** A server hands on what it has while more comes: a page that breaks off breaks off for the crawler, who asks again. */
export const SERVER_MOODS = MOODS.filter((mood) => mood !== 'half')

export type Promised = {
  way?: 'middleware' | 'proxy'
  moods?: readonly Mood[]
  /** Its app answers a POST with what it received. */
  echoes?: boolean
  /** Limits that the guide names. */
  limits?: {
    /** The front hands on the first failure, and opens afterwards. */
    opensLater?: boolean
    /** The front goes by the status: what is blocked, paid or missing may be the app's answer. */
    byStatus?: boolean
    /** The server tells the application the decoded path only. */
    decodesPath?: boolean
    /** The application gets `%20` of the query as `+`. */
    respellsQuery?: boolean
  }
}

/** The ways from a front to the API and the edge of the node. Each guide has its own, because they fail. */
export type Ways = { api: Line; edge: Line }

/** Most of the time of a guide is waiting for what Prepaint does not do. */
const GUIDES_AT_ONCE = 2

/** A node for all tests of a file. */
export class FrontTests {
  readonly siteDir = openFolder()
  readonly closing: (() => unknown)[] = []
  #node: NodeProcess | undefined
  #key = ''

  constructor() {
    const dataDir = makeDataDir()
    writeFileSync(path.join(this.siteDir, 'index.html'), SPA)
    before(async () => {
      const settings = { PREPAINT_RENDER_SLOTS: '2', PREPAINT_LOG_LEVEL: 'info' }
      this.#node = await startNodeProcess(dataDir, settings)
      this.#key = (await openAccount(this.#node, { email: 'owner@example.com', plan: 'agency' })).key
    })
    after(async () => {
      for (const close of this.closing.reverse()) await close()
      await this.#node?.stop()
      assert.deepEqual(await clearDataDir(dataDir), [])
    })
  }

  get node(): NodeProcess {
    return this.#node!
  }

  get key(): string {
    return this.#key
  }

  /** Opens new ways to the node, which stay until the end. */
  async openWays(): Promise<Ways> {
    const ways = { api: await Line.open(this.node.api), edge: await Line.open(this.node.edge) }
    this.closing.push(
      () => ways.api.close(),
      () => ways.edge.close(),
    )
    return ways
  }

  /** A folder that stays until the end, also one that is opened while tests are set up. */
  folder(below = tmpdir()): string {
    const folder = mkdtempSync(path.join(below, 'prepaint-front-'))
    chmodSync(folder, 0o755)
    this.closing.push(() => rmSync(folder, { recursive: true, force: true }))
    return folder
  }

  /** What a program of a guide reads from its environment. */
  environment(host: string, { api }: Pick<Ways, 'api'>): Record<string, string> {
    return {
      PATH: process.env['PATH'] ?? '',
      PREPAINT_URL: api.url,
      PREPAINT_KEY: this.key,
      SITE: `https://${host}`,
      SITE_HOST: host,
      SITE_DIR: this.siteDir,
      WAIT_MS: `${WAIT_MS}`,
      PORT: '0',
    }
  }

  async call(method: string, requestPath: string, body?: unknown): Promise<Record<string, unknown>> {
    const answer = await callApi(this.node, this.key, { method, path: requestPath, body })
    assert(answer.status < 300, JSON.stringify(answer))
    return answer.body
  }

  /** Runs the guides that `define` adds, some at once. */
  guides(define: () => void): void {
    describe('guides', { concurrency: GUIDES_AT_ONCE, timeout: 1_200_000 }, define)
  }

  /** Asks a site that has a guide's file in another program, of which all else is tried, for the finished page and the app. */
  async assertWorks(site: Site): Promise<void> {
    await this.#register(site)
    const verdicts: (string | undefined)[] = []
    for (const agent of [GOOGLEBOT, GOOGLEBOT, PERSON]) {
      const { verdict } = await request(site.port, '/', { host: site.host, agent })
      verdicts.push(verdict)
    }
    assert.deepEqual(verdicts, ['rendered', 'hit', undefined])
  }

  /** Adds a guide, whose tests follow each other. */
  guide(title: string, start: (ways: Ways) => Promise<Site>, promised: Promised = {}): void {
    describe(title, { concurrency: 1, timeout: 600_000 }, () => this.#promises(start, promised))
  }

  #promises(
    start: (ways: Ways) => Promise<Site>,
    { way = 'middleware', moods = MOODS, echoes = false, limits = {} }: Promised,
  ): void {
    let site: Site
    let ways: Ways
    before(async () => {
      ways = await this.openWays()
      site = await start(ways)
      await this.#register(site)
    })
    const line = () => (way === 'proxy' ? ways.edge : ways.api)
    const domain = () => `/api/domains/${site.host}`
    const change = (body: unknown) => this.call('PUT', domain(), body)

    const get = async (url: string, agent: string | null, how: AskOptions = {}): Promise<Answer> => {
      const answer = await request(site.port, url, { host: site.host, agent, ...how })
      const all = `${answer.rawHeaders.join('\n')}\n${answer.body}`
      assert(!all.includes(this.key), 'an answer has the key')
      return answer
    }
    const crawl = (url: string, how?: AskOptions) => get(url, GOOGLEBOT, how)
    /** As the site answers without us. */
    const app = (url: string) => get(url, PERSON, { headers: { 'x-prerender': '1' } })
    const isApp = ({ status, verdict, body }: Answer) =>
      status === 200 && verdict === undefined && body.toString().includes('<div id="app"></div>')
    const assertOpens = async (url: string) => {
      if (limits.opensLater === true) await crawl(url)
      const answer = await crawl(url)
      assert(isApp(answer), `${answer.status} ${answer.verdict} ${answer.body}`)
    }
    const pagesComeAgain = (url: string) =>
      until('crawlers get pages again', async () => (await crawl(url)).verdict === 'hit', AGAIN_MS)

    it('a person gets the app byte for byte, and we are not asked', async () => {
      line().asked = 0
      const { body } = await app('/')
      assert(body.toString().includes('<div id="app"></div>'))
      for (const agent of [PERSON, null]) {
        const answer = await get('/', agent)
        assert(isApp(answer))
        assert(answer.body.equals(body))
      }
      assert.equal(line().asked, 0)
    })

    // Proves decided "Middleware integration"
    it('a crawler gets the finished page, rendered once, though the renderer comes through the same front', async () => {
      const first = await crawl('/shoes?size=38')
      assert.deepEqual([first.status, first.verdict], [200, 'rendered'])
      assert.match(first.body.toString(), new RegExp(`drawn https://${site.host}/shoes\\?size=38 ä{9}<`))
      assert.doesNotMatch(first.body.toString(), /<script(?! type="application\/json")/)
      const second = await crawl('/shoes?size=38&utm_source=x')
      assert.deepEqual([second.status, second.verdict], [200, 'hit'])
      assert.equal(second.body.toString(), first.body.toString())
      const head = await crawl('/shoes?size=38', { method: 'HEAD' })
      assert.deepEqual([head.status, head.verdict, head.body.length], [200, 'hit', 0])
      assert(isApp(await get('/shoes?size=38', PERSON)), 'a person got the page of a crawler')
    })

    it('path and query arrive as they were sent', async () => {
      const url = limits.decodesPath === true ? '/a/c+d?e=f%20g+h' : '/a%2Fb/c+d%20e?f=g%20h+i'
      const { verdict, body } = await crawl(url)
      assert.equal(verdict, 'rendered')
      const arrived = limits.respellsQuery === true ? url.replace('g%20h', 'g+h') : url
      assert(body.toString().includes(`drawn https://${site.host}${arrived} ä`), body.toString())
    })

    it('no cookie of a visitor reaches Prepaint, and other methods, assets and marked requests do not go there', async () => {
      line().heard = ''
      const page = await crawl('/cookie', { headers: { cookie: 'session=secret' } })
      assert.equal(page.verdict, 'rendered')
      assert.doesNotMatch(line().heard, /session=secret/)
      line().asked = 0
      for (const [method, url, headers] of [
        ['POST', '/shoes', {}],
        ['GET', '/app.js', {}],
        ['GET', '/shoes?size=38', { 'x-prerender': '1' }],
      ] as const) {
        const passed = await crawl(url, { method, headers })
        assert.equal(passed.verdict, undefined, url)
      }
      assert.equal(line().asked, 0)
    })

    if (echoes) {
      it('the body of a POST reaches the app', async () => {
        const sent = { method: 'POST', body: 'a=1&b=ä', headers: { 'content-type': 'text/plain' } }
        assert.equal((await crawl('/form', sent)).body.toString(), 'Received: a=1&b=ä')
      })
    }

    it('a redirect keeps its place, and a page that is not there its status', async () => {
      const origin = await serve((req, res) => {
        if (req.url === '/old') res.writeHead(301, { location: '/new?a=b' }).end()
        else res.writeHead(404, { 'content-type': 'text/html' }).end('<title>a</title><h1>Not here</h1>')
      })
      try {
        await change({ origin_url: origin.url })
        for (const verdict of ['rendered', 'hit']) {
          const moved = await crawl('/old')
          const { location } = moved.headers
          assert.deepEqual(
            [moved.status, moved.verdict, URL.parse(location!, `https://${site.host}`)?.href],
            [301, verdict, `https://${site.host}/new?a=b`],
          )
          const missing = await crawl('/missing')
          if (limits.byStatus === true) assert(isApp(missing))
          else assert.deepEqual([missing.status, missing.verdict], [404, verdict])
        }
      } finally {
        await change({ origin_url: `http://127.0.0.1:${site.origin ?? site.port}` })
        await origin.close()
      }
    })

    it('what the owner blocks or wants paid stays so, and opens nothing for others', async () => {
      await crawl('/policy')
      const categories = { 'ai-training': 'block', social: 'payment' }
      await change({ settings: { categories, terms_url: 'https://www.example.com/terms' } })
      try {
        const blocked = await get('/policy', GPTBOT)
        if (limits.byStatus !== true)
          assert.deepEqual([blocked.status, blocked.verdict], [403, 'blocked; ai-training'])
        const paid = await get('/policy', 'Twitterbot/1.0')
        assert.deepEqual([paid.status, paid.verdict], [402, 'payment; social'])
        for (const _ of [1, 2, 3]) assert.equal((await crawl('/policy')).verdict, 'hit')
      } finally {
        await change({ settings: { categories: {} } })
      }
    })

    it('a check of the installation says the way', async () => {
      const body = { via: `http://127.0.0.1:${site.port}` }
      const { check } = await this.call('POST', `${domain()}/integration/check`, body)
      const { state, reason, detail } = check as Record<string, unknown>
      assert.deepEqual([state, reason, detail], [way, null, null])
    })

    it('a renderer that calls itself a crawler is not sent back to us', async () => {
      await change({ settings: { render: { user_agent: GOOGLEBOT } } })
      const page = await crawl('/as-crawler')
      assert.equal(page.verdict, 'rendered')
      assert.match(page.body.toString(), /drawn https:/)
    })

    for (const mood of moods) {
      it(`Prepaint that is ${mood}: the app answers crawlers too`, { timeout: 240_000 }, async () => {
        await crawl('/shoes?size=38')
        await line().turn(mood)
        try {
          await assertOpens('/shoes?size=38')
        } finally {
          await line().turn('well')
        }
        await pagesComeAgain('/shoes?size=38')
      })
    }

    it('a domain that is not registered: the app answers crawlers too', async () => {
      await this.call('DELETE', domain())
      try {
        await until('the domain is gone', async () => (await crawl('/')).verdict === undefined)
        await assertOpens('/')
      } finally {
        await this.#register(site)
      }
      await until('crawlers get pages again', async () => (await crawl('/')).verdict === 'rendered', AGAIN_MS)
    })
  }

  #register({ host, port, origin = port }: Site): Promise<void> {
    return registerDomain(this.node, this.key, {
      customDomain: host,
      originUrl: `http://127.0.0.1:${origin}`,
    })
  }
}

/** A way to the node, which can fail. */
class Line {
  readonly port: number
  asked = 0
  heard = ''
  readonly #open = new Set<net.Socket>()
  readonly #server: net.Server
  #mood: Mood | 'well' = 'well'

  private constructor(server: net.Server, port: number) {
    this.#server = server
    this.port = port
  }

  static async open(to: string): Promise<Line> {
    const server = net.createServer()
    const line = new Line(server, await listening(server))
    const broken = http.createServer((_req, res) => line.#fail(res))
    server.on('connection', (near) => line.#carry(near, Number(new URL(to).port), broken))
    return line
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  async turn(mood: Mood | 'well'): Promise<void> {
    const listens = this.#server.listening
    this.#mood = mood
    if (mood === 'refuses') this.#server.close()
    this.#endAll()
    if (!listens && mood !== 'refuses') await listening(this.#server, this.port)
  }

  close(): void {
    this.#endAll()
    this.#server.close()
  }

  #endAll(): void {
    for (const socket of this.#open) socket.destroy()
  }

  #carry(near: net.Socket, port: number, broken: http.Server): void {
    this.asked++
    this.#open.add(near)
    near.on('data', (part) => {
      this.heard += part
    })
    near.on('close', () => this.#open.delete(near)).on('error', () => near.destroy())
    if (this.#mood === 'away') return void near.destroy()
    if (this.#mood !== 'well') return void broken.emit('connection', near)
    const far = net.connect(port, '127.0.0.1')
    far.on('error', () => near.destroy())
    near.pipe(far).pipe(near)
  }

  #fail(res: http.ServerResponse): void {
    if (this.#mood === 'hang') return
    if (this.#mood === 'half') {
      res.writeHead(200, { 'Content-Length': '1000', 'X-Prepaint': 'hit', 'X-Prepaint-Status': '200' })
      res.write('<h1>half')
      setTimeout(() => res.destroy(), 50)
      return
    }
    res
      .writeHead(Number(this.#mood), { 'Content-Type': 'application/json' })
      .end('{"error":"Internal error"}')
  }
}

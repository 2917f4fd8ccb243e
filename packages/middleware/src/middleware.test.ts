import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { after, beforeEach, describe, it } from 'node:test'
import { type PrepaintOptions, prepaint } from '@prepaint/middleware'
import { prepaint as forExpress } from '@prepaint/middleware/express'
import { prepaint as forFastify } from '@prepaint/middleware/fastify'
import { prepaint as forFetch } from '@prepaint/middleware/fetch'
import { prepaint as forHono } from '@prepaint/middleware/hono'
import { prepaint as forKoa } from '@prepaint/middleware/koa'
import { prepaint as forNext } from '@prepaint/middleware/next'
import { prepaint as forNitro } from '@prepaint/middleware/nitro'
import fastify from 'fastify'
import { GOOGLEBOT, PERSON, request } from '../../../test/support/edge.ts'
import { listening, serve } from '../../../test/support/loopback.ts'

type Asked = { headers: http.IncomingHttpHeaders; body: Record<string, string> }
const asked: Asked[] = []
const sendPage = (res: http.ServerResponse): void => {
  const headers = {
    'X-Prepaint': 'hit',
    'X-Prepaint-Status': '200',
    'Content-Type': 'text/html; charset=utf-8',
  }
  res.writeHead(200, headers).end('<p>finished ä</p>')
}
let answer = sendPage
const service = await serve((req, res) => {
  let text = ''
  req.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  req.on('end', () => {
    asked.push({ headers: req.headers, body: JSON.parse(text) as Record<string, string> })
    answer(res)
  })
})
after(() => service.close())
beforeEach(() => {
  asked.length = 0
  answer = sendPage
})

/** Far more than an answer of this machine takes, when it is busy too. */
const ENOUGH_MS = 1_000
const SITE = 'https://www.example.com'
const options: PrepaintOptions = { service: service.url, key: 'pp_site_TOKEN', waitMs: 2_000 }
const forSite = { ...options, site: SITE }
const requestFor = (url: string, headers: Record<string, string> = {}, method = 'GET') =>
  new Request(url, { method, headers: { 'user-agent': GOOGLEBOT, ...headers } })

describe('whether a request may be for Prepaint', () => {
  const { mayBeForUs } = prepaint(options)

  it('a GET or HEAD of a crawler for a page is; people, assets, other methods and our renderer are not', () => {
    assert(mayBeForUs(requestFor(`${SITE}/a.html?b`)))
    assert(mayBeForUs(requestFor(`${SITE}/`, {}, 'HEAD')))
    assert(!mayBeForUs(requestFor(`${SITE}/`, { 'user-agent': PERSON })))
    assert(!mayBeForUs(requestFor(`${SITE}/app.js?v=1`)))
    assert(!mayBeForUs(requestFor(`${SITE}/`, {}, 'POST')))
    assert(!mayBeForUs(requestFor(`${SITE}/`, { 'x-prerender': '1' })))
  })

  it('a pattern of the site counts, each time alike even with the flag g', () => {
    const own = prepaint({ ...options, crawlers: /mybot/gi })
    const ask = () => own.mayBeForUs(requestFor(`${SITE}/`, { 'user-agent': 'MyBot/1.0' }))
    assert.deepEqual([ask(), ask(), own.mayBeForUs(requestFor(`${SITE}/`))], [true, true, false])
  })
})

describe('the page for a request', () => {
  it('is asked for with the URL, the user agent, the key and a new ID, and with no cookie', async () => {
    const { page } = prepaint(options)
    for (const _ of [1, 2]) {
      const url = `${SITE}/a%2Fb/c+d?e=f%20g+h`
      const found = await page(requestFor(url, { cookie: 'session=1', accept: 'text/html' }))
      assert.equal(await found!.text(), '<p>finished ä</p>')
      assert.deepEqual(asked.at(-1)!.body, { url, user_agent: GOOGLEBOT, accept: 'text/html' })
    }
    const { authorization, cookie, 'x-prerender-int-type': type } = asked[0]!.headers
    assert.deepEqual([authorization, cookie, type], ['Bearer pp_site_TOKEN', undefined, 'Prepaint'])
    assert.match(asked[0]!.headers['x-prerender-int-version'] as string, /^\d+\.\d+\.\d+$/)
    const ids = asked.map(({ headers }) => headers['x-prerender-request-id'] as string)
    assert.match(ids[0]!, /^[\da-f]{8}-[\da-f]{4}-4/)
    assert.notEqual(ids[0], ids[1])
  })

  it('is asked for with a new ID also in Node 18, which has no global crypto', async (t) => {
    const own = Object.getOwnPropertyDescriptor(globalThis, 'crypto')!
    Object.defineProperty(globalThis, 'crypto', { value: undefined, configurable: true })
    t.after(() => Object.defineProperty(globalThis, 'crypto', own))
    const { page } = prepaint(options)
    for (const _ of [1, 2]) assert.equal((await page(requestFor(`${SITE}/`)))?.status, 200)
    const ids = asked.map(({ headers }) => String(headers['x-prerender-request-id']))
    for (const id of ids) assert.match(id, /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
    assert.notEqual(ids[0], ids[1])
  })

  it('has the status of the page, its redirect and its headers; HEAD has no body', async () => {
    const { page } = prepaint({ ...options, site: SITE })
    answer = (res) =>
      void res.writeHead(200, { 'X-Prepaint': 'hit', 'X-Prepaint-Status': '301', Location: '/new' }).end()
    const moved = await page(requestFor('http://localhost:1/old'))
    assert.deepEqual([moved?.status, moved?.headers.get('location')], [301, '/new'])
    assert.equal(asked[0]!.body['url'], `${SITE}/old`)
    answer = (res) =>
      void res.writeHead(200, { 'X-Prepaint': 'blocked; ai', 'X-Prepaint-Status': '403' }).end('no')
    assert.equal((await page(requestFor('http://localhost:1/')))?.status, 403)
    answer = sendPage
    assert.equal(await (await page(requestFor('http://localhost:1/', {}, 'HEAD')))!.text(), '')
  })

  it('is null for every answer that is none, and the site is told of refusals only', async () => {
    const refusals: number[] = []
    const { page } = prepaint({ ...options, onRefused: ({ status }) => void refusals.push(status) })
    const find = () => page(requestFor(`${SITE}/`))
    for (const status of [204, 400, 401, 403, 404, 429, 500, 503]) {
      answer = (res) =>
        void res.writeHead(status, status === 204 ? { 'X-Prepaint': 'pass; asset' } : {}).end()
      assert.equal(await find(), null, `${status}`)
    }
    answer = (res) => void res.writeHead(200, { 'X-Prepaint-Status': '200' }).end('no page of ours')
    assert.equal(await find(), null)
    assert.deepEqual(refusals, [400, 401, 403, 404, 429, 500, 503, 200])
  })

  it('is null when Prepaint breaks off, hangs or cannot be reached; then it is not asked for 5, 10 and 15 seconds', async (t) => {
    let nowMs = Date.now()
    t.mock.method(Date, 'now', () => nowMs)
    const { page } = prepaint({ ...options, waitMs: ENOUGH_MS })
    const find = () => page(requestFor(`${SITE}/`))
    const isAsked = async () => {
      const before = asked.length
      assert.equal(await find(), null)
      return asked.length > before
    }
    answer = (res) => {
      res.writeHead(200, { 'X-Prepaint': 'hit', 'X-Prepaint-Status': '200', 'Content-Length': '99' })
      res.write('half a page', () => res.destroy())
    }
    assert(await isAsked())
    answer = () => {}
    assert(await isAsked())
    assert(await isAsked())
    for (const pauseMs of [5_000, 10_000, 15_000, 15_000]) {
      nowMs += pauseMs - 1
      assert.equal(await isAsked(), false, `${pauseMs}`)
      nowMs += 1
      assert.equal(await isAsked(), true, `${pauseMs}`)
    }
    nowMs += 15_000
    answer = sendPage
    assert.equal((await find())?.status, 200)
    answer = (res) => void res.destroy()
    assert.deepEqual(
      [await isAsked(), await isAsked(), await isAsked(), await isAsked()],
      [true, true, true, false],
    )
  })
})

it('a bad option throws a TypeError that names it', () => {
  const bad: Record<string, unknown[]> = {
    service: [undefined, 'localhost', 'ftp://a'],
    key: [undefined, '', 'two words'],
    site: ['www.example.com', 'https://www.example.com/path'],
    waitMs: [0, 1.5, '1', 600_001],
    crawlers: ['bot'],
    onRefused: ['x'],
  }
  for (const [name, values] of Object.entries(bad)) {
    for (const value of values) {
      const wrong = { ...options, [name]: value } as PrepaintOptions
      assert.throws(() => prepaint(wrong), { name: 'TypeError', message: new RegExp(`^${name} `) })
    }
  }
  for (const make of [forExpress, forKoa, forNitro, forFastify]) {
    assert.throws(() => make({ ...options } as never), { name: 'TypeError', message: /^site / })
  }
})

describe('the entries', () => {
  const app = '<div id="app"></div>'
  /** A crawler gets the page and a person the app; a crawler whose page is refused gets the app as well. */
  async function assertServes(port: number, type: string) {
    const ask = (agent: string, method = 'GET') => request(port, '/a?b=c', { agent, method })
    const found = await ask(GOOGLEBOT)
    assert.deepEqual([found.status, found.verdict, found.body.toString()], [200, 'hit', '<p>finished ä</p>'])
    assert.deepEqual(
      [asked[0]!.headers['x-prerender-int-type'], asked[0]!.body['url']],
      [type, `${SITE}/a?b=c`],
    )
    assert.equal((await ask(GOOGLEBOT, 'HEAD')).verdict, 'hit')
    asked.length = 0
    assert.equal((await ask(PERSON)).body.toString(), app)
    assert.equal(asked.length, 0)
    answer = (res) => void res.writeHead(503).end()
    assert.equal((await ask(GOOGLEBOT)).body.toString(), app)
  }

  it('express: a middleware for any server of Node', async (t) => {
    const middleware = forExpress(forSite)
    const server = http.createServer((req, res) => middleware(req, res, () => res.end(app)))
    t.after(() => server.close().closeAllConnections())
    await assertServes(await listening(server), 'PrepaintExpress')
  })

  it('koa: a middleware', async (t) => {
    const middleware = forKoa(forSite)
    const server = http.createServer((req, res) => {
      void middleware({ req, res, originalUrl: req.url! }, async () => res.end(app))
    })
    t.after(() => server.close().closeAllConnections())
    await assertServes(await listening(server), 'PrepaintKoa')
  })

  it('fastify: a plugin for the whole server, by its options or made with them', async (t) => {
    for (const isMade of [true, false]) {
      answer = sendPage
      asked.length = 0
      const server = fastify()
      t.after(() => server.close())
      if (isMade) await server.register(forFastify(forSite) as never)
      else await server.register(forFastify as never, forSite as never)
      server.get('/a', (_request, reply) => reply.send(app))
      await server.listen({ port: 0, host: '127.0.0.1' })
      await assertServes((server.server.address() as AddressInfo).port, 'PrepaintFastify')
    }
  })

  it('hono, next, nitro and fetch: the page, or what lets the site go on', async () => {
    const crawler = requestFor(`${SITE}/a?b=c`)
    const event = {
      path: '/a?b=c',
      node: { req: { method: 'GET', url: '/a?b=c', headers: { 'user-agent': GOOGLEBOT } } },
    }
    const entries: [string, () => Promise<unknown>, unknown][] = [
      ['PrepaintHono', () => forHono(options)({ req: { raw: crawler } }, async () => {}), undefined],
      ['PrepaintNext', () => forNext(options)(crawler), undefined],
      ['PrepaintNitro', () => forNitro(forSite)(event as never), undefined],
      ['PrepaintFetch', () => forFetch(options)(crawler), null],
    ]
    for (const [type, find, nothing] of entries) {
      answer = sendPage
      asked.length = 0
      const found = await find()
      assert(found instanceof Response, type)
      assert.equal(await found.text(), '<p>finished ä</p>')
      assert.equal(asked[0]!.headers['x-prerender-int-type'], type)
      answer = (res) => void res.writeHead(503).end()
      assert.equal(await find(), nothing, type)
    }
  })
})

it('a redirect to a path gets the address of the site for Next.js, which fails at it otherwise', async () => {
  const locationOf = async (location: string, more = {}) => {
    answer = (res) =>
      void res.writeHead(200, { 'X-Prepaint': 'hit', 'X-Prepaint-Status': '301', Location: location }).end()
    const page = await forNext({ ...options, ...more })(requestFor('http://localhost:1/old'))
    return page?.headers.get('location')
  }
  assert.equal(await locationOf('/new?a=b', { site: SITE }), `${SITE}/new?a=b`)
  assert.equal(await locationOf('/new?a=b'), 'http://localhost:1/new?a=b')
  assert.equal(await locationOf('https://other.example/'), 'https://other.example/')
  assert.equal(await locationOf('https://'), undefined)
})

it('the package says its version to Prepaint, depends on nothing, and has at most 16 KiB', async () => {
  const folder = path.resolve(import.meta.dirname, '..')
  const { stdout } = spawnSync('npm', ['pack', '--dry-run', '--json'], { cwd: folder, encoding: 'utf8' })
  const [packed] = JSON.parse(stdout) as { size: number; files: { path: string }[]; version: string }[]
  assert(packed!.size <= 16 * 1_024, `${packed!.size}`)
  assert.deepEqual(
    packed!.files.filter(({ path: file }) => file.includes('.test.')),
    [],
  )
  await prepaint(options).page(requestFor(`${SITE}/`))
  assert.equal(asked[0]!.headers['x-prerender-int-version'], packed!.version)
})

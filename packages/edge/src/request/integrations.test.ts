import assert from 'node:assert/strict'
import type http from 'node:http'
import { after, beforeEach, describe, it } from 'node:test'
import { parsePageUrl } from '@prepaint/contract/page/path.ts'
import { type Answer, GOOGLEBOT, GPTBOT, openEdge, PERSON, request } from '../../../../test/support/edge.ts'
import { serve } from '../../../../test/support/loopback.ts'

const RENDERER = 'Mozilla/5.0 (X11; Linux x86_64) Chrome/153.0.0.0 Safari/537.36 Prepaint/1.0'
const DAY = 86_400_000

/** What the origin was sent last. */
let atOrigin: http.IncomingMessage | null
let originHeaders: Record<string, string> = {}
const arrivals: string[] = []
const edge = await openEdge({
  parts: {
    async receiveCheck(_domain, token, { way, path }) {
      arrivals.push(`${way} ${token} ${path}`)
      return token === 'good' ? 'the text of the check' : null
    },
  },
  liveWaitMs: 2_000,
  origin: (req, res) => {
    atOrigin = req
    for (const [name, value] of Object.entries(originHeaders)) res.setHeader(name, value)
    res.end('<div id="app"></div>')
  },
})
// As the API calls it, after it has checked who owns the domain.
const { port, close } = await serve((req, res) => {
  const [, route, rest = ''] = /^\/(answer|offer)\/(.*)$/.exec(req.url ?? '') ?? []
  const accept = req.headers['x-asked-accept']?.toString()
  const asked = { url: parsePageUrl(rest)!, userAgent: req.headers['user-agent'] ?? null, accept }
  if (route === 'answer') edge.integrations.answer(req, res, asked)
  else edge.integrations.offer(req, res, asked)
})
after(close)
beforeEach(async () => {
  await edge.reset()
  atOrigin = null
  originHeaders = {}
})

type How = { agent?: string | null; method?: string; headers?: Record<string, string>; scheme?: string }
const ask = (route: string, path: string, { scheme = 'https', ...how }: How = {}): Promise<Answer> =>
  request(port, `/${route}/${scheme}://red.example${path}`, { host: 'service.example', ...how })
const answer = (path: string, how?: How) => ask('answer', path, how)
const offer = (path: string, how?: How) => ask('offer', path, { method: 'POST', ...how })

/** What an edge worker reads of an answer. */
const seen = ({ status, headers, verdict }: Answer) => [status, headers['x-prepaint-status'], verdict]

it('a visitor who prefers Markdown gets it: by Accept of a middleware, by `accept` of an edge worker', async () => {
  const accept = 'text/markdown'
  const type = ({ headers }: Answer) => headers['content-type']
  const markdown = 'text/markdown; charset=utf-8'
  assert.equal(type(await answer('/markdown', { headers: { accept } })), markdown)
  assert.equal(type(await offer('/markdown', { headers: { 'x-asked-accept': accept } })), markdown)
  assert.equal(type(await offer('/markdown', { headers: { accept } })), 'text/html; charset=utf-8')
})

describe('the middleware integration', () => {
  // Proves decided "Middleware integration"
  it('answers from the same pages as the edge: rendered there, a hit here, and the other way round', async () => {
    assert.equal(await edge.verdict('/a'), 'rendered')
    const hit = await answer('/a')
    assert.deepEqual([hit.status, hit.verdict], [200, 'hit'])
    assert.match(hit.headers['cache-status'] as string, /^Prepaint; hit; ttl=\d+$/)
    assert.equal((await answer('/b?utm_source=x&b=2&a=1')).verdict, 'rendered')
    assert.equal(await edge.verdict('/b?a=1&b=2'), 'hit')
    assert.equal((await answer('/b?a=1&b=2', { scheme: 'http' })).verdict, 'hit')
    assert.deepEqual(edge.rendered, ['red.example/a', 'red.example/b?a=1&b=2'])
  })

  it('a category that the owner passes gets the origin, and one that the owner blocks is refused', async () => {
    await edge.settings({ categories: { ai: 'pass', 'ai-training': 'block' } })
    const agent = 'Mozilla/5.0 (compatible; YouBot/1.0)'
    assert.equal((await answer('/a', { agent })).verdict, 'pass; category')
    const { status, verdict } = await answer('/a', { agent: GPTBOT })
    assert.deepEqual([status, verdict], [403, 'blocked; ai-training'])
  })

  it('a redirect to the origin leads to the site, by the scheme that visitors use, which is not how we are asked', async () => {
    for (const scheme of ['https', 'http']) {
      edge.script({ kind: 'redirect', status: 302, location: `${edge.origin}/new` })
      for (const integration of [answer, offer])
        assert.equal((await integration('/old', { scheme })).headers.location, `${scheme}://red.example/new`)
      await edge.purge({ kind: 'all' }).then(edge.settled)
    }
  })

  // Proves decided "Middleware integration"
  it('what fails or is late is the stale page, else the origin, never an error of ours', async () => {
    edge.script({ kind: 'timed-out', afterMs: 1 })
    const passed = await answer('/a')
    assert.deepEqual([passed.status, passed.verdict], [200, 'pass; timed-out'])
    assert.equal(passed.body.toString(), '<div id="app"></div>')
    await answer('/b')
    edge.wait(9 * DAY)
    edge.script({ kind: 'timed-out', afterMs: 1 })
    assert.equal((await answer('/b')).verdict, 'stale')
  })

  it('the origin learns neither the key nor our own headers, is told not to send it back, and what the visitor sees', async () => {
    const secrets = { 'X-Prerender-Token': 'pp_live_secret', 'X-Api-Key': 'pp_live_secret' }
    const headers = { ...secrets, 'X-Prerender-Int-Type': 'Node', Cookie: 'a=1', 'X-Prerender': 'twice' }
    const named = { 'X-Prerender-Int-Version': '1.0.0', 'X-Prerender-Request-Id': 'named-by-the-front' }
    await answer('/robots.txt', { headers: { ...headers, ...named } })
    const sent = atOrigin!
    assert.doesNotMatch(JSON.stringify(sent.rawHeaders), /pp_live_secret|X-Prerender-/i)
    const { 'user-agent': agent, 'x-prerender': mark, via, cookie } = sent.headers
    assert.deepEqual([agent, mark, via, cookie], [GOOGLEBOT, '1', '1.1 prepaint', 'a=1'])
    assert.equal(sent.headers['x-forwarded-host'], 'red.example')
    assert.equal(sent.headers['x-forwarded-proto'], 'https')
    await answer('/robots.txt', { scheme: 'http' })
    assert.equal(atOrigin!.headers['x-forwarded-proto'], 'http')
  })

  it('our own renderer, sent back by a front, gets the origin and no render of its own', async () => {
    assert.equal((await answer('/a', { agent: RENDERER })).verdict, 'pass; loop')
    assert.equal((await answer('/a', { headers: { via: '1.1 prepaint' } })).verdict, 'pass; loop')
    assert.deepEqual(edge.rendered, [])
  })
})

describe('an origin behind the middleware integration', () => {
  const refused = ({ status, headers, verdict, body }: Answer) => [
    status,
    headers['x-prerender-reject-reason'],
    headers['retry-after'],
    verdict,
    body.length,
  ]

  it('that cannot be reached or has a refused address gives a refusal without X-Prepaint, and so does a deleted domain', async () => {
    await edge.set(`origin_url = 'http://127.0.0.1:1'`)
    assert.deepEqual(refused(await answer('/robots.txt')), [502, 'connection-error', undefined, undefined, 0])
    await edge.set(`origin_url = 'http://127.0.0.2:80'`)
    assert.deepEqual(refused(await answer('/robots.txt')), [503, 'origin-refused', '300', undefined, 0])
    await edge.set(`origin_url = '${edge.origin}'`)
    const gone = await request(port, '/answer/https://nobody.example/')
    assert.deepEqual(refused(gone), [503, 'domain-not-registered', '3600', undefined, 0])
  })

  it('that is silent gives 504', async () => {
    const silent = await serve(() => {})
    await edge.set(`origin_url = '${silent.url}', settings = '{"crawler_wait_seconds": 1}'`)
    try {
      assert.deepEqual(refused(await answer('/robots.txt')), [
        504,
        'rendering-error',
        undefined,
        undefined,
        0,
      ])
    } finally {
      await edge.set(`origin_url = '${edge.origin}'`)
      await silent.close()
    }
  })

  it('cannot speak for us: what it sends as our headers is removed', async () => {
    originHeaders = {
      'X-Prerender-RequestId': 'x',
      'X-Prerender-User-Id': 'x',
      'X-Prerender-Reject-Reason': 'x',
    }
    const { status, headers } = await answer('/robots.txt')
    assert.equal(status, 200)
    for (const name of Object.keys(originHeaders)) assert.equal(headers[name.toLowerCase()], undefined, name)
    const page = { kind: 'rendered', status: 200, html: '<h1>a</h1>' } as const
    edge.script({ ...page, headers: Object.entries(originHeaders) })
    const rendered = await answer('/speaks')
    assert.equal(rendered.verdict, 'rendered')
    for (const name of Object.keys(originHeaders))
      assert.equal(rendered.headers[name.toLowerCase()], undefined)
  })

  it('gets nothing that a front sends at the edge itself', async () => {
    const headers = {
      'X-Prerender-Token': 'pp_live_secret',
      'X-Prerender-Int-Type': 'nginx',
      'X-Api-Key': 'own',
    }
    await edge.ask('/api/own', { agent: PERSON, headers })
    assert.doesNotMatch(JSON.stringify(atOrigin!.rawHeaders), /pp_live_secret|nginx/)
    assert.equal(atOrigin!.headers['x-api-key'], 'own')
  })
})

describe('a request of an installation check', () => {
  beforeEach(() => {
    arrivals.length = 0
  })

  // Proves decided "Check of an installation"
  it('is answered with its text by every form, and causes no render and no request to the origin', async () => {
    const url = '/checked?a=1&prepaint_check=good'
    for (const [form, way] of [
      [edge.ask, 'proxy'],
      [answer, 'middleware'],
      [offer, 'middleware'],
    ] as const) {
      const { status, verdict, headers, body } = await form(url)
      assert.deepEqual([status, verdict, headers['cache-control']], [200, 'check', 'no-store'])
      assert.match(body.toString(), /<p>the text of the check<\/p>/)
      assert.deepEqual(arrivals.splice(0), [`${way} good /checked?a=1`])
    }
    assert.equal(atOrigin, null)
    assert.deepEqual(edge.rendered, [])
  })

  it('with a token that is none is a request without it, also for a page in memory', async () => {
    assert.equal((await edge.ask('/page?prepaint_check=none')).verdict, 'rendered')
    assert.equal((await edge.ask('/page?prepaint_check=none')).verdict, 'hit')
    assert.equal((await edge.ask('/page')).verdict, 'hit')
    await edge.ask('/passed?b=1&prepaint_check=none', { agent: PERSON })
    assert.equal(atOrigin!.url, '/passed?b=1')
    assert.equal(arrivals.length, 3)
  })
})

describe('the edge worker integration', () => {
  // Proves decided "Edge worker integration"
  it('gets 200 with the page and its status in X-Prepaint-Status, also for a redirect with its Location', async () => {
    const html = '<h1>no such page</h1>'
    edge.script({ kind: 'rendered', status: 404, headers: [['x-robots-tag', 'noindex']], html })
    edge.script({ kind: 'redirect', status: 301, location: 'https://other.example/new' })
    for (const verdict of ['rendered', 'hit']) {
      const missing = await offer('/none', { agent: null })
      assert.deepEqual(seen(missing), [200, '404', verdict])
      assert.equal(missing.body.toString(), html)
      assert.equal(missing.rawHeaders.filter((name) => name === 'X-Prepaint-Status').length, 1)
      const moved = await offer('/old', { agent: null })
      assert.deepEqual(seen(moved), [200, '301', verdict])
      assert.equal(moved.headers.location, 'https://other.example/new')
    }
  })

  it('reads nothing of the request but the accepted encodings: no condition, no other header', async () => {
    const first = await offer('/a', { agent: null, headers: { 'accept-encoding': 'gzip' } })
    assert.equal(first.headers['content-encoding'], 'gzip')
    const headers = { 'if-none-match': '*', via: '1.1 prepaint', 'accept-encoding': 'br' }
    const second = await offer('/a', { agent: null, headers })
    assert.deepEqual([second.status, second.verdict, second.headers['content-encoding']], [200, 'hit', 'br'])
  })

  // Proves decided "Edge worker integration"
  it('gets 204 for all that the worker shall ask its origin for, and we do not ask the origin', async () => {
    const cases: [path: string, how: How, verdict: string][] = [
      ['/a', { agent: PERSON }, 'pass; not-a-crawler'],
      ['/a', { agent: RENDERER }, 'pass; not-a-crawler'],
      ['/style.css', {}, 'pass; asset'],
      ['/robots.txt', {}, 'pass; excluded'],
      [`/${'a'.repeat(2_048)}`, {}, 'pass; path'],
    ]
    for (const [path, how, verdict] of cases) {
      const passed = await offer(path, how)
      assert.deepEqual([passed.status, passed.verdict, passed.body.length], [204, verdict, 0])
    }
    assert.equal(atOrigin, null)
    assert.deepEqual(edge.rendered, [])
  })

  it('gets 204 if the render fails or is late, the quota is used up, or the domain was deleted meanwhile', async () => {
    edge.script({ kind: 'timed-out', afterMs: 1 })
    assert.equal((await offer('/a')).verdict, 'pass; timed-out')
    edge.script('hang')
    const late = await offer('/slow')
    assert.deepEqual([late.verdict, late.headers['x-prerender-throttled']], ['pass; late', undefined])
    await edge.count(1_200)
    const throttled = await offer('/b')
    assert.equal(throttled.verdict, 'pass; over-quota')
    assert.equal(throttled.headers['x-prerender-throttled'], 'true')
    const gone = await request(port, '/offer/https://nobody.example/', { method: 'POST' })
    assert.deepEqual([gone.status, gone.verdict, gone.body.length], [204, 'pass; unavailable', 0])
  })
})

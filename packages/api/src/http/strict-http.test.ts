/** Requests that are malformed, ambiguous, slow or too large, and paths and methods that do not exist. */
import assert from 'node:assert/strict'
import type { RequestOptions } from 'node:http'
import { describe, it } from 'node:test'
import { ambiguousBodies, BAD_REQUEST_LINES } from '../../../../test/support/ambiguous-requests.ts'
import { openApi } from '../../../../test/support/api.ts'
import { openSocket } from '../../../../test/support/loopback.ts'
import { assertError, rawBytes, rawHalf, rawRequest } from '../../../../test/support/raw-request.ts'

const api = await openApi()
const owner = await api.account()
await api.domain(owner, 'shop.example.com')

const raw = (text: string) => rawHalf(api.app.server, text)
const ask = (options: RequestOptions, body?: string | Buffer) => rawRequest(api.url, options, body)
const purge = (body: string | Buffer, headers: Record<string, string>) =>
  ask({ method: 'POST', path: '/api/cache/purge', headers: { 'x-api-key': owner.key, ...headers } }, body)
const JSON_TYPE = { 'content-type': 'application/json' }
const REFUSED = /^HTTP\/1\.1 400 Bad Request\r\n.*\{"error":"Malformed request"\}$/s
const statuses = (text: string) =>
  [...text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status))
/** It would be answered 200. */
const smuggled = `GET /api/domains HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${owner.key}\r\n\r\n`
const AUTHORISED = `Host: a\r\nX-Api-Key: ${owner.key}\r\nContent-Type: application/json\r\n`

describe('a body that could be read in two ways: refused, and what stands behind it is no request', () => {
  for (const [name, body] of Object.entries(ambiguousBodies(smuggled))) {
    it(name, async () => {
      const got = await raw(`POST /api/domains HTTP/1.1\r\n${AUTHORISED}${body}`)
      assert.deepEqual([...new Set(statuses(got))], [400], got)
      assert.match(got, /\{"error":"(?:Malformed request|Invalid JSON body|Missing required fields[^"]*)"\}/)
    })
  }
})

// Proves decided "Malformed requests"
it('400: what is no HTTP, without a word of what it held, and URLs that cannot be decoded', async () => {
  const lines = Object.values(BAD_REQUEST_LINES).map(
    (line) => `${line}\r\nHost: a\r\nConnection: close\r\n\r\n`,
  )
  for (const text of [...lines, 'GET / HTTP/1.1\r\nX-Api-Key pp_live_secret\r\n\r\n']) {
    const answer = await rawBytes(api.url, text)
    assert.match(answer, REFUSED, text)
    assert.equal(answer.split('\r\n\r\n')[1], '{"error":"Malformed request"}')
  }
  for (const path of ['/api/domains/%', '/api/domains/%zz', '/api/jobs/%c3%28']) {
    assertError(await ask({ path, headers: { 'x-api-key': owner.key } }), 400, 'Malformed URL')
  }
})

// Proves decided "Ambiguous requests"
it('hosts: two: 400, the connection ends, and what stands behind is not answered', async () => {
  for (const second of ['a', 'b']) {
    const got = await raw(`GET /healthz HTTP/1.1\r\nHost: a\r\nHost: ${second}\r\n\r\n${smuggled}`)
    assert.match(got, REFUSED)
    assert.deepEqual(statuses(got), [400])
    assert.match(got, /^Connection: close\r$/im)
    assert.match(got, /^X-Content-Type-Options: nosniff\r$/im)
  }
  const behindMany = `GET /healthz HTTP/1.1\r\n${'A: b\r\n'.repeat(5_000)}Host: a\r\nHost: b\r\n\r\n`
  assert.doesNotMatch(await raw(behindMany), / 200 /)
})

// Proves decided "Ambiguous requests"
it('hosts: none: 400 in HTTP/1.1, also with a whole URL; HTTP/1.0 needs none', async () => {
  assert.match(await raw('GET /healthz HTTP/1.1\r\n\r\n'), REFUSED)
  assert.match(await raw('GET http://a/healthz HTTP/1.1\r\n\r\n'), REFUSED)
  assert.match(await raw('GET /healthz HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 /)
})

it('a whole URL as target is the path that it names; CONNECT names none', async () => {
  const cases: [target: string, answer: RegExp][] = [
    ['GET http://a/healthz', /^HTTP\/1\.1 200 /],
    ['GET http://a', /^HTTP\/1\.1 302 /],
    ['GET http://a/api/domains', /^HTTP\/1\.1 401 /],
    ['GET http://u:p@a/healthz', REFUSED],
    ['GET http:///healthz', REFUSED],
    ['GET healthz', REFUSED],
    ['CONNECT a:80', REFUSED],
  ]
  for (const [target, answer] of cases) {
    assert.match(await raw(`${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`), answer, target)
  }
})

it('HTTP/1.0 with chunks: 400, for others do not read them', async () => {
  const head = 'POST /api/domains HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n'
  assert.deepEqual(statuses(await raw(`${head}0\r\n\r\n${smuggled}`)), [400])
})

describe('sizes, at the limit and one past it', () => {
  const get = (target: string, headers = '') =>
    raw(`GET ${target} HTTP/1.1\r\nHost: a\r\n${headers}Connection: close\r\n\r\n`)

  // Proves decided "Missing or wrong fields in a body"
  it('body: 1 MiB is read, one byte more is 413, with a length or in chunks', async () => {
    const start = '{"domain": "shop.example.com", "filler": "'
    const inChunks = { ...JSON_TYPE, 'transfer-encoding': 'chunked' }
    for (const headers of [JSON_TYPE, inChunks]) {
      const send = (bytes: number) => purge(`${start.padEnd(bytes - 2, 'x')}"}`, headers)
      assert.equal((await send(1_048_576)).status, 200)
      assertError(await send(1_048_577), 413, 'Request body too large (maximum 1 MiB)')
    }
    const unread = await purge('x'.repeat(2_000_000), { ...JSON_TYPE, 'x-api-key': '' })
    assert.equal(unread.status, 401, 'the key is checked first')
  })

  // Proves decided "Malformed requests"
  it('headers, or a URL: 128 KiB together', async () => {
    // The target, names and values count; the last byte of the limit is one too many.
    const most = 128 * 1024 - 1
    for (const send of [
      (bytes: number) =>
        get('/healthz', `X: ${'x'.repeat(bytes - '/healthzHostaConnectioncloseX'.length)}\r\n`),
      (bytes: number) => get(`/healthz?${'x'.repeat(bytes - '/healthz?HostaConnectionclose'.length)}`),
    ]) {
      assert.match(await send(most), /^HTTP\/1\.1 200 /)
      assert.match(await send(most + 1), /^HTTP\/1\.1 431 .*Request headers too large/s)
    }
  })

  it('headers: a thousand are all read, with one more 431', async () => {
    assert.match(await get('/healthz', 'A: b\r\n'.repeat(998)), /^HTTP\/1\.1 200 /)
    assert.match(await get('/healthz', 'A: b\r\n'.repeat(999)), /^HTTP\/1\.1 431 /)
  })
})

it('a trickle ends with 408, in JSON, and holds up nobody: of a head, a body, chunks', async (t) => {
  const { server } = api.app
  const usual = { headersTimeout: server.headersTimeout, requestTimeout: server.requestTimeout }
  // The server checks every two seconds and reads these each time. They are long enough for a request that the
  // machine holds up, and end the trickle at the first check.
  Object.assign(server, { headersTimeout: 1_200, requestTimeout: 1_600 })
  t.after(() => void Object.assign(server, usual))

  /** Everything that comes back; `drip` goes out every 50 ms. */
  async function trickle(head: string, drip: string): Promise<string> {
    const socket = openSocket(t, Number(new URL(api.url).port), { allowHalfOpen: true })
    let text = ''
    socket.on('data', (part) => {
      text += part
    })
    socket.once('end', () => socket.end())
    socket.write(head)
    const timer = setInterval(() => socket.writable && socket.write(drip), 50)
    // Not by `once`, which fails with the reset that a client which goes on writing is answered with.
    await new Promise((tell) => socket.once('close', tell))
    clearInterval(timer)
    return text
  }

  const post = `POST /api/domains HTTP/1.1\r\n${AUTHORISED}`
  const slow = [
    trickle('GET /api/domains HTTP/1.1\r\nHost: a\r\nX-A: ', 'x'),
    trickle(`${post}Content-Length: 100000\r\n\r\n`, ' '),
    trickle(`${post}Transfer-Encoding: chunked\r\n\r\n`, '1\r\n \r\n'),
  ]
  assert.equal((await api.get('/api/domains', owner.key)).status, 200)
  for (const got of await Promise.all(slow)) {
    assert.match(got, /^HTTP\/1\.1 408 Request Timeout\r\n.*\{"error":"Request took too long"\}/s)
  }
})

// Proves interface "All bodies are JSON.", decided "Missing or wrong fields in a body"
it('400: a body that is no JSON, or nested a hundred thousand deep, or poisons objects', async () => {
  const bodies = ['{"domain": "shop.example.com"', '{} {}', 'domain=shop.example.com', '\0', '   ']
  for (const body of [...bodies, Buffer.from([0x22, 0xff, 0x22])]) {
    assertError(await purge(body, JSON_TYPE), 400, 'Invalid JSON body')
  }
  const poison = '{"__proto__": {"domain": "shop.example.com"}, "constructor": {"prototype": {"path": "/"}}}'
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  assertError(await purge(deep, JSON_TYPE), 400, 'body must be an object')
  assertError(await purge(poison, JSON_TYPE), 400, 'domain is required')
  assert.equal(({} as Record<string, unknown>)['domain'], undefined)
})

const BODY = '{"domain": "shop.example.com"}'

// Proves decided "Content type of a body"
it('content types: 200: JSON under its names, and without a type', async () => {
  assert.equal((await purge(BODY, {})).status, 200)
  for (const type of ['APPLICATION/JSON; charset=utf-8', 'application/problem+json'])
    assert.equal((await purge(BODY, { 'content-type': type })).status, 200, type)
})

// Proves interface "All bodies are JSON.", decided "Content type of a body"
it('content types: 415: anything else, also what is malformed', async () => {
  const types = 'text/plain multipart/form-data;boundary=x application/jsonx json ; a/b/c application/xml'
  for (const type of types.split(' ')) {
    assertError(await purge(BODY, { 'content-type': type }), 415, 'Content-Type must be application/json')
  }
})

// Proves decided "Content type of a body"
it('content types: 200: where no body is wanted, none is looked at, nor an empty one of any type', async () => {
  for (const body of [undefined, {}, { domain: 'x' }, []]) {
    assert.equal((await api.post('/api/cache/purge-all', owner.key, body)).status, 200)
  }
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const empty = { key: owner.key, body: '', headers }
  assert.equal((await api.call('POST', '/api/cache/purge-all', empty)).status, 200)
})

// Proves interface 7/1, decided "Missing or wrong fields in a body"
it('404: paths that do not exist, by every method', async () => {
  const paths =
    '/api /api/domains/ /api/domains/a/b //api/domains /API/domains /api/%64omainss /../etc/passwd ' +
    `/api/domains/../../x /index.php?x=1 /${'a'.repeat(65_536)}`
  for (const path of paths.split(' ')) {
    for (const method of ['GET', 'POST', 'DELETE', 'PROPFIND', 'OPTIONS']) {
      const answer = await ask({ method, path, headers: JSON_TYPE }, method.startsWith('P') ? '{' : undefined)
      assertError(answer, 404, 'Not found')
    }
  }
})

// Proves decided "Missing or wrong fields in a body", decided "OPTIONS and HEAD"
it('405 and OPTIONS name what each known path takes', async () => {
  const cases: [string, string][] = [
    ['/api/domains', 'GET, HEAD, OPTIONS, POST'],
    ['/api/domains/shop.example.com', 'DELETE, GET, HEAD, OPTIONS, PUT'],
    ['/api/cache/purge-all?x=1', 'OPTIONS, POST'],
  ]
  for (const [path, allow] of cases) {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'QUERY']) {
      if (allow.split(', ').includes(method)) continue
      const answer = await ask({ method, path })
      assertError(answer, 405, 'Method not allowed')
      assert.equal(answer.headers.allow, allow, `${method} ${path}`)
    }
    const options = await ask({ method: 'OPTIONS', path, headers: { origin: 'https://evil.example' } })
    assert.deepEqual([options.status, options.headers.allow, options.text], [204, allow, ''])
    assert(!Object.keys(options.headers).some((name) => name.startsWith('access-control-')))
  }
})

// Proves decided "OPTIONS and HEAD"
it('HEAD is GET without its body', async () => {
  const headers = { 'x-api-key': owner.key }
  for (const path of ['/api/domains', '/api/domains/none.example.com']) {
    const [head, get] = [await ask({ method: 'HEAD', path, headers }), await ask({ path, headers })]
    assert.deepEqual([head.status, head.text], [get.status, ''])
    assert.equal(head.headers['content-type'], get.headers['content-type'])
  }
  assert.equal((await ask({ method: 'HEAD', path: '/api/domains' })).status, 401)
  assert.equal((await ask({ method: 'HEAD', path: '/api/cache/purge' })).status, 405)
})

it('every answer forbids to be framed, sniffed, scripted and kept; none opens itself to other sites', async () => {
  const headers = { origin: 'https://evil.example', 'x-api-key': owner.key }
  for (const path of ['/api/domains', '/nothing', '/api/domains/%', '/openapi.json']) {
    const answer = await ask({ path, headers })
    assert.match(String(answer.headers['content-security-policy']), /default-src 'none'/)
    assert.partialDeepStrictEqual(answer.headers, {
      ...{ 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY' },
      ...{ 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' },
    })
    for (const absent of ['access-control-allow-origin', 'x-powered-by', 'server']) {
      assert.equal(answer.headers[absent], undefined)
    }
  }
})

import assert from 'node:assert/strict'
import http from 'node:http'
import net from 'node:net'
import { after, before, describe, it } from 'node:test'

import { startTestApi, type TestAccount, type TestApi } from './test-api.ts'

let api: TestApi
let owner: TestAccount
before(async () => {
  api = await startTestApi()
  owner = await api.account()
  await api.domain(owner, 'shop.example.com')
})
after(() => api.close())

type Raw = { status: number; headers: http.IncomingHttpHeaders; text: string }

/** Sends the path as it is: fetch would tidy it up. */
function raw(options: http.RequestOptions, body?: string | Buffer): Promise<Raw> {
  const { promise, resolve, reject } = Promise.withResolvers<Raw>()
  const request = http.request(api.url, { agent: false, ...options }, async (response) => {
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    resolve({
      status: response.statusCode!,
      headers: response.headers,
      text: Buffer.concat(chunks).toString(),
    })
  })
  request.on('error', reject)
  request.end(body)
  return promise
}

/** Bytes on a bare connection, and all that comes back until it ends. */
function bytes(text: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const socket = net.connect(Number(new URL(api.url).port), '127.0.0.1', () => socket.write(text))
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  socket.on('end', () => {
    socket.destroy()
    resolve(answer)
  })
  socket.on('error', reject)
  return promise
}

const isError = ({ headers, text }: Raw, error: string) => {
  assert.match(headers['content-type'] ?? '', /^application\/json/)
  assert.deepEqual(JSON.parse(text), { error })
}

describe('404', () => {
  const paths = [
    '/',
    '/api',
    '/api/',
    '/api/domain',
    '/api/domains/',
    '/api/domains/a/b',
    '//api/domains',
    '/API/domains',
    '/favicon.ico',
    '/api/cache/list',
    '/api/%64omainss',
    '/../etc/passwd',
    '/api/domains/../../x',
    '/index.php?x=1',
    `/${'a'.repeat(65_536)}`,
  ]
  for (const path of paths) {
    it(path.slice(0, 40), async () => {
      for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'PROPFIND']) {
        const answer = await raw(
          { method, path, headers: { 'content-type': 'application/json' } },
          method.startsWith('P') ? '{' : undefined,
        )
        assert.equal(answer.status, 404, method)
        isError(answer, 'Not found')
      }
      const options = await raw({ method: 'OPTIONS', path })
      assert.equal(options.status, 404)
    })
  }
})

describe('405, and OPTIONS', () => {
  it('name what each known path takes', async () => {
    const cases: [string, string][] = [
      ['/api/domains', 'GET, HEAD, OPTIONS, POST'],
      ['/api/domains/shop.example.com', 'DELETE, GET, HEAD, OPTIONS, PUT'],
      ['/api/cache/list/shop.example.com', 'GET, HEAD, OPTIONS'],
      ['/api/cache/purge', 'OPTIONS, POST'],
      ['/api/cache/purge-all?x=1', 'OPTIONS, POST'],
      ['/api/cache/refresh', 'OPTIONS, POST'],
      ['/api/cache/refresh-all', 'OPTIONS, POST'],
      ['/api/cache/stats', 'GET, HEAD, OPTIONS'],
      ['/api/webhook/refresh', 'OPTIONS, POST'],
      ['/api/jobs/x', 'GET, HEAD, OPTIONS'],
      ['/healthz', 'GET, HEAD, OPTIONS'],
      ['/openapi.json', 'GET, HEAD, OPTIONS'],
    ]
    for (const [path, allow] of cases) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'QUERY']) {
        if (allow.split(', ').includes(method)) continue
        const answer = await raw({ method, path })
        assert.deepEqual([answer.status, answer.headers.allow], [405, allow], `${method} ${path}`)
        isError(answer, 'Method not allowed')
      }
      const options = await raw({ method: 'OPTIONS', path, headers: { origin: 'https://evil.example' } })
      assert.deepEqual([options.status, options.headers.allow, options.text], [204, allow, ''])
      assert(!Object.keys(options.headers).some((name) => name.startsWith('access-control-')))
    }
  })

  it('HEAD is GET without its body', async () => {
    const headers = { 'x-api-key': owner.key }
    for (const path of [
      '/api/domains',
      '/api/cache/stats',
      '/api/domains/none.example.com',
      '/openapi.json',
    ]) {
      const [head, get] = [await raw({ method: 'HEAD', path, headers }), await raw({ path, headers })]
      assert.deepEqual([head.status, head.text], [get.status, ''])
      assert.equal(head.headers['content-type'], get.headers['content-type'])
    }
    assert.equal((await raw({ method: 'HEAD', path: '/api/domains' })).status, 401)
    assert.equal((await raw({ method: 'HEAD', path: '/api/cache/purge' })).status, 405)
  })
})

describe('400: a body that is no JSON', () => {
  const bodies: [string, string | Buffer][] = [
    ['broken', '{"domain": "shop.example.com"'],
    ['two values', '{} {}'],
    ['a comment', '// {}'],
    ['a form', 'domain=shop.example.com'],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['a lone NUL', '\0'],
    ['nothing but blanks', '   '],
  ]
  for (const [name, body] of bodies) {
    it(name, async () => {
      const headers = { 'x-api-key': owner.key, 'content-type': 'application/json' }
      const answer = await raw({ method: 'POST', path: '/api/cache/purge', headers }, body)
      assert.equal(answer.status, 400)
      isError(answer, 'Invalid JSON body')
    })
  }

  it('values that are nested a hundred thousand deep, and names that would poison objects', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const poison =
      '{"__proto__": {"domain": "shop.example.com"}, "constructor": {"prototype": {"path": "/"}}}'
    for (const [body, error] of [
      [deep, 'body must be an object'],
      [poison, 'domain is required'],
    ] as const) {
      const answer = await api.call('POST', '/api/cache/purge', { key: owner.key, body })
      assert.deepEqual([answer.status, answer.body], [400, { error }])
    }
    assert.equal(({} as Record<string, unknown>)['domain'], undefined)
  })
})

describe('content types', () => {
  const send = (type: string | undefined, body: string) => {
    const headers = { 'x-api-key': owner.key, ...(type === undefined ? {} : { 'content-type': type }) }
    return raw({ method: 'POST', path: '/api/cache/purge', headers }, body)
  }
  const BODY = '{"domain": "shop.example.com"}'

  it('200: JSON under its names, and without a type', async () => {
    for (const type of [
      undefined,
      'application/json',
      'APPLICATION/JSON; charset=utf-8',
      'application/problem+json',
      'application/json;charset="utf-8"',
    ]) {
      assert.equal((await send(type, BODY)).status, 200, type)
    }
  })

  it('415: anything else, also what is malformed', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonx',
      'json',
      ';',
      'a/b/c',
      'application/xml',
    ]) {
      const answer = await send(type, BODY)
      assert.equal(answer.status, 415, type)
      isError(answer, 'Content-Type must be application/json')
    }
  })
})

describe('413', () => {
  it('1 MiB is read, one byte more is not, with or without a length', async () => {
    const body = (size: number) => {
      const start = '{"domain": "shop.example.com", "filler": "'
      return `${start}${'x'.repeat(size - start.length - 2)}"}`
    }
    for (const chunked of [false, true]) {
      const headers = {
        'x-api-key': owner.key,
        'content-type': 'application/json',
        ...(chunked ? { 'transfer-encoding': 'chunked' } : {}),
      }
      const purge = (size: number) => raw({ method: 'POST', path: '/api/cache/purge', headers }, body(size))
      assert.equal((await purge(1_048_576)).status, 200)
      const answer = await purge(1_048_577)
      assert.equal(answer.status, 413)
      isError(answer, 'Request body too large (maximum 1 MiB)')
    }
  })

  it('the key is checked before a large body is taken in', async () => {
    const headers = { 'content-type': 'application/json' }
    const answer = await raw({ method: 'POST', path: '/api/cache/purge', headers }, 'x'.repeat(2_000_000))
    assert.equal(answer.status, 401)
  })
})

describe('malformed requests', () => {
  it('400: URLs that cannot be decoded', async () => {
    for (const path of [
      '/api/domains/%',
      '/api/domains/%zz',
      '/api/domains/%ff',
      '/api/jobs/%c3%28',
      '/api/cache/list/%E0%A4%A',
    ]) {
      const answer = await raw({ path, headers: { 'x-api-key': owner.key } })
      assert.equal(answer.status, 400, path)
      isError(answer, 'Malformed URL')
      assert.equal(answer.headers['x-content-type-options'], 'nosniff')
    }
  })

  it('400: what is no HTTP, without a word of what it held', async () => {
    for (const text of [
      'GARBAGE\r\n\r\n',
      'GET / HTTP/1.1\r\nX-Api-Key pp_live_secret\r\n\r\n',
      'GET /\u0001 HTTP/1.1\r\nHost: a\r\n\r\n',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ]) {
      const answer = await bytes(text)
      assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/)
      assert.equal(answer.split('\r\n\r\n')[1], '{"error":"Malformed request"}')
    }
  })

  it('400: HTTP/1.1 without a host', async () => {
    const answer = await bytes('GET /api/domains HTTP/1.1\r\nConnection: close\r\n\r\n')
    assert.match(answer, /^HTTP\/1\.1 400 /)
    assert.match(answer, /\{"error":"Malformed request"\}/)
    assert.match(await bytes('GET /healthz HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 /)
  })

  it('431: headers without end', async () => {
    const answer = await raw({ path: '/healthz', headers: { 'x-filler': 'x'.repeat(200_000) } }).catch(
      (error) => error,
    )
    if (answer instanceof Error)
      assert.match(String((answer as NodeJS.ErrnoException).code), /ECONNRESET|EPIPE/)
    else {
      assert.equal(answer.status, 431)
      isError(answer, 'Request headers too large')
    }
  })

  it('200: a path of 64 KiB that only its query makes so long, and headers of 64 KiB', async () => {
    assert.equal((await raw({ path: `/healthz?${'x'.repeat(65_536)}` })).status, 200)
    assert.equal((await raw({ path: '/healthz', headers: { 'x-filler': 'x'.repeat(65_536) } })).status, 200)
  })

  it('401: a key of 64 KiB, or with odd bytes', async () => {
    for (const key of ['x'.repeat(65_536), `pp_live_${'é'.repeat(50)}`, 'pp_live_\t', "' or 1=1 --"]) {
      const headers = { 'x-api-key': Buffer.from(key).toString('latin1') }
      const answer = await raw({ path: '/api/domains', headers })
      assert.equal(answer.status, 401)
      isError(answer, 'Invalid API key')
    }
  })

  it('200: an expectation that is unknown is no reason to refuse', async () => {
    assert.equal((await raw({ path: '/healthz', headers: { expect: 'the-unexpected' } })).status, 200)
  })
})

it('every answer forbids to be framed, sniffed, scripted and kept; none opens itself to other sites', async () => {
  const answers = [
    await raw({ path: '/api/domains', headers: { origin: 'https://evil.example', 'x-api-key': owner.key } }),
    await raw({ path: '/nothing', headers: { origin: 'https://evil.example' } }),
    await raw({ path: '/api/domains/%' }),
    await raw({ method: 'PUT', path: '/api/domains' }),
    await raw({ path: '/openapi.json' }),
  ]
  for (const { headers } of answers) {
    assert.match(String(headers['content-security-policy']), /default-src 'none'/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['x-frame-options'], 'DENY')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.equal(headers['cache-control'], 'no-store')
    assert.equal(headers['access-control-allow-origin'], undefined)
    assert.equal(headers['x-powered-by'], undefined)
    assert.equal(headers['server'], undefined)
  }
})

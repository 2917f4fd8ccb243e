/** Bytes as an attacker writes them: nobody behind the edge may read another request out of them than the edge did. */
import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { ambiguousBodies, BAD_REQUEST_LINES } from '../../../../test/support/ambiguous-requests.ts'
import { GOOGLEBOT, openEdge, PERSON } from '../../../../test/support/edge.ts'
import { openSocket } from '../../../../test/support/loopback.ts'
import { rawClient, rawHalf } from '../../../../test/support/raw-request.ts'
import { MOST_PIPELINED } from './connection-limits.ts'

let asked: { method: string; url: string; body: string }[] = []
const edge = await openEdge({
  answerWaitMs: 30_000,
  origin: async (req, res) => {
    let body = ''
    try {
      for await (const part of req) body += part
    } catch {
      return // broken off by the edge
    }
    asked.push({ method: req.method ?? '', url: req.url ?? '', body })
    if (req.url === '/begins') res.write('the beginning')
    else if (req.url !== '/hangs') res.end(`from the origin ${req.url}`)
  },
})
beforeEach(() => {
  asked = []
})

const raw = (bytes: string) => rawHalf(edge.server, bytes)
const refused = (status: number, why: string) =>
  new RegExp(`^HTTP/1\\.1 ${status} [^]*\r\nX-Prepaint: none; ${why}\r\n[^]*</html>\n$`)
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: red.example\r\n\r\n'

describe('a body that could be read in two ways is refused, and nothing of it reaches the origin', () => {
  for (const [name, rest] of Object.entries(ambiguousBodies(SMUGGLED))) {
    it(name, async () => {
      const got = await raw(`POST / HTTP/1.1\r\nHost: red.example\r\n${rest}`)
      const statuses = [...got.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => status)
      assert.notEqual(statuses.length, 0)
      // The head may have been whole and gone on; what stood behind never comes to be a request.
      for (const status of statuses) assert.match(status!, /^(?:400|502)$/, got)
      assert.deepEqual(asked, [])
    })
  }

  it('a body in one way only arrives as it was sent, once', async () => {
    const end = 'GET /last HTTP/1.1\r\nHost: red.example\r\nConnection: close\r\n\r\n'
    const whole = `Content-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`
    const chunked = `\r\n\r\n${SMUGGLED.length.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`
    // The case of a coding means nothing.
    for (const [line, rest] of [
      ['GET /b', whole],
      ['POST /d', `Transfer-Encoding: Chunked${chunked}`],
    ] as const) {
      asked = []
      await raw(`${line} HTTP/1.1\r\nHost: red.example\r\n${rest}${end}`)
      // Requests of one connection may overtake each other on their way to the origin.
      const got = asked.map(({ method, url, body }) => `${method} ${url} ${body}`).toSorted()
      assert.deepEqual(got, [`${line} ${SMUGGLED}`, 'GET /last '].toSorted())
    }
  })

  it('a request with two Hosts gets 400 and ends the connection; one without a Host gets 400', async () => {
    const got = await raw(`GET / HTTP/1.1\r\nHost: red.example\r\nHost: blue.example\r\n\r\n${SMUGGLED}`)
    assert.equal([...got.matchAll(/^HTTP\/1\.1 400/gm)].length, 1)
    assert.deepEqual(asked, [])
    assert.match(await raw('GET / HTTP/1.1\r\n\r\n'), refused(400, 'bad-request'))
  })

  it('no request behind one whose response has begun: the connection ends, the response gets no more', async (t) => {
    const { socket, has, ended } = rawClient(t, edge.port)
    // Node reads what comes behind it at once; the fast lane, which reads no header twice, after the response.
    socket.write('GET /begins HTTP/1.1\r\nHost: red.example\r\nX-A: b\r\nX-A: c\r\n\r\n')
    await has(/the beginning/)
    socket.write('nonsense\r\n\r\n')
    assert.match(await ended, /the beginning\r\n$/)
  })

  it('a chunked request of HTTP/1.0 gets 400 and ends the connection', async () => {
    const head =
      'POST / HTTP/1.0\r\nHost: red.example\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n'
    assert.match(await raw(`${head}0\r\n\r\n${SMUGGLED}`), /^HTTP\/1\.1 400 /)
    assert.deepEqual(asked, [])
  })
})

describe('a body that nobody reads is not taken for the next request', () => {
  for (const [what, lines, seen] of [
    [
      'of a crawler whose page is in the cache',
      `red.example\r\nUser-Agent: ${GOOGLEBOT}`,
      /^X-Prepaint: hit\r$/gim,
    ],
    ['of an unknown host', 'nobody.example', /^HTTP\/1\.1 404/gm],
  ] as const) {
    it(what, async () => {
      await edge.ask('/cached')
      asked = []
      const head = `GET /cached HTTP/1.1\r\nHost: ${lines}\r\n`
      const body = `Content-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`
      const got = await raw(`${head}${body}${head}Connection: close\r\n\r\n`)
      assert.equal(got.match(seen)?.length, 2)
      assert.deepEqual(asked, [])
    })
  }
})

it('a malformed request line gets 400', async () => {
  for (const line of ['nonsense', ...Object.values(BAD_REQUEST_LINES)]) {
    const got = await raw(`${line}\r\nHost: red.example\r\nConnection: close\r\n\r\n`)
    assert.match(got, refused(400, 'bad-request'), line)
  }
  assert.deepEqual(asked, [])
})

describe('size', () => {
  it('a head at the limit is read, and one byte more gets 431', async () => {
    // The target, names and values count; of 16 KiB the last byte is one too many.
    const counted = '/Hostnob.exampleConnectioncloseX-A'.length
    // Nobody's: an origin's own limit would be met before, by what is added on the way.
    const fill = (bytes: number) =>
      `GET / HTTP/1.1\r\nHost: nob.example\r\nConnection: close\r\nX-A: ${'x'.repeat(bytes - counted)}\r\n\r\n`
    assert.match(await raw(fill(16 * 1024 - 1)), /^HTTP\/1\.1 404 /)
    assert.match(await raw(fill(16 * 1024)), /^HTTP\/1\.1 431 /)
    assert.deepEqual(asked, [])
  })

  it('a path past the limit gets 431, also if it does not end', async () => {
    assert.match(await raw(`GET /${'x'.repeat(20_000)}`), refused(431, 'headers-too-large'))
    assert.deepEqual(asked, [])
  })

  it('a request with too many headers gets 431, so that none is left out that says how long the body is', async () => {
    const many = (count: number) =>
      `POST /many HTTP/1.1\r\nHost: red.example\r\n${'A:\r\n'.repeat(count)}Connection: close\r\nContent-Length: 3\r\n\r\nabc`
    await raw(many(900))
    assert.deepEqual(asked, [{ method: 'POST', url: '/many', body: 'abc' }])
    assert.match(await raw(many(2_100)), /^HTTP\/1\.1 431 /)
    assert.equal(asked.length, 1)
  })
})

it('requests behind one that is not answered yet: so many, and one more ends the connection', async (t) => {
  // Node reads them: the lane takes simple requests one after another.
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: red.example\r\nTE: trailers\r\n\r\n`
  const ask = (behind: number) => {
    const socket = openSocket(t, edge.port)
    socket.write(get('/hangs') + get('/a').repeat(behind))
    return socket
  }
  const most = ask(MOST_PIPELINED)
  const ended = String(Buffer.concat(await ask(MOST_PIPELINED + 1).toArray()))
  assert.doesNotMatch(ended, /504|from the origin/, 'it ended because the first was answered')
  // What the first said has been read by now, too.
  assert.equal((await edge.ask('/', { agent: PERSON })).status, 200)
  assert.equal(most.closed, false)
})

/** What nginx passes on of an odd origin, Prepaint passes on with the same status and body, unless a row says why not. */
import assert from 'node:assert/strict'
import net from 'node:net'
import { after, before, describe, it } from 'node:test'
import { PERSON, startTestEdge, type TestEdge } from './support/edge.ts'
import { freePort, listening } from './support/loopback.ts'
import { hasNginx, startNginx } from './support/nginx.ts'

type Row = {
  /** What the origin says; it closes the connection behind it where `ends` says so. */
  says: string
  ends?: boolean
  /** What people get through Prepaint where nginx gives something else. */
  instead?: { status: number; body?: string } | undefined
  /** Our connection carries the next request; else it must not. */
  keeps?: true
}

const CHUNKS = '4\r\nbody\r\n0\r\n\r\n'
const SIZED = 'Content-Length: 4\r\n\r\nbody'
const ok = (head: string, body = 'body') => `HTTP/1.1 200 OK\r\n${head}\r\n\r\n${body}`
const chunked = (body: string, head = 'Transfer-Encoding: chunked') => ok(head, body)
/** `head`: more headers before a length. */
const sized = (head: string) => `HTTP/1.1 200 OK\r\n${head}\r\n${SIZED}`
const status = (line: string) => `${line}\r\n${SIZED}`
const many = (bytes: number) =>
  Array.from({ length: bytes / 1_024 }, (_, n) => `X-${n}: ${'v'.repeat(1_024 - 10)}`).join('\r\n')

const keeps = (says: string, instead?: Row['instead']): Row => ({ says, instead, keeps: true })
const ends = (says: string, instead?: Row['instead']): Row => ({ says, instead, ends: true })
const closed = (says: string, instead?: Row['instead']): Row => ({ says, instead })

/** Nobody knows where the body ends; a proxy has to refuse it (RFC 9112, section 6.3), or responses could be split. */
const INVALID_LENGTH = { status: 502 }
/** nginx takes it for HTTP/0.9, and sends on whatever it is without a head. */
const NO_STATUS_LINE = { status: 502 }
/** nginx before 1.29 takes an interim response for the final one. */
const FINAL = { status: 200, body: 'body' }
/** nginx waits, and gives nothing. */
const NOTHING = { status: 502 }

const ROWS: Record<string, Row> = {
  'a usual response': keeps(ok('Content-Length: 4')),
  chunks: keeps(chunked(CHUNKS)),
  'a Content-Length twice alike': closed(ok('Content-Length: 4\r\nContent-Length: 4')),
  'two lengths that differ': ends(ok('Content-Length: 4\r\nContent-Length: 5'), INVALID_LENGTH),
  'a length with leading zeros': keeps(ok('Content-Length: 0004')),
  'a length with a plus': ends(ok('Content-Length: +4'), INVALID_LENGTH),
  'an empty length': ends(ok('Content-Length:'), INVALID_LENGTH),
  '60 KiB of headers': keeps(sized(many(60 * 1_024))),
  'lines that end with LF alone': closed('HTTP/1.1 200 OK\nContent-Length: 4\nX-A: 1\n\nbody'),
  'a head that ends with LF CRLF': closed('HTTP/1.1 200 OK\r\nContent-Length: 4\n\r\nbody'),
  'a folded header': closed(sized('X-A: 1\r\n  more')),
  'gzip, chunked': closed(chunked(CHUNKS, 'Transfer-Encoding: gzip, chunked')),
  'Transfer-Encoding: identity': ends(ok('Transfer-Encoding: identity')),
  'Transfer-Encoding: identity and a length': closed(sized('Transfer-Encoding: identity')),
  'chunked twice': closed(chunked(CHUNKS, 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked')),
  'chunks and a length': closed(chunked(CHUNKS, 'Transfer-Encoding: chunked\r\nContent-Length: 4')),
  'chunks in HTTP/1.0': ends(`HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKS}`),
  'no reason phrase, nor the space before it': keeps(status('HTTP/1.1 200')),
  'HTTP/1.0 that keeps its connection': keeps(status('HTTP/1.0 200 OK\r\nConnection: keep-alive')),
  'HTTP/1.0 without a length': ends('HTTP/1.0 200 OK\r\n\r\nbody'),
  '103 before the response': keeps(
    `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${ok('Content-Length: 4')}`,
    FINAL,
  ),
  'a body without a length': ends('HTTP/1.1 200 OK\r\n\r\nbody'),
  'a header name with odd characters': keeps(sized("X-A!#$%&'*+.^_`|~: 1")),
  'a header name with a space in it': closed(sized('X A: 1')),
  'a line without a colon': closed(sized('nonsense')),
  'a space before the colon': closed(sized('X-A : 1')),
  'a space before the colon of a length': ends(ok('Content-Length : 4')),
  'a header value in Latin-1': keeps(sized('X-A: caf\xe9')),
  'a control character in a value': closed(sized('X-A: a\x01b')),
  'a bare CR in a value': closed(sized('X-A: a\rb')),
  'status 999': keeps(status('HTTP/1.1 999 Request denied')),
  'status 204 with a length': closed(status('HTTP/1.1 204 No Content')),
  'status 304 with a length': keeps('HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n'),
  'status 205 with a body': keeps(status('HTTP/1.1 205 Reset Content')),
  'chunk extensions': keeps(chunked('4;a=b;c="d"\r\nbody\r\n0;z\r\n\r\n')),
  'spaces behind a chunk size': closed(chunked('4  \r\nbody\r\n0\r\n\r\n')),
  trailers: keeps(chunked('4\r\nbody\r\n0\r\nX-Sum: 1\r\n\r\n')),
  'chunk lines with LF alone': closed(chunked('4\nbody\n0\n\n')),
  'a chunk that is longer than its size': ends(chunked('2\r\nbody\r\n0\r\n\r\n')),
  'HTTP/1.2': closed(status('HTTP/1.2 200 OK')),
  'a blank line first': closed(`\r\n${ok('Content-Length: 4')}`, NOTHING),
  'ICY instead of HTTP': ends('ICY 200 OK\r\n\r\nbody', NO_STATUS_LINE),
  'no head at all': ends('body and nothing else', NO_STATUS_LINE),
  'two Content-Types': keeps(sized('Content-Type: text/html\r\nContent-Type: text/plain')),
  'more than its length': closed(ok('Content-Length: 4', 'body and more')),
  'less than its length': ends(ok('Content-Length: 9')),
}

if (hasNginx) describe('odd origins', { timeout: 240_000 }, compare)

/** `isWhole`: the response came to its end, as its length or its last chunk says. */
type Got = { status: number; body: string; isWhole: boolean }

function compare(): void {
  let edge: TestEdge
  let nginx: Awaited<ReturnType<typeof startNginx>>
  let nginxPort: number
  let row: Row
  let connections = 0
  let lastAsked = 0
  const origin = net.createServer((socket) => {
    const which = connections++
    let asked = ''
    socket.on('error', () => {})
    socket.on('data', (part) => {
      asked += String(part)
      if (!asked.endsWith('\r\n\r\n')) return
      asked = ''
      lastAsked = which
      socket.write(Buffer.from(row.says, 'latin1'))
      if (row.ends === true) socket.end()
    })
  })

  before(async () => {
    edge = await startTestEdge({ answerWaitMs: 2_000 })
    const port = await listening(origin)
    nginxPort = await freePort()
    nginx = await startNginx(
      nginxPort,
      `proxy_buffer_size 128k; proxy_buffers 8 128k; proxy_busy_buffers_size 128k;
       upstream origin { server 127.0.0.1:${port} max_fails=0; keepalive 4; }
       server { listen 127.0.0.1:${nginxPort}; location / {
         proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection "";
         proxy_read_timeout 2s; proxy_next_upstream off;
       } }`,
    )
    await edge.set(`origin_url = 'http://127.0.0.1:${port}'`).then(edge.settled)
  })
  after(async () => {
    await nginx.close()
    await edge.close()
    origin.close()
  })

  /** As a client of HTTP/1.0 that takes any header: the body ends with the connection. */
  async function ask(port: number): Promise<Got> {
    const socket = net.connect(port, '127.0.0.1')
    socket.on('error', () => {})
    const head = `Host: red.example\r\nUser-Agent: ${PERSON}\r\n`
    socket.write(`GET / HTTP/1.0\r\n${head}\r\n`)
    let text = ''
    for await (const part of socket) text += (part as Buffer).toString('latin1')
    const end = text.indexOf('\r\n\r\n')
    const body = text.slice(end + 4)
    const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end))?.[1]
    const status = Number(/^HTTP\/1\.\d (\d+)/.exec(text)?.[1] ?? 0)
    const hasNoBody = status === 204 || status === 304
    return { status, body, isWhole: length === undefined || hasNoBody || body.length >= Number(length) }
  }

  for (const [name, one] of Object.entries(ROWS)) {
    it(name, async () => {
      row = one
      const nginx = await ask(nginxPort)
      const ours = await ask(edge.port)
      const ourConnection = lastAsked
      if (row.instead !== undefined) {
        const { status, body } = row.instead
        assert.equal(ours.status, status)
        if (body !== undefined) assert.equal(ours.body, body)
        assert.notDeepEqual(ours, nginx, 'it is the same by now')
      } else if (nginx.status === 502) assert.equal(ours.status, 502)
      else assert.deepEqual(ours, nginx)

      row = ROWS['a usual response']!
      assert.deepEqual(await ask(edge.port), { status: 200, body: 'body', isWhole: true })
      assert.equal(lastAsked === ourConnection, one.keeps === true, 'the connection is used again')
    })
  }
}

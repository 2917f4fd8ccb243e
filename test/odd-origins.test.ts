/**
 * What an odd origin answers, and what people get of it: through nginx and through Prepaint in the same test.
 * What nginx passes on, Prepaint passes on with the same status and body, unless a row says why not.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'

import { until } from './support/condition.ts'
import { PERSON, startTestEdge, type TestEdge } from './support/edge.ts'
import { hasProgram } from './support/program.ts'

type Row = {
  /** What the origin says; it closes the connection behind it where `ends` says so. */
  says: string
  ends?: boolean
  method?: 'HEAD'
  /** What people get through Prepaint where nginx gives something else, and why. */
  instead?: { status: number; body?: string; why: string }
  /** Our connection carries the next request; else it must not. */
  keeps?: true
}

const OK = 'HTTP/1.1 200 OK\r\n'
const INVALID_LENGTH = {
  status: 502,
  why: 'nobody knows where the body ends; a proxy has to refuse it (RFC 9112, section 6.3), or responses could be split',
}
const NO_STATUS_LINE = {
  status: 502,
  why: 'nginx takes it for HTTP/0.9, and sends on whatever it is without a head',
}
const FINAL = {
  status: 200,
  body: 'body',
  why: 'nginx before 1.29 takes an interim response for the final one',
}
const many = (bytes: number) =>
  Array.from({ length: bytes / 1_024 }, (_, n) => `X-${n}: ${'v'.repeat(1_024 - 10)}\r\n`).join('')

const ROWS: Record<string, Row> = {
  'a usual response': { says: `${OK}Content-Length: 4\r\n\r\nbody`, keeps: true },
  chunks: { says: `${OK}Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n`, keeps: true },
  'a Content-Length twice alike': { says: `${OK}Content-Length: 4\r\nContent-Length: 4\r\n\r\nbody` },
  'a Content-Length that is a list of the same': {
    says: `${OK}Content-Length: 4, 4\r\n\r\nbody`,
    instead: { status: 200, body: 'body', why: 'nginx reads none of the body' },
  },
  'two lengths that differ': {
    says: `${OK}Content-Length: 4\r\nContent-Length: 5\r\n\r\nbody`,
    ends: true,
    instead: INVALID_LENGTH,
  },
  'a length with leading zeros': { says: `${OK}Content-Length: 0004\r\n\r\nbody`, keeps: true },
  'a length with a plus': {
    says: `${OK}Content-Length: +4\r\n\r\nbody`,
    ends: true,
    instead: INVALID_LENGTH,
  },
  'a negative length': { says: `${OK}Content-Length: -4\r\n\r\nbody`, ends: true, instead: INVALID_LENGTH },
  'a length in hexadecimal': {
    says: `${OK}Content-Length: 0x4\r\n\r\nbody`,
    ends: true,
    instead: INVALID_LENGTH,
  },
  'an empty length': { says: `${OK}Content-Length:\r\n\r\nbody`, ends: true, instead: INVALID_LENGTH },
  '60 KiB of headers': { says: `${OK}${many(60 * 1_024)}Content-Length: 4\r\n\r\nbody`, keeps: true },
  'one header of 30 KiB': {
    says: `${OK}X-Long: ${'v'.repeat(30_000)}\r\nContent-Length: 4\r\n\r\nbody`,
    keeps: true,
  },
  'lines that end with LF alone': { says: 'HTTP/1.1 200 OK\nContent-Length: 4\nX-A: 1\n\nbody' },
  'some lines with LF alone': { says: `${OK}X-A: 1\nContent-Length: 4\r\n\r\nbody` },
  'a head that ends with LF CRLF': { says: `${OK}Content-Length: 4\n\r\nbody` },
  'a folded header': { says: `${OK}X-A: 1\r\n  more\r\nContent-Length: 4\r\n\r\nbody` },
  'a folded header with a tab': { says: `${OK}X-A: 1\r\n\tmore\r\nContent-Length: 4\r\n\r\nbody` },
  'gzip, chunked': { says: `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n` },
  'Chunked in capitals': {
    says: `${OK}Transfer-Encoding: CHUNKED\r\n\r\n4\r\nbody\r\n0\r\n\r\n`,
    keeps: true,
  },
  'Transfer-Encoding: identity': { says: `${OK}Transfer-Encoding: identity\r\n\r\nbody`, ends: true },
  'Transfer-Encoding: identity and a length': {
    says: `${OK}Transfer-Encoding: identity\r\nContent-Length: 4\r\n\r\nbody`,
  },
  'chunked twice': {
    says: `${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n`,
  },
  'chunks and a length': {
    says: `${OK}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n4\r\nbody\r\n0\r\n\r\n`,
  },
  'chunks in HTTP/1.0': {
    says: 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n',
    ends: true,
  },
  'no reason phrase': { says: 'HTTP/1.1 200 \r\nContent-Length: 4\r\n\r\nbody', keeps: true },
  'no reason phrase, nor the space before it': {
    says: 'HTTP/1.1 200\r\nContent-Length: 4\r\n\r\nbody',
    keeps: true,
  },
  'a very long reason phrase': {
    says: `HTTP/1.1 200 ${'very '.repeat(600)}\r\nContent-Length: 4\r\n\r\nbody`,
    keeps: true,
  },
  'a reason phrase in Latin-1': {
    says: 'HTTP/1.1 200 Tr\xe8s bien\r\nContent-Length: 4\r\n\r\nbody',
    keeps: true,
  },
  'HTTP/1.0 that keeps its connection': {
    says: 'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 4\r\n\r\nbody',
    keeps: true,
  },
  'HTTP/1.0 without a length': { says: 'HTTP/1.0 200 OK\r\n\r\nbody', ends: true },
  '103 before the response': {
    says: `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${OK}Content-Length: 4\r\n\r\nbody`,
    keeps: true,
    instead: FINAL,
  },
  '100 that was not asked for': {
    says: `HTTP/1.1 100 Continue\r\n\r\n${OK}Content-Length: 4\r\n\r\nbody`,
    keeps: true,
    instead: FINAL,
  },
  'a body without a length': { says: `${OK}\r\nbody`, ends: true },
  'a header name with odd characters': {
    says: `${OK}X-A!#$%&'*+.^_\`|~: 1\r\nContent-Length: 4\r\n\r\nbody`,
    keeps: true,
  },
  'a header name with a space in it': { says: `${OK}X A: 1\r\nContent-Length: 4\r\n\r\nbody` },
  'a header name with a slash': { says: `${OK}X/A: 1\r\nContent-Length: 4\r\n\r\nbody` },
  'a header name in Latin-1': { says: `${OK}X-\xe9: 1\r\nContent-Length: 4\r\n\r\nbody` },
  'a header without a name': { says: `${OK}: 1\r\nContent-Length: 4\r\n\r\nbody` },
  'a line without a colon': { says: `${OK}nonsense\r\nContent-Length: 4\r\n\r\nbody` },
  'a space before the colon': { says: `${OK}X-A : 1\r\nContent-Length: 4\r\n\r\nbody` },
  'a space before the colon of a length': { says: `${OK}Content-Length : 4\r\n\r\nbody`, ends: true },
  'an empty header value': { says: `${OK}X-A:\r\nX-B: \r\nContent-Length: 4\r\n\r\nbody`, keeps: true },
  'a header value in Latin-1': { says: `${OK}X-A: caf\xe9\r\nContent-Length: 4\r\n\r\nbody`, keeps: true },
  'a control character in a value': { says: `${OK}X-A: a\x01b\r\nContent-Length: 4\r\n\r\nbody` },
  'a zero byte in a value': { says: `${OK}X-A: a\0b\r\nContent-Length: 4\r\n\r\nbody` },
  'a bare CR in a value': { says: `${OK}X-A: a\rb\r\nContent-Length: 4\r\n\r\nbody` },
  'status 299': { says: 'HTTP/1.1 299 Odd\r\nContent-Length: 4\r\n\r\nbody', keeps: true },
  'status 599': { says: 'HTTP/1.1 599 Odd\r\nContent-Length: 4\r\n\r\nbody', keeps: true },
  'status 999': { says: 'HTTP/1.1 999 Request denied\r\nContent-Length: 4\r\n\r\nbody', keeps: true },
  'status 204 with a length': { says: 'HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nbody' },
  'status 304 with a length': { says: 'HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n', keeps: true },
  'status 205 with a body': {
    says: 'HTTP/1.1 205 Reset Content\r\nContent-Length: 4\r\n\r\nbody',
    keeps: true,
  },
  'chunk extensions': {
    says: `${OK}Transfer-Encoding: chunked\r\n\r\n4;a=b;c="d"\r\nbody\r\n0;z\r\n\r\n`,
    keeps: true,
  },
  'spaces behind a chunk size': { says: `${OK}Transfer-Encoding: chunked\r\n\r\n4  \r\nbody\r\n0\r\n\r\n` },
  'a chunk size with leading zeros': {
    says: `${OK}Transfer-Encoding: chunked\r\n\r\n00000004\r\nbody\r\n0\r\n\r\n`,
    keeps: true,
  },
  trailers: {
    says: `${OK}Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nX-Sum: 1\r\n\r\n`,
    keeps: true,
  },
  'chunk lines with LF alone': { says: `${OK}Transfer-Encoding: chunked\r\n\r\n4\nbody\n0\n\n` },
  'a chunk that is longer than its size': {
    says: `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nbody\r\n0\r\n\r\n`,
    ends: true,
  },
  'a lower-case version': {
    says: 'http/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody',
    instead: { status: 502, why: 'nginx waits, and gives nothing' },
  },
  'HTTP/1.2': { says: 'HTTP/1.2 200 OK\r\nContent-Length: 4\r\n\r\nbody' },
  'HTTP/2.0 in text': { says: 'HTTP/2.0 200 OK\r\nContent-Length: 4\r\n\r\nbody' },
  'a blank line first': {
    says: `\r\n${OK}Content-Length: 4\r\n\r\nbody`,
    instead: { status: 502, why: 'nginx gives nothing' },
  },
  'two spaces in the status line': { says: 'HTTP/1.1  200 OK\r\nContent-Length: 4\r\n\r\nbody' },
  'ICY instead of HTTP': { says: 'ICY 200 OK\r\n\r\nbody', ends: true, instead: NO_STATUS_LINE },
  'no head at all': { says: 'body and nothing else', ends: true, instead: NO_STATUS_LINE },
  'two Content-Types': {
    says: `${OK}Content-Type: text/html\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nbody`,
    keeps: true,
  },
  'more than its length': { says: `${OK}Content-Length: 4\r\n\r\nbody and more` },
  'less than its length': { says: `${OK}Content-Length: 9\r\n\r\nbody`, ends: true },
  'HEAD with a body all the same': { says: `${OK}Content-Length: 4\r\n\r\nbody`, method: 'HEAD' },
}

if (hasProgram('nginx', 'nginx-light')) {
  describe('odd origins', { timeout: 240_000 }, compare)
} else {
  it('nginx is not on this machine (apt-get install nginx-light): nothing was tried', () => {})
}

/** `isWhole`: the response came to its end, as its length or its last chunk says. */
type Got = { status: number; body: string; isWhole: boolean }

function compare(): void {
  let edge: TestEdge
  let nginx: ChildProcess
  let dir: string
  let nginxPort: number
  let row: Row
  let connections = 0
  /** The connection that the last request came by. */
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
    origin.listen(0, '127.0.0.1')
    await once(origin, 'listening')
    const { port } = origin.address() as AddressInfo
    dir = mkdtempSync(path.join(tmpdir(), 'prepaint-odd-'))
    chmodSync(dir, 0o755)
    nginxPort = await freePort()
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    writeFileSync(
      path.join(dir, 'nginx.conf'),
      `daemon off; master_process off; pid ${dir}/pid; worker_processes 1;
       events { worker_connections 64; }
       http {
         access_log off; ${temporary.map((name) => `${name}_temp_path ${dir}/${name};`).join(' ')}
         proxy_buffer_size 128k; proxy_buffers 8 128k; proxy_busy_buffers_size 128k;
         upstream origin { server 127.0.0.1:${port} max_fails=0; keepalive 4; }
         server { listen 127.0.0.1:${nginxPort}; location / {
           proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection "";
           proxy_read_timeout 2s; proxy_next_upstream off;
         } }
       }`,
    )
    nginx = spawn('nginx', ['-c', `${dir}/nginx.conf`, '-p', dir, '-e', `${dir}/error.log`], {
      stdio: 'ignore',
    })
    row = ROWS['a usual response']!
    await until('nginx listens', async () => (await ask(nginxPort)).status === 200)
    await edge.set(`origin_url = 'http://127.0.0.1:${port}'`).then(edge.settled)
  })
  after(async () => {
    const ended = once(nginx, 'exit')
    nginx.kill()
    await ended
    await edge.close()
    origin.close()
    rmSync(dir, { recursive: true })
  })

  /** As a client of HTTP/1.0 that takes any header: the body ends with the connection. */
  async function ask(port: number): Promise<Got> {
    const socket = net.connect(port, '127.0.0.1')
    socket.on('error', () => {})
    const head = `Host: red.example\r\nUser-Agent: ${PERSON}\r\n`
    socket.write(`${row.method ?? 'GET'} / HTTP/1.0\r\n${head}\r\n`)
    let text = ''
    for await (const part of socket) text += (part as Buffer).toString('latin1')
    const end = text.indexOf('\r\n\r\n')
    const body = text.slice(end + 4)
    const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end))?.[1]
    const status = Number(/^HTTP\/1\.\d (\d+)/.exec(text)?.[1] ?? 0)
    const hasNoBody = row.method === 'HEAD' || status === 204 || status === 304
    return {
      status,
      body,
      isWhole: length === undefined || hasNoBody || body.length >= Number(length),
    }
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

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Origins that answer what no server should: their visitors get their answer or a page of ours, others are not held up. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { after, before, describe, it } from 'node:test'
import zlib from 'node:zlib'

import { PERSON, startTestEdge, type TestEdge } from '../../../test/support/edge.ts'
import { rawExchange, UNTIL_ANSWERED_MS } from '../../../test/support/raw-edge.ts'

let edge: TestEdge
let answer: http.RequestListener
before(async () => {
  edge = await startTestEdge({ answerWaitMs: 10_000, origin: (req, res) => answer(req, res) })
})
after(() => edge.close())

/** The origin answers with these bytes, and what a person is then shown. */
function shown(bytes: string): Promise<string> {
  answer = (req) => void req.socket.end(bytes, 'latin1')
  return rawExchange(
    edge.port,
    `GET / HTTP/1.1\r\nHost: red.example\r\nUser-Agent: ${PERSON}\r\nConnection: close\r\n\r\n`,
    UNTIL_ANSWERED_MS,
  )
}

describe('answers that would be two', () => {
  const SECOND = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\nSet-Cookie: evil=1\r\n\r\nsecond'
  const SPLIT: Record<string, string> = {
    'a folded header': 'X-A: 1\r\n Set-Cookie: evil=1\r\nContent-Length: 0\r\n\r\n',
    'a bare return in a header': 'X-A: 1\rSet-Cookie: evil=1\r\nContent-Length: 0\r\n\r\n',
    'a bare line feed in a header': 'X-A: 1\nX-B: 2\r\nContent-Length: 0\r\n\r\n',
    'a NUL in a header': 'X-A: a\0b\r\nContent-Length: 0\r\n\r\n',
    'a space before the colon': 'Content-Length : 0\r\n\r\n',
    'a header without a name': ': x\r\nContent-Length: 0\r\n\r\n',
    'a length with a sign': `Content-Length: +6\r\n\r\n${SECOND}`,
    'two lengths in one': `Content-Length: 0, 6\r\n\r\n${SECOND}`,
    'two codings': `Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SECOND}`,
  }
  for (const [name, rest] of Object.entries(SPLIT)) {
    it(name, async () => {
      const got = await shown(`HTTP/1.1 200 OK\r\n${rest}`)
      assert.doesNotMatch(got, /^Set-Cookie/im)
      assert.equal([...got.matchAll(/^HTTP\/1\.1 \d/gm)].length, 1)
    })
  }

  it('a second answer that nobody asked for is given to nobody', async () => {
    const first = await shown(`HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst${SECOND}`)
    assert.match(first, /first$/)
    answer = (_req, res) => res.end('sound')
    for (let again = 0; again < 5; again++) {
      assert.equal(String((await edge.ask('/', { agent: PERSON })).body), 'sound')
    }
  })

  it('a reason phrase says nothing but itself', async () => {
    const got = await shown('HTTP/1.1 200 <script>\tx\r\nContent-Length: 2\r\n\r\nok')
    assert.match(got, /^HTTP\/1\.1 (?:200 <script>\tx|502 [\w ]+)\r\n/)
  })

  it('headers of ours that an origin says are dropped', async () => {
    const got = await shown(
      'HTTP/1.1 200 OK\r\nX-Prepaint: hit\r\nVia: 1.1 prepaint\r\nContent-Length: 2\r\n\r\nok',
    )
    assert.deepEqual(got.match(/^X-Prepaint: .*$/gim), ['X-Prepaint: pass; not-a-crawler'])
  })

  it('a Location that is none, or leads into headers, stays one line', async () => {
    for (const location of [
      '\\\\evil.example',
      'https://[',
      'java\tscript:1',
      `/${'x'.repeat(5_000)}`,
      '\xff\xfe',
    ]) {
      const got = await shown(`HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`)
      assert.match(got, /^HTTP\/1\.1 (?:302|502) /)
      assert.doesNotMatch(got, /^Set-Cookie/im)
    }
  })
})

describe('sitemaps that are bombs', () => {
  const GIGABYTE = 1024 * 1024 * 1024

  /** As much of `text` as asked for, packed as it is asked for: never in memory as a whole. */
  function bomb(text: string, bytes: number, headers: http.OutgoingHttpHeaders): http.RequestListener {
    return (_req, res) => {
      res.writeHead(200, headers)
      const gzip = zlib.createGzip({ level: 1 })
      const part = Buffer.alloc(1024 * 1024, text)
      let left = bytes
      const more = () => {
        while (left > 0 && !res.destroyed) {
          left -= part.length
          if (!gzip.write(part)) return void gzip.once('drain', more)
        }
        gzip.end()
      }
      gzip.pipe(res)
      more()
    }
  }

  const BOMBS: Record<string, { path: string; headers: http.OutgoingHttpHeaders; text: string }> = {
    'a gzip file of a gigabyte': {
      path: '/sitemap-a.xml.gz',
      headers: { 'content-type': 'application/gzip' },
      text: ' ',
    },
    'a gigabyte by Content-Encoding': {
      path: '/sitemap-b.xml',
      headers: { 'content-encoding': 'gzip' },
      text: ' ',
    },
    'a gigabyte of urls': {
      path: '/sitemap-c.xml.gz',
      headers: { 'content-type': 'application/gzip' },
      text: '<url><loc>https://red.example/a</loc></url>',
    },
  }
  for (const [name, { path, headers, text }] of Object.entries(BOMBS)) {
    it(`${name}: it is given up early, in little memory, while another domain is answered`, async () => {
      answer = (req, res) => {
        if (req.headers['x-forwarded-host'] === 'red.example') bomb(text, GIGABYTE, headers)(req, res)
        else res.end('sound')
      }
      const beforeBytes = process.memoryUsage().rss
      // The crawler is handed on to the origin, who may send it as many bytes as it likes: it hangs up.
      const asked = edge.verdict(path, { method: 'HEAD' })
      const other = await edge.ask('/', { agent: PERSON, host: 'blue.example' })
      assert.equal(String(other.body), 'sound')
      assert.equal(await asked, 'pass; sitemap')
      assert(process.memoryUsage().rss - beforeBytes < 200 * 1024 * 1024)
      const { rows } = await edge.pool.query('select 1 from sitemap where domain_id = $1', [edge.red])
      assert.deepEqual(rows, [])
    })
  }
})

it('an origin that sends for ever is read no faster than its visitor, and not for longer', async () => {
  let wanted = true
  answer = (_req, res) => {
    res.on('close', () => {
      wanted = false
    })
    const more = () => {
      while (wanted && res.write(Buffer.alloc(64 * 1024)));
      if (wanted) res.once('drain', more)
    }
    more()
  }
  const asked = http
    .get({ port: edge.port, path: '/', headers: { host: 'red.example' } })
    .on('error', () => {})
  await once(asked, 'response')
  assert.equal(wanted, true)
  asked.destroy()
  while (wanted) await new Promise((next) => setImmediate(next))
})

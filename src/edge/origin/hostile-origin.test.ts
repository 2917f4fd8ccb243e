/** Origins that fail, or answer what no server should: their visitors get their answer or a page of ours, others are not held up. */
import assert from 'node:assert/strict'
import type http from 'node:http'
import { describe, it } from 'node:test'
import { openEdge, PERSON } from '../../../test/support/edge.ts'
import { freePort } from '../../../test/support/loopback.ts'
import { rawHalf } from '../../../test/support/raw-request.ts'

let answer: http.RequestListener
const edge = await openEdge({ answerWaitMs: 2_000, origin: (req, res) => answer(req, res) })
const ask = (body?: string) =>
  edge.ask('/', { agent: PERSON, ...(body !== undefined && { method: 'POST', body }) })

/** The origin answers with these bytes, and what a person is then shown. */
function shown(bytes: string): Promise<string> {
  answer = (req) => void req.socket.end(bytes, 'latin1')
  const request = `GET / HTTP/1.1\r\nHost: red.example\r\nUser-Agent: ${PERSON}\r\nConnection: close\r\n\r\n`
  return rawHalf(edge.server, request)
}

describe('origins that fail get people a page of ours', () => {
  // Proves decided "Origin failure"
  it('502: nobody listens, or at an address that no origin may have; neither is told', async () => {
    for (const [url, told] of [
      [`http://127.0.0.1:${await freePort()}`, /cannot be reached/],
      [edge.origin.replace('127.0.0.1', '127.0.0.2'), /may not be contacted/],
    ] as const) {
      await edge.set(`origin_url = '${url}'`)
      const { status, verdict, body } = await ask()
      assert.deepEqual([status, verdict], [502, 'pass; not-a-crawler'])
      assert.match(String(body), told)
      assert.doesNotMatch(String(body), /127\.0\.0|ECONN/)
    }
    await edge.set(`origin_url = '${edge.origin}'`)
  })

  it('502, with a reference: a request that may not be sent twice is not', async () => {
    let posts = 0
    // On a connection that is kept: only there anything is sent again.
    answer = (_req, res) => res.end('kept')
    await ask()
    answer = (req) => {
      posts += 1
      req.socket.destroy()
    }
    const { status, body } = await ask('order')
    assert.deepEqual([status, posts], [502, 1])
    assert.match(String(body), /Reference: <code>[0-9a-f]{12}<\/code>/)
  })

  // Proves decided "Origin failure"
  it('504: it is silent for too long', async () => {
    answer = () => {}
    const { status, body } = await ask()
    assert.equal(status, 504)
    assert.match(String(body), /did not answer in time/)
  })
})

describe('answers that are none, or would be two', () => {
  const OK = 'HTTP/1.1 200 OK\r\n'
  const SECOND = `${OK}Content-Length: 6\r\nSet-Cookie: evil=1\r\n\r\nsecond`
  const BAD: [name: string, bytes: string, status: number][] = [
    ['a status that is none', 'HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n', 502],
    ['headers without end', `${OK}X: ${'x'.repeat(100_000)}`, 502],
    ['an upgrade out of the blue', 'HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n', 502],
    ['two lengths', `${OK}Content-Length: 3\r\nContent-Length: 4\r\n\r\n${SECOND}`, 502],
    ['a folded header', `${OK}X-A: 1\r\n Set-Cookie: evil=1\r\nContent-Length: 0\r\n\r\n`, 502],
    ['a reason that is none', 'HTTP/1.1 200 <script>\tx\r\nContent-Length: 2\r\n\r\nok', 200],
    [
      'chunked twice',
      `${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SECOND}`,
      200,
    ],
  ]
  for (const [name, bytes, status] of BAD) {
    it(`${status}: ${name}`, async () => {
      const got = await shown(bytes)
      assert.deepEqual(got.match(/^HTTP\/1\.1 \d+/gm), [`HTTP/1.1 ${status}`])
      assert.match(got, /^HTTP\/1\.1 (?:200 <script>\tx|\d+ [\w ]+)\r\n/)
      assert.doesNotMatch(got, /^Set-Cookie/im)
    })
  }

  it('a second answer that nobody asked for is given to nobody', async () => {
    assert.match(await shown(`${OK}Content-Length: 5\r\n\r\nfirst${SECOND}`), /first$/)
    answer = (_req, res) => res.end('sound')
    for (let again = 0; again < 5; again++) assert.equal(String((await ask()).body), 'sound')
  })

  it('a Location that is none, or leads into headers, stays one line', async () => {
    const locations = ['\\\\evil.example', 'https://[', 'java\tscript:1', `/${'x'.repeat(5_000)}`, '\xff\xfe']
    for (const location of locations) {
      const got = await shown(`HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`)
      assert.match(got, /^HTTP\/1\.1 (?:302|502) /)
      assert.doesNotMatch(got, /^Set-Cookie/im)
    }
  })
})

/** Origins that answer what no server should: their visitors get their answer or a page of ours, others are not held up. */
import assert from 'node:assert/strict'
import type http from 'node:http'
import { describe, it } from 'node:test'

import { openEdge, PERSON } from '../../../test/support/edge.ts'
import { rawExchange, UNTIL_ANSWERED_MS } from '../../../test/support/raw-edge.ts'

let answer: http.RequestListener
const edge = await openEdge({ answerWaitMs: 10_000, origin: (req, res) => answer(req, res) })

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

  it('a Location that is none, or leads into headers, stays one line', async () => {
    const locations = ['\\\\evil.example', 'https://[', 'java\tscript:1', `/${'x'.repeat(5_000)}`, '\xff\xfe']
    for (const location of locations) {
      const got = await shown(`HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`)
      assert.match(got, /^HTTP\/1\.1 (?:302|502) /)
      assert.doesNotMatch(got, /^Set-Cookie/im)
    }
  })
})

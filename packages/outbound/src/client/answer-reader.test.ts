import assert from 'node:assert/strict'
import http from 'node:http'
import { Duplex } from 'node:stream'
import { describe, it } from 'node:test'
import { pick, seededRandom } from '../../../../test/chaos/seeded-random.ts'
import { ANSWER_HEAD_BYTES, AnswerReader, BadAnswer, INTERIM_ANSWERS } from './answer-reader.ts'
import { CHUNK_LINE_BYTES, TRAILER_BYTES } from './chunk-reader.ts'

type Read = NonNullable<ReturnType<typeof read>>

/** What is read of bytes that come in these parts, and then the connection ends if it says so; null: there is more to come. */
function read(parts: readonly string[], { method = 'GET', ends = false } = {}) {
  const reader = new AnswerReader()
  const got = { status: 0, reason: '', headers: [''], body: '', trailers: [''], interims: [] as number[] }
  let ended = false
  reader.begin(method, {
    interim: (status) => void got.interims.push(status),
    head: ({ statusCode: status, statusMessage: reason, rawHeaders: headers }) =>
      void Object.assign(got, { status, reason, headers }),
    data: (part) => {
      got.body += part.toString('latin1')
    },
    upgrade: () => assert.fail('no protocol was offered'),
    end: (trailers) => {
      got.trailers = trailers
      ended = true
    },
  })
  for (const part of parts) reader.push(Buffer.from(part, 'latin1'))
  if (ends) reader.finish()
  return ended ? { ...got, reusable: reader.isReusable, odd: reader.isOdd } : null
}

const OK = 'HTTP/1.1 200 OK\r\n'

describe('answers are read', () => {
  it('in one part, or a byte at a time', () => {
    const text = `HTTP/1.1 103 Early\r\nLink: x\r\n\r\n${OK}Server:  a b \t\r\nX:\r\nTransfer-Encoding: Chunked\r\n\r\n5;a="b"\r\nhello\r\n0A\r\n0123456789\r\n0\r\nX-Sum: 42\r\n\r\n`
    const whole = read([text])
    assert.deepEqual(whole, {
      status: 200,
      reason: 'OK',
      headers: ['Server', 'a b', 'X', '', 'Transfer-Encoding', 'Chunked'],
      body: 'hello0123456789',
      trailers: ['X-Sum', '42'],
      interims: [103],
      reusable: true,
      odd: false,
    })
    assert.deepEqual(read([...text]), whole)
  })

  it('up to the end of the connection, where nothing else says how long they are', () => {
    assert.equal(read([`${OK}\r\nabc`]), null)
    const got = read([`${OK}\r\nabc`, 'def'], { ends: true })
    assert.deepEqual([got?.body, got?.reusable], ['abcdef', false])
  })

  const BODILESS: [status: string, method: string, headers: string, reusable: boolean][] = [
    ['204 No Content', 'GET', '', true],
    ['204 No Content', 'GET', 'Content-Length: 5\r\n', false],
    ['204 No Content', 'GET', 'Transfer-Encoding: chunked\r\n', false],
    ['304 Not Modified', 'GET', 'Content-Length: 5\r\n', true],
    ['200 OK', 'HEAD', 'Content-Length: 5\r\n', true],
  ]
  for (const [status, method, headers, reusable] of BODILESS) {
    it(`without a body: ${method}, ${status}, ${headers.trim()}`, () => {
      const got = read([`HTTP/1.1 ${status}\r\n${headers}\r\n`], { method })
      assert.deepEqual([got?.body, got?.reusable], ['', reusable])
    })
  }

  it('although they break the standard: such a connection serves nobody else', () => {
    const sized = ['nonsense', 'X-A: a\x01b', 'Content-Length: 2', 'Transfer-Encoding: identity']
    const odd = sized.map((line) => `${line}\r\nContent-Length: 2\r\n\r\nab`)
    for (const text of [...odd, 'Transfer-Encoding: chunked\r\n\r\n2\nab\n0\n\n']) {
      const got = read([OK + text])
      assert.deepEqual([got?.body, got?.odd, got?.reusable], ['ab', true, false], text)
    }
  })

  it('a connection is kept as HTTP/1.0 and HTTP/1.1 each say', () => {
    const kept = (version: string, header: string) =>
      read([`HTTP/${version} 200 OK\r\n${header}Content-Length: 0\r\n\r\n`])?.reusable
    assert.equal(kept('1.1', ''), true)
    assert.equal(kept('1.1', 'Connection: x, Close\r\n'), false)
    assert.equal(kept('1.1', 'Connection: x\r\nConnection: close\r\n'), false)
    assert.equal(kept('1.0', ''), false)
    assert.equal(kept('1.0', 'Connection: Keep-Alive\r\n'), true)
  })
})

describe('limits', () => {
  const refused = (text: string, options = {}) => assert.throws(() => read([text], options), BadAnswer)

  it('a head at the limit is read, and one byte more is refused', () => {
    const head = (bytes: number) => `${OK}X: ${'x'.repeat(bytes - OK.length - 5)}\r\n\r\n`
    assert.notEqual(read([`${head(ANSWER_HEAD_BYTES)}`], { ends: true }), null)
    refused(head(ANSWER_HEAD_BYTES + 1))
    refused(`${OK}X: ${'x'.repeat(ANSWER_HEAD_BYTES)}`)
  })

  it('interim answers', () => {
    const text = (count: number) => `${'HTTP/1.1 102 x\r\n\r\n'.repeat(count)}HTTP/1.1 204 x\r\n\r\n`
    assert.equal(read([text(INTERIM_ANSWERS)])?.status, 204)
    refused(text(INTERIM_ANSWERS + 1))
  })

  it('lines between chunks, and trailers', () => {
    const chunked = `${OK}Transfer-Encoding: chunked\r\n\r\n`
    const line = (bytes: number) => `${chunked}0;${'x'.repeat(bytes - 4)}\r\n\r\n`
    assert.notEqual(read([line(CHUNK_LINE_BYTES)]), null)
    refused(line(CHUNK_LINE_BYTES + 1))
    const trailer = (bytes: number) => `${chunked}0\r\nX: ${'x'.repeat(bytes - 7)}\r\n\r\n`
    assert.notEqual(read([trailer(TRAILER_BYTES)]), null)
    refused(trailer(TRAILER_BYTES + 1))
    refused(`${chunked}0\r\nX: ${'x'.repeat(TRAILER_BYTES)}`)
  })
})

/**
 * What we accept, node's parser accepts and reads in the same way. That we
 * refuse more is allowed.
 */
describe('beside the parser of node', () => {
  // No tab behind `chunked`: node takes it for a part of the word, against RFC 9110, section 5.5.
  const HEADS = [
    OK,
    OK,
    OK,
    'HTTP/1.0 200 OK\r\n',
    'HTTP/1.1 204\r\n',
    'HTTP/1.1 99 x\r\n',
    'HTTP/1.1 200\tOK\r\n',
    'HTTP/1.2 200 OK\r\n',
    'HTTP/1.1  200 OK\r\n',
    'HTTP/1.1 2000 OK\r\n',
    'http/1.1 200 OK\r\n',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n',
    'HTTP/1.1 200 \xe9\r\n',
    'HTTP/1.1 200 OK\n',
    '\r\nHTTP/1.1 200 OK\r\n',
  ]
  const LENGTHS = ['5', '5', '0', '05', '5, 5', '-5', '0x5', '', '5 \t']
  const CODINGS = ['chunked', 'chunked', ' CHUNKED ', 'xchunked', 'gzip, chunked', 'chunked, identity']
  const OTHERS = [
    'Content_Length: 5',
    'Content-Length : 5',
    ' Content-Length: 5',
    'content-length:5',
    ': x',
    'X: 1',
    'Transfer-Encoding:\x0bchunked',
    'Transfer-Encoding : chunked',
    'X: a\r b',
    'X: a\n',
    'X: a\0b',
    'Connection: close',
    'Connection: keep-alive',
    'X: \xff',
    'X',
    'X: a\r\n b',
    'Upgrade: x',
  ]
  const LINES = [
    ...LENGTHS.map((length) => `Content-Length: ${length}\r\n`),
    ...CODINGS.map((coding) => `Transfer-Encoding: ${coding}\r\n`),
    ...OTHERS.map((line) => `${line}\r\n`),
  ]
  const SIZES = ['5', '5', '5;x', '0x5', '-5', ' 5', '5 ', '4', '5;a="\r\n"', '5;a\nb', 'fffffffffffffffff']
  const ENDS = ['0\r\nX: 1\r\n\r\n', '0\r\nX : 1\r\n\r\n', '0\r\n X: 1\r\n\r\n', '00\r\n\r\n', '\r\n']
  const BODIES = [
    'hello',
    'hello',
    'hell',
    'hello!',
    '',
    '5\nhello\n0\n\n',
    '5\r\nhello0\r\n\r\n',
    '5\r\nhel',
    ...SIZES.map((size) => `${size}\r\nhello\r\n0\r\n\r\n`),
    ...ENDS.map((end) => `5\r\nhello\r\n${end}`),
  ]
  const BYTES = ['\r', '\n', '\0', ' ', '\t', ':', '\x0b', '\xa0', ',', ';', '0', 'x']

  it('nothing is read in another way', async () => {
    const random = seededRandom(7)
    let accepted = 0
    for (let turn = 0; turn < 4_000; turn++) {
      let text = pick(random, HEADS)
      for (let lines = Math.floor(random() * 4); lines > 0; lines--) text += pick(random, LINES)
      text += `\r\n${pick(random, BODIES)}`
      if (random() < 0.25) {
        const at = Math.floor(random() * text.length)
        text = text.slice(0, at) + pick(random, BYTES) + text.slice(at + (random() < 0.5 ? 1 : 0))
      }
      const method = random() < 0.1 ? 'HEAD' : 'GET'
      const cut = Math.floor(random() * text.length)
      const parts = [text.slice(0, cut), text.slice(cut)].filter((part) => part !== '')
      let ours: Read | null
      try {
        ours = read(parts, { method, ends: true })
      } catch (error) {
        assert(error instanceof BadAnswer)
        continue
      }
      assert(ours !== null)
      // `test/odd-origins.long.test.ts` compares these with nginx.
      if (ours.odd) continue
      accepted++
      // What stands behind it is nobody's answer; node would say that it is malformed.
      const theirs = await byNode(text.slice(0, lengthOf(text, method)), method)
      const { status, reason, headers, body, trailers } = ours
      assert.deepEqual({ status, reason, headers, body, trailers }, theirs, JSON.stringify([method, parts]))
    }
    // It is no use to refuse everything.
    assert(accepted > 400, `${accepted}`)
  })
})

/** Of the first answer in a text, in which nothing is malformed. */
function lengthOf(text: string, method: string): number {
  for (let length = 1; length < text.length; length++) {
    if (read([text.slice(0, length)], { method }) !== null) return length
  }
  return text.length
}

/** The same by node's client; null: it found an error. */
async function byNode(text: string, method: string) {
  const connection = new Duplex({ read() {}, write: (_part, _encoding, done) => done() })
  const request = http.request({ method, createConnection: () => connection })
  const { promise, resolve } = Promise.withResolvers<Omit<Read, 'interims' | 'reusable' | 'odd'> | null>()
  let begun = false
  request.on('error', () => resolve(null)).on('close', () => begun || resolve(null))
  request.on('response', async (answer) => {
    begun = true
    try {
      const { statusCode: status = 0, statusMessage: reason = '', rawHeaders: headers } = answer
      const body = Buffer.concat(await answer.toArray()).toString('latin1')
      resolve({ status, reason, headers, body, trailers: answer.rawTrailers })
    } catch {
      resolve(null)
    }
  })
  request.end()
  connection.push(Buffer.from(text, 'latin1'))
  connection.push(null)
  const got = await promise
  connection.destroy()
  return got
}

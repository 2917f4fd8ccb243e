import assert from 'node:assert/strict'
import http from 'node:http'
import { duplexPair } from 'node:stream'
import { describe, it } from 'node:test'
import v8 from 'node:v8'
import vm from 'node:vm'

import { pick, seededRandom } from '../../../test/chaos/seeded-random.ts'
import { readSimpleHead, SIMPLE_HEAD_BYTES, type SimpleHead } from './fast-lane.ts'

const read = (text: string) => readSimpleHead(Buffer.from(text, 'latin1'))

const HOST = 'Host: shop.example\r\n'
const get = (lines: string, target = '/a') => `GET ${target} HTTP/1.1\r\n${lines}\r\n`
const longName = (bytes: number) =>
  get(`${HOST}X-A: ${'x'.repeat(bytes - get(`${HOST}X-A: \r\n`).length)}\r\n`)

const READ: [what: string, text: string][] = [
  ['nothing but a host', get(HOST)],
  ['HEAD', `HEAD /a?b=c HTTP/1.1\r\n${HOST}\r\n`],
  ['what crawlers say', get(`${HOST}User-Agent: a/2.1 (+http://a/b)\r\nAccept-Encoding: gzip, br\r\n`)],
  ['no space before a value, and many', get('Host:shop.example\r\nX-A: \t b c \t \r\n')],
  ['names in any case', get('hOsT: shop.example\r\nIF-NONE-MATCH: "x"\r\n')],
  ['every character of a path', get(HOST, "/a-._~!$&'()*+,;=:@%20?a=[]|^`{}")],
  ['as long as it may be', longName(SIMPLE_HEAD_BYTES)],
]

const LEFT: [what: string, text: string][] = [
  ['one byte longer', longName(SIMPLE_HEAD_BYTES + 1)],
  ['half a head', get(HOST).slice(0, -1)],
  ['two of them', get(HOST) + get(HOST)],
  ['a line break before it', `\r\n${get(HOST)}`],
  ['another method', get(HOST).replace('GET', 'POST')],
  ['HTTP/1.0', get(HOST).replace('1.1', '1.0')],
  ['a path beyond ASCII', get(HOST, '/\xe4')],
  ['an absolute target', get(HOST, 'http://shop.example/a')],
  ['no Host', get('X-A: b\r\n')],
  ['a header twice, in other letters', get(`${HOST}X-A: b\r\nx-a: c\r\n`)],
  ['a name that no object can have', get(`${HOST}__proto__: a\r\n`)],
  ['a space before the colon', get(`${HOST}X-A : b\r\n`)],
  ['a folded line', get(`${HOST}X-A: b\r\n c\r\n`)],
  ['a line that ends with LF alone', get(`${HOST}X-A: b\nX-B: c\r\n`)],
  ['a value beyond ASCII', get(`${HOST}X-A: \xe4\r\n`)],
  ['Connection: close', get(`${HOST}Connection: close\r\n`)],
  ['a named connection header', get(`${HOST}Connection: keep-alive, X-A\r\n`)],
  ...[
    ...['Content-Length: 0', 'Transfer-Encoding: chunked', 'Expect: 100-continue', 'Upgrade: websocket'],
    ...['HTTP2-Settings: AAMAAABk', 'TE: trailers', 'Trailer: X-A', 'Keep-Alive: 5', 'Proxy-Connection: a'],
  ].map((line): [string, string] => [line, get(`${HOST}${line}\r\n`)]),
]

/** What node's parser makes of a whole head; null: it refuses it, takes more than one from it, or waits for more. */
async function readByNode(text: string): Promise<SimpleHead | null> {
  const requests: http.IncomingMessage[] = []
  const server = http.createServer((req, res) => {
    requests.push(req)
    res.end()
  })
  const [client, served] = duplexPair()
  const answered = new Promise((resolve) => client.once('data', resolve))
  server.emit('connection', served)
  client.on('error', () => {})
  client.end(text, 'latin1')
  await Promise.race([answered, new Promise((resolve) => served.once('close', resolve))])
  const [req, ...others] = requests
  if (req === undefined || others.length > 0 || req.httpVersion !== '1.1') return null
  const isOurs = req.method === 'GET' || req.method === 'HEAD'
  return isOurs ? { method: req.method as SimpleHead['method'], url: req.url!, headers: req.headers } : null
}

const asPlain = (head: SimpleHead | null) => head && { ...head, headers: { ...head.headers } }

describe('a simple head', () => {
  for (const [what, text] of READ) {
    it(`is read as node reads it: ${what}`, async () => {
      const head = read(text)
      assert.notEqual(head, null)
      assert.deepEqual(asPlain(head), asPlain(await readByNode(text)))
    })
  }

  for (const [what, text] of LEFT) {
    it(`is not: ${what}`, () => assert.equal(read(text), null))
  }

  it('whatever is read here node reads alike: 20,000 heads with a few bytes changed', async () => {
    const random = seededRandom(20_261_122)
    const lines = ['\r\n', 'Host: b\r\n', 'Connection: Keep-Alive\r\n', 'HTTP/1.1']
    const pieces = [...lines, ...'\n\r \t:,"%#\\X\0\x7f\x80\xff']
    let simple = 0
    for (let round = 0; round < 20_000; round++) {
      let text = pick(random, [...READ.slice(0, -1), ...LEFT.slice(1)])[1]
      for (let changes = Math.floor(random() * 4); changes > 0; changes--) {
        const at = Math.floor(random() * text.length)
        const piece = random() < 0.7 ? pick(random, pieces) : ''
        text = text.slice(0, at) + piece + text.slice(at + Math.floor(random() * 3))
      }
      const head = read(text)
      if (head === null) continue
      simple++
      assert.deepEqual(asPlain(head), asPlain(await readByNode(text)), JSON.stringify(text))
    }
    assert(simple > 1_000, `only ${simple} were simple`)
  })

  it('what is kept of one does not keep the whole', () => {
    const kept: string[] = []
    const size = 7_000
    const before = heapAfterCollection()
    for (let time = 0; time < 2_000; time++) {
      const lines = `${HOST}User-Agent: ${time} ${'u'.repeat(20)}\r\nX-A: ${'x'.repeat(size)}\r\n`
      const { url, headers } = read(get(lines, `/page/of/${time}`))!
      kept.push(url, headers['user-agent']!)
    }
    assert(heapAfterCollection() - before < (2_000 * size) / 4)
    assert.equal(kept.length, 4_000)
  })
})

function heapAfterCollection(): number {
  v8.setFlagsFromString('--expose-gc')
  vm.runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

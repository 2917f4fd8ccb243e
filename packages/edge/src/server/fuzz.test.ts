/**
 * Requests that nobody would send, on bare connections: the edge answers with
 * HTTP or ends the connection, never with a fault of its own, and the origin
 * never hears of more requests, or of another host, than the edge let through.
 * FUZZ_SEED repeats a run, FUZZ_SECONDS lengthens it.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { it } from 'node:test'
import { pick, type Random, seededRandom } from '../../../../test/chaos/seeded-random.ts'
import { GOOGLEBOT, openEdge, PERSON } from '../../../../test/support/edge.ts'

const SECONDS = Number(process.env['FUZZ_SECONDS'] ?? 3)
const SEED = Number(process.env['FUZZ_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))
/** Of silence, after which the client has said all. */
const SILENCE_MS = 40

let heard: { marks: string[]; host: string | undefined }[] = []
const edge = await openEdge({
  answerWaitMs: 1_000,
  headersMs: 1_000,
  liveWaitMs: 1_000,
  origin: (req, res) => {
    // The edge looks there by itself for the names of sitemaps.
    if (req.url !== '/robots.txt')
      heard.push({
        marks: req.rawHeaders.filter((_, at) => req.rawHeaders[at - 1]?.toLowerCase() === 'x-mark'),
        host: req.headers.host,
      })
    req.on('error', () => {}).resume()
    res.end('from the origin')
  },
})

it(`random bytes, seed ${SEED}`, async () => {
  const random = seededRandom(SEED)
  const endMs = Date.now() + SECONDS * 1_000
  const statuses = new Set<string>()
  const originHost = new URL(edge.origin).host
  let sent = 0
  // Random bytes do get through to the origin, however busy the machine is.
  while (Date.now() < endMs || !statuses.has('200') || !statuses.has('400')) {
    assert(sent < 5_000 || (statuses.has('200') && statuses.has('400')), `only ${[...statuses]}`)
    heard = []
    const requests = Array.from({ length: 10 }, (_, at) => randomRequest(random, `${sent + at}`))
    const answers = await Promise.all(requests.map(send))
    for (const [at, answer] of answers.entries()) {
      const about = `seed ${SEED}: ${JSON.stringify(requests[at])} -> ${JSON.stringify(answer.slice(0, 300))}`
      assert.match(answer, /^(?:HTTP\/1\.1 [1-5]\d\d [\x20-\x7e]*\r\n|$)/, about)
      const status = answer.slice(9, 12)
      // 502 is said of an origin; this one is sound. 503 would be a fault of ours.
      assert.notEqual(status, '503', about)
      assert.notEqual(status, '500', about)
      assert.doesNotMatch(answer, /node:internal|\.ts:\d|ECONN|at \w+ \(/, about)
      // One connection carried one mark: whoever is heard with it was let through once.
      assert(heard.filter(({ marks }) => marks.includes(`${sent + at}`)).length <= 1, about)
      statuses.add(status)
    }
    for (const { host, marks } of heard) {
      assert.equal(host, originHost)
      // A request without the mark was smuggled in a body or a header.
      assert(marks.length === 1, `seed ${SEED}: the origin heard a request with the marks ${marks}`)
    }
    sent += requests.length
  }
  // It is still there, for people and crawlers.
  assert.equal((await edge.ask('/', { agent: PERSON, headers: { 'x-mark': 'end' } })).status, 200)
  assert.equal((await edge.ask('/')).status, 200)
})

/** What comes back until the edge ends the connection or is silent. */
async function send(bytes: string): Promise<string> {
  const socket = net.connect({ port: edge.port, host: '127.0.0.1', allowHalfOpen: true })
  let text = ''
  socket.on('error', () => {})
  socket.setTimeout(SILENCE_MS, () => socket.end())
  socket.on('data', (part: Buffer) => {
    text += part.toString('latin1')
  })
  socket.once('end', () => socket.end())
  socket.write(bytes, 'latin1')
  await once(socket, 'close')
  return text
}

/** One request with one mark in its headers, then bent in some places. Behind it, perhaps, what must stay a body. */
function randomRequest(random: Random, mark: string): string {
  const isBent = random() < 0.5
  const one = (list: readonly string[]) => pick(random, list)
  const method = one(['GET', 'GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'TRACE', 'CONNECT', 'get', 'X'])
  const target = one([
    ...['/', '/a', '/a?b=1', '//a', '/../a', '*', 'http://red.example/', 'http://blue.example'],
    ...['red.example:443', '/%00', '/%ff', `/${'a'.repeat(random() * 3_000)}`, '/a b', '/\xff', '/a\t', ''],
  ])
  const version = one(['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', '', 'http/1.1'])
  const hosts = ['blue.example', 'RED.EXAMPLE:80', 'nobody.example', 'red.example@x', '']
  const host = one(['red.example', 'red.example', ...hosts])
  // A bent length would make a request of its own out of it, and rightly so.
  const inner = isBent ? 'abcde' : 'GET /inner HTTP/1.1\r\nHost: blue.example\r\n\r\n'
  const framing = one([
    ...['', '', 'Content-Length: 0\r\n', `Content-Length: ${inner.length}\r\n`],
    ...['Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: x, chunked\r\n'],
    ...['Transfer-Encoding : chunked\r\n', 'Transfer-Encoding:\r\n chunked\r\n'],
    ...['Content-Length: 5\r\nContent-Length: 6\r\n', 'Content-Length: -1\r\n'],
    ...['Content-Length: 4\r\nTransfer-Encoding: chunked\r\n'],
    ...['Expect: 100-continue\r\nContent-Length: 3\r\n'],
    ...['Connection: content-length\r\nContent-Length: 3\r\n'],
    ...['Upgrade: websocket\r\nConnection: Upgrade\r\n', 'Upgrade: h2c\r\nConnection: Upgrade\r\n'],
  ])
  const agent = one([GOOGLEBOT, PERSON, '', 'x'.repeat(random() * 2_000)])
  const extra = one([
    ...['', 'Via: 1.1 prepaint\r\n', 'Range: bytes=0-0\r\n', 'Accept-Encoding: ,;q=x\r\n'],
    ...['Cookie: \xff\r\n', `A: ${'b'.repeat(9_000)}\r\n`],
  ])
  // Where a length is right or there are chunks, what follows is a body; else nothing follows.
  const body = framing.includes(`Content-Length: ${inner.length}`)
    ? inner
    : framing.includes('hunked')
      ? one(['0\r\n\r\n', `${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`, 'z\r\n', '5\r\nab'])
      : ''
  const text = `${method} ${target} ${version}\r\nHost: ${host}\r\nX-Mark: ${mark}\r\nUser-Agent: ${agent}\r\n${extra}${framing}\r\n${body}`
  return isBent ? bent(text, random) : text
}

/** Some bytes changed, doubled or left out; never the mark, by which the request is known. */
function bent(text: string, random: Random): string {
  let bytes = text
  for (let times = Math.ceil(random() * 4); times > 0; times--) {
    const at = Math.floor(random() * bytes.length)
    const markAt = bytes.indexOf('X-Mark')
    if (at >= markAt - 2 && at <= markAt + 20) continue
    // Line breaks and separators are where parsers disagree.
    const any = String.fromCharCode(random() * 256)
    const put = pick(random, ['\r', '\n', '\r\n', '\0', ' ', '\t', ':', ';', ',', '\x0b', '\x85', any])
    bytes = `${bytes.slice(0, at)}${put}${bytes.slice(at + (random() < 0.5 ? 1 : 0))}`
  }
  return bytes
}

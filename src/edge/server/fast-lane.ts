import { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { RequestHead } from './exchange.ts'

/** Writes a whole answer. null: the kernel has taken all of it; else an emitter of `close`, then or when the client goes. */
export type SendAnswer = (head: string, body: Buffer | null) => NodeJS.EventEmitter | null

export type HitLaneOptions = {
  /** For the first request of a connection. */
  headersMs: number
  /** Connections that have not read any of their answer for this long are closed. */
  idleMs: number
  /** A connection without a further request is closed after this time. */
  keepAliveMs: number
  /** False: it is not answered here, and nothing has been done. */
  answer(req: RequestHead, send: SendAnswer): boolean
  /** Node takes over the connection, with the bytes on it that were not answered. */
  handOver(socket: Socket): void
}

/** Node's own grace for requests that are on their way when the time is up. */
const GRACE_MS = 1_000

/** As node answers when no head comes in time. */
const TOO_SLOW = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n'

/**
 * Connections of HTTP/1.1, with or without TLS, on which only simple requests for hits come, one at a time: without
 * node's parser, streams and messages a hit costs two thirds. The first other request hands the connection over to
 * node, unread and for good.
 */
export function createHitLane(options: HitLaneOptions) {
  const { headersMs, idleMs, keepAliveMs, answer, handOver } = options
  /** How to end each connection. */
  const conversations = new Map<Socket, { endBehindAnswer(): void }>()
  let ending = false

  function take(socket: Socket): void {
    let answers = 0
    let going: EventEmitter | null = null
    let isLast = false

    function taken(): void {
      if (going === null) return
      going.emit('close')
      going = null
      if (isLast) socket.destroy()
      else if (conversations.has(socket)) socket.setTimeout(keepAliveMs + GRACE_MS)
    }

    const send: SendAnswer = (head, body) => {
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

    function read(bytes: Buffer): void {
      const isAlone = !ending && going === null
      const head = isAlone ? readSimpleHead(bytes) : null
      if (head === null || !isAnswered(head)) leave(bytes)
    }

    /** After a fault node answers the request: it meets the fault again, answers 503 and logs it. */
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
      // Node ends it: requests behind an answer under way are answered, too.
      isLast = false
      socket.off('data', read).off('end', end).off('error', fail).off('timeout', late).off('close', forget)
      // Nothing may be read between here and there.
      socket.pause()
      socket.unshift(bytes)
      handOver(socket)
      socket.resume()
    }

    function late(): void {
      if (answers > 0) return void socket.destroy()
      socket.off('data', read)
      socket.end(TOO_SLOW, () => socket.destroy())
    }
    const end = () => void socket.end()
    const fail = () => void socket.destroy()
    const forget = () => void conversations.delete(socket)

    /** A connection without a request so far may still send one, as with node. */
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
    /** From now on node answers, with `Connection: close`. */
    end(): void {
      ending = true
    },
    /** Closes connections between two requests at once, those with an answer under way behind it. */
    closeIdle(): void {
      for (const { endBehindAnswer } of conversations.values()) endBehindAnswer()
    },
    closeAll(): void {
      for (const socket of conversations.keys()) socket.destroy()
    },
  }
}

export type HitLane = ReturnType<typeof createHitLane>

/** A request without a body, read whole. */
export type SimpleHead = {
  method: 'GET' | 'HEAD'
  /** Begins with `/`. */
  url: string
  /** By name in lower case; `host` is there, and none came twice. */
  headers: IncomingHttpHeaders
}

/** Longer heads are read by node. */
export const SIMPLE_HEAD_BYTES = 8_192

/** Visible ASCII, spaces and tabs: a value cannot hold a line break. */
const SIMPLE =
  /^(GET|HEAD) (\/[\x21-\x7e]*) HTTP\/1\.1\r\n((?:[!#$%&'*+\-.^_`|~\dA-Za-z]+:[\t\x20-\x7e]*\r\n)+)\r\n$/

/** With these there may be a body, another protocol, or a wish about the connection; `__proto__` is no property. */
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
 * Reads a request head that every server of HTTP/1.1 reads alike (RFC 9112), with nothing behind it; null for all
 * others, valid or not: those are for node's parser. Each string is a copy: it may live as long as a page, and a slice
 * would keep the whole head in memory.
 */
export function readSimpleHead(bytes: Buffer): SimpleHead | null {
  if (bytes.length > SIMPLE_HEAD_BYTES) return null
  const text = bytes.toString('latin1')
  const parts = SIMPLE.exec(text)
  if (parts === null) return null
  // A name that every object has (`constructor`) counts as a repeated one.
  const headers: IncomingHttpHeaders = {}
  const end = text.length - 2
  for (let at = end - parts[3]!.length; at < end; ) {
    const [colon, next] = [text.indexOf(':', at), text.indexOf('\r', at)]
    const name = text.slice(at, colon).toLowerCase()
    if (NOT_SIMPLE.has(name) || headers[name] !== undefined) return null
    headers[name] = withoutSpace(bytes, colon + 1, next)
    at = next + 2
  }
  if (headers.host === undefined) return null
  const { connection } = headers
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return null
  const [method, target] = [parts[1] as SimpleHead['method'], parts[2]!]
  const targetAt = method.length + 1
  return { method, url: bytes.toString('latin1', targetAt, targetAt + target.length), headers }
}

/** Spaces and tabs around a value are not part of it (RFC 9112, section 5.1). */
function withoutSpace(bytes: Buffer, from: number, to: number): string {
  let [start, end] = [from, to]
  while (start < end && isSpace(bytes[start]!)) start++
  while (end > start && isSpace(bytes[end - 1]!)) end--
  return bytes.toString('latin1', start, end)
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09
}

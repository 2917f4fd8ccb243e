import { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { RequestHead } from './exchange.ts'

/**
 * Writes a whole answer. null: the kernel has taken it all; else something that says `close` when it has, or when the
 * client has gone.
 */
export type SendAnswer = (head: string, body: Buffer | null) => NodeJS.EventEmitter | null

export type HitLaneOptions = {
  /** For the first request of a connection. */
  headersMs: number
  /** A client may take nothing of its answer for so long. */
  idleMs: number
  /** A connection without a further request is closed after this time. */
  keepAliveMs: number
  /** False: it is not answered here, and nothing has been done about it. */
  answer(req: RequestHead, send: SendAnswer): boolean
  /** Node takes the connection, and what has come on it and was not answered, from here on. */
  handOver(socket: Socket): void
}

/** Node's own grace: a request that is on its way when the time is up still counts. */
const GRACE_MS = 1_000

/** As node says it where no head comes in time. */
const TOO_SLOW = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n'

/**
 * Connections of HTTP/1.1, TLS before them or not, for as long as nothing comes on them but simple requests for pages
 * that lie ready in memory, one at a time: without node's parser, streams and messages these cost two thirds. With the
 * first request that is anything else, the connection becomes one of node's, untouched and for good.
 */
export function createHitLane(options: HitLaneOptions) {
  const { headersMs, idleMs, keepAliveMs, answer, handOver } = options
  /** How to end each of them that has had an answer. */
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

    /** A fault is met again in the usual way, where the client is told of it and so is the log. */
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
      // Its end is node's to say: what is asked behind an answer under way is answered, too.
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

    /** One that never asked could still begin, as with node. */
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
    /** From now on node answers, which says that it is the last time. */
    end(): void {
      ending = true
    },
    /** Connections between two requests are closed, those with an answer under way behind it. */
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
  /** By name in lower case; `host` is there, and none was said twice. */
  headers: IncomingHttpHeaders
}

/** Longer ones are read by node. */
export const SIMPLE_HEAD_BYTES = 8_192

/** Visible ASCII, spaces and tabs: no line break can stand in a value, and nothing is left to guess. */
const SIMPLE =
  /^(GET|HEAD) (\/[\x21-\x7e]*) HTTP\/1\.1\r\n((?:[!#$%&'*+\-.^_`|~\dA-Za-z]+:[\t\x20-\x7e]*\r\n)+)\r\n$/

/** With any of these there may be a body, another protocol, or a wish about the connection; the first is no property. */
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
 * Reads a request head that every server of HTTP/1.1 reads alike (RFC 9112), and that nothing stands behind; null for
 * all others, right or wrong: those are for node's parser. Each text of it has memory of its own: it may be kept for as
 * long as a page, and a part of the whole head would keep the whole.
 */
export function readSimpleHead(bytes: Buffer): SimpleHead | null {
  if (bytes.length > SIMPLE_HEAD_BYTES) return null
  const text = bytes.toString('latin1')
  const parts = SIMPLE.exec(text)
  if (parts === null) return null
  // A name that every object has (`constructor`) counts as said before.
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

/** Spaces and tabs around a value are not its own (RFC 9112, section 5.1). */
function withoutSpace(bytes: Buffer, from: number, to: number): string {
  let [start, end] = [from, to]
  while (start < end && isSpace(bytes[start]!)) start++
  while (end > start && isSpace(bytes[end - 1]!)) end--
  return bytes.toString('latin1', start, end)
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09
}

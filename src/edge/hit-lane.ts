import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'

import { readSimpleHead, type SimpleHead } from '../http/simple-head.ts'
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

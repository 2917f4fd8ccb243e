import type { Readable, Writable } from 'node:stream'

import type { Protocol } from 'devtools-protocol'
import type { ProtocolMapping } from 'devtools-protocol/types/protocol-mapping.js'

type Commands = ProtocolMapping.Commands
type Events = ProtocolMapping.Events

/** What somebody wants to hear, by the protocol's own names. */
export type CdpListeners = { [E in keyof Events]?: (params: Events[E][0]) => void }

/**
 * One conversation with Chromium: with the browser itself, or (flattened, over
 * the same pipe) with one page. Commands are answered in the order sent.
 */
export type CdpSession = {
  /** Rejects with `CdpError` when Chromium refuses, with `CdpClosed` when the pipe has ended. */
  send<M extends keyof Commands>(
    method: M,
    ...params: Commands[M]['paramsType']
  ): Promise<Commands[M]['returnType']>
  /**
   * Replaces what was listened to before in this session. `limit` is for all that is told from now on, of
   * this session and of the workers that were attached through it, whether anybody listens or not.
   */
  listen(listeners: CdpListeners, limit?: EventLimit): void
}

/** How much Chromium may tell of a page; `exceeded` is called once. */
type EventLimit = { bytes: number; exceeded(): void }

export type CdpConnection = {
  readonly browser: CdpSession
  /** The session that `Target.attachToTarget` named. */
  session(sessionId: string): CdpSession
  /** Forget a session: its open commands reject, its events are dropped. */
  endSession(sessionId: string): void
  /** Resolves once, when the pipe has ended, with the reason. Never rejects. */
  readonly closed: Promise<string>
}

export class CdpError extends Error {
  override name = 'CdpError'
}

/** The browser or the page is gone; whatever was asked will never be answered. */
export class CdpClosed extends Error {
  override name = 'CdpClosed'
}

/** A snapshot has its own, smaller limit; what is above this is a broken or hostile browser. */
const MESSAGE_LIMIT_BYTES = 128 * 1024 * 1024
/** An event holds what a page has written, as an address of `data:` or a line of its console: a larger one is not read. */
export const EVENT_LIMIT_BYTES = 8 * 1024 * 1024
/** Chromium writes the session last, after all that comes from the page. */
const SESSION_AT_END = /"sessionId":"([^"]+)"\}$/
const END_BYTES = 100
const EVENT_START = '{"method"'

type Waiting = {
  sessionId: string
  method: string
  resolve(result: never): void
  reject(error: Error): void
}

type Message = {
  id?: number
  sessionId?: string
  method?: keyof Events
  params?: never
  result?: never
  error?: { message: string; data?: string }
}

/** Speaks the DevTools protocol over the pair of pipes of `--remote-debugging-pipe`: JSON, each ended by NUL. */
export function connectCdp(toBrowser: Writable, fromBrowser: Readable): CdpConnection {
  const waiting = new Map<number, Waiting>()
  const listeners = new Map<string, CdpListeners>()
  const limits = new Map<string, EventLimit & { told: number }>()
  /** Of a worker's session: the one that it was attached through. */
  const parents = new Map<string, string>()
  const { promise: closed, resolve: tellClosed } = Promise.withResolvers<string>()
  let lastId = 0
  /** Said in this moment: together they wake Chromium once. */
  let unsent = ''
  let closedWhy: string | null = null

  const close = (why: string) => {
    if (closedWhy !== null) return
    closedWhy = why
    for (const { method, reject } of waiting.values()) reject(new CdpClosed(`${method}: ${why}`))
    waiting.clear()
    listeners.clear()
    limits.clear()
    parents.clear()
    toBrowser.destroy()
    fromBrowser.destroy()
    tellClosed(why)
  }

  const flush = () => {
    if (closedWhy === null) toBrowser.write(unsent)
    unsent = ''
  }

  const count = (sessionId: string, bytes: number) => {
    let root = sessionId
    for (let parent = parents.get(root); parent !== undefined; parent = parents.get(root)) root = parent
    const limit = limits.get(root)
    if (limit === undefined) return
    const before = limit.told
    limit.told += bytes
    if (before <= limit.bytes && limit.told > limit.bytes) limit.exceeded()
  }
  const forget = (sessionId: string) => {
    listeners.delete(sessionId)
    limits.delete(sessionId)
    parents.delete(sessionId)
    for (const [worker, parent] of parents) if (parent === sessionId) forget(worker)
  }

  const receive = (text: string, bytes: number) => {
    let message: Message
    try {
      message = JSON.parse(text)
    } catch {
      return close('a message is not JSON')
    }
    if (message.id === undefined) {
      const { method, sessionId = '', params } = message
      if (method === undefined) return
      if (method === 'Target.attachedToTarget' && sessionId !== '') {
        const attached: Protocol.Target.AttachedToTargetEvent = params as never
        parents.set(attached.sessionId, sessionId)
      }
      count(sessionId, bytes)
      listeners.get(sessionId)?.[method]?.(params as never)
      if (method === 'Target.detachedFromTarget') {
        const detached: Protocol.Target.DetachedFromTargetEvent = params as never
        forget(detached.sessionId)
      }
      return
    }
    const asked = waiting.get(message.id)
    if (asked === undefined) return
    waiting.delete(message.id)
    if (message.error === undefined) asked.resolve(message.result as never)
    else asked.reject(new CdpError(`${asked.method}: ${message.error.message} ${message.error.data ?? ''}`))
  }

  readMessages(fromBrowser, { receive, skipped: count, close })
  toBrowser.on('error', (error) => close(error.message))

  const session = (sessionId: string): CdpSession => ({
    send: (method, ...[params]) =>
      new Promise((resolve, reject) => {
        if (closedWhy !== null) return reject(new CdpClosed(`${method}: ${closedWhy}`))
        const id = ++lastId
        waiting.set(id, { sessionId, method, resolve, reject })
        const message = { id, method, params, ...(sessionId === '' ? {} : { sessionId }) }
        if (unsent === '') process.nextTick(flush)
        unsent += `${JSON.stringify(message)}\0`
      }),
    listen: (wanted, limit) => {
      if (closedWhy !== null) return
      listeners.set(sessionId, wanted)
      if (limit === undefined) limits.delete(sessionId)
      else limits.set(sessionId, { ...limit, told: 0 })
    },
  })

  return {
    browser: session(''),
    session,
    endSession: (sessionId) => {
      forget(sessionId)
      for (const [id, asked] of waiting) {
        if (asked.sessionId !== sessionId) continue
        waiting.delete(id)
        asked.reject(new CdpClosed(`${asked.method}: the page is gone`))
      }
    },
    closed,
  }
}

/**
 * Cuts the byte stream at each NUL. Chunks are joined once a message, so a large one costs its size only;
 * of an event that is over its limit nothing is kept but its end.
 */
function readMessages(
  from: Readable,
  on: {
    receive(text: string, bytes: number): void
    skipped(sessionId: string, bytes: number): void
    close(why: string): void
  },
): void {
  let chunks: Buffer[] = []
  let bytes = 0
  let isSkipped = false

  const add = (part: Buffer) => {
    bytes += part.length
    chunks.push(part)
    if (isSkipped) chunks = [Buffer.concat(chunks).subarray(-END_BYTES)]
    else if (bytes > EVENT_LIMIT_BYTES && bytes - part.length <= EVENT_LIMIT_BYTES) {
      const whole = Buffer.concat(chunks)
      isSkipped = whole.toString('latin1', 0, EVENT_START.length) === EVENT_START
      chunks = [isSkipped ? whole.subarray(-END_BYTES) : whole]
    }
  }
  const finish = () => {
    const text = (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString('utf8')
    if (isSkipped) on.skipped(SESSION_AT_END.exec(text)?.[1] ?? '', bytes)
    else on.receive(text, bytes)
    chunks = []
    bytes = 0
    isSkipped = false
  }

  from.on('data', (data: Buffer) => {
    let rest = data
    for (let end = rest.indexOf(0); end !== -1; end = rest.indexOf(0)) {
      add(rest.subarray(0, end))
      finish()
      rest = rest.subarray(end + 1)
    }
    if (rest.length > 0) add(rest)
    if (!isSkipped && bytes > MESSAGE_LIMIT_BYTES) on.close('a message is over the limit')
  })
  from.on('end', () => on.close('the pipe has ended'))
  from.on('close', () => on.close('the pipe has ended'))
  from.on('error', (error) => on.close(error.message))
}

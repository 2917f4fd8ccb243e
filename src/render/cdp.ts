import type { Readable, Writable } from 'node:stream'

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
  /** Replaces what was listened to before in this session. */
  listen(listeners: CdpListeners): void
}

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
  const { promise: closed, resolve: tellClosed } = Promise.withResolvers<string>()
  let lastId = 0
  let closedWhy: string | null = null

  const close = (why: string) => {
    if (closedWhy !== null) return
    closedWhy = why
    for (const { method, reject } of waiting.values()) reject(new CdpClosed(`${method}: ${why}`))
    waiting.clear()
    listeners.clear()
    toBrowser.destroy()
    fromBrowser.destroy()
    tellClosed(why)
  }

  const receive = (text: string) => {
    let message: Message
    try {
      message = JSON.parse(text)
    } catch {
      return close('a message is not JSON')
    }
    if (message.id === undefined) {
      if (message.method === undefined) return
      listeners.get(message.sessionId ?? '')?.[message.method]?.(message.params as never)
      return
    }
    const asked = waiting.get(message.id)
    if (asked === undefined) return
    waiting.delete(message.id)
    if (message.error === undefined) asked.resolve(message.result as never)
    else asked.reject(new CdpError(`${asked.method}: ${message.error.message} ${message.error.data ?? ''}`))
  }

  readMessages(fromBrowser, receive, close)
  toBrowser.on('error', (error) => close(error.message))

  const session = (sessionId: string): CdpSession => ({
    send: (method, ...[params]) =>
      new Promise((resolve, reject) => {
        if (closedWhy !== null) return reject(new CdpClosed(`${method}: ${closedWhy}`))
        const id = ++lastId
        waiting.set(id, { sessionId, method, resolve, reject })
        const message = { id, method, params, ...(sessionId === '' ? {} : { sessionId }) }
        toBrowser.write(`${JSON.stringify(message)}\0`)
      }),
    listen: (wanted) => {
      if (closedWhy === null) listeners.set(sessionId, wanted)
    },
  })

  return {
    browser: session(''),
    session,
    endSession: (sessionId) => {
      listeners.delete(sessionId)
      for (const [id, asked] of waiting) {
        if (asked.sessionId !== sessionId) continue
        waiting.delete(id)
        asked.reject(new CdpClosed(`${asked.method}: the page is gone`))
      }
    },
    closed,
  }
}

/** Cuts the byte stream at each NUL. Chunks are joined once a message, so a large one costs its size only. */
function readMessages(from: Readable, receive: (text: string) => void, close: (why: string) => void): void {
  let chunks: Buffer[] = []
  let bytes = 0
  from.on('data', (data: Buffer) => {
    let rest = data
    for (let end = rest.indexOf(0); end !== -1; end = rest.indexOf(0)) {
      const last = rest.subarray(0, end)
      const whole = chunks.length === 0 ? last : Buffer.concat([...chunks, last])
      chunks = []
      bytes = 0
      rest = rest.subarray(end + 1)
      receive(whole.toString('utf8'))
    }
    if (rest.length === 0) return
    chunks.push(rest)
    bytes += rest.length
    if (bytes > MESSAGE_LIMIT_BYTES) close('a message is over the limit')
  })
  from.on('end', () => close('the pipe has ended'))
  from.on('close', () => close('the pipe has ended'))
  from.on('error', (error) => close(error.message))
}

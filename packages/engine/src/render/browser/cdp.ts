import type { Readable, Writable } from 'node:stream'

import type { Protocol } from 'devtools-protocol'
import type { ProtocolMapping } from 'devtools-protocol/types/protocol-mapping.js'

type Commands = ProtocolMapping.Commands
type Events = ProtocolMapping.Events

export type CdpListeners = { [E in keyof Events]?: (params: Events[E][0]) => void }

/** A session with the browser or with one page, over the same pipe. Chromium answers commands in order. */
export type CdpSession = {
  /** Rejects with `CdpError` when Chromium refuses, with `CdpClosed` when the pipe has ended. */
  send<M extends keyof Commands>(
    method: M,
    ...params: Commands[M]['paramsType']
  ): Promise<Commands[M]['returnType']>
  /** Replaces this session's listeners. `limit` includes events of workers attached through it. */
  listen(listeners: CdpListeners, limit?: EventLimit): void
}

type EventLimit = { bytes: number; exceeded(): void }

/** Chromium spends as much on a small event as on one of this size. */
const EVENT_COST_BYTES = 2 * 1024

export type CdpConnection = {
  readonly browser: CdpSession
  session(sessionId: string): CdpSession
  /** Rejects the session's open commands and drops its events. */
  endSession(sessionId: string): void
  readonly closed: Promise<string>
}

export class CdpError extends Error {
  override name = 'CdpError'
}

export class CdpClosed extends Error {
  override name = 'CdpClosed'
}

/** Far above the limit of snapshots: the browser is broken or hostile. */
const MESSAGE_LIMIT_BYTES = 128 * 1024 * 1024
/** Larger events are skipped. They hold page data, such as a `data:` address or a console line. */
export const EVENT_LIMIT_BYTES = 8 * 1024 * 1024
/** Chromium writes the session last, after all page data. */
const SESSION_AT_END = /"sessionId":"([^"]+)"\}$/
const END_BYTES = 100
const EVENT_START = '{"method"'

type Command = {
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

/** Speaks the DevTools protocol of `--remote-debugging-pipe`: JSON messages, each ended by NUL. */
export function connectCdp(toBrowser: Writable, fromBrowser: Readable): CdpConnection {
  return new Connection(toBrowser, fromBrowser)
}

class Connection implements CdpConnection {
  readonly browser: CdpSession
  readonly closed: Promise<string>
  readonly #tellClosed: (why: string) => void
  readonly #toBrowser: Writable
  readonly #fromBrowser: Readable
  readonly #commands = new Map<number, Command>()
  readonly #listeners = new Map<string, CdpListeners>()
  readonly #limits = new Map<string, EventLimit & { received: number }>()
  readonly #parents = new Map<string, string>()
  #lastId = 0
  #unsent = ''
  #closedWhy: string | null = null

  constructor(toBrowser: Writable, fromBrowser: Readable) {
    const { promise, resolve } = Promise.withResolvers<string>()
    this.closed = promise
    this.#tellClosed = resolve
    this.#toBrowser = toBrowser
    this.#fromBrowser = fromBrowser
    this.browser = this.session('')
    toBrowser.on('error', (error) => this.#close(error.message))
    readMessages(fromBrowser, {
      received: (text, bytes) => this.#receive(text, bytes),
      skipped: (sessionId, bytes) => this.#count(sessionId, bytes),
      closed: (why) => this.#close(why),
    })
  }

  session(sessionId: string): CdpSession {
    return {
      send: (method, ...[params]) =>
        new Promise((resolve, reject) => {
          if (this.#closedWhy !== null) return reject(new CdpClosed(`${method}: ${this.#closedWhy}`))
          const id = ++this.#lastId
          this.#commands.set(id, { sessionId, method, resolve, reject })
          const message = { id, method, params, sessionId: sessionId === '' ? undefined : sessionId }
          if (this.#unsent === '') process.nextTick(() => this.#flush())
          this.#unsent += `${JSON.stringify(message)}\0`
        }),
      listen: (listeners, limit) => {
        if (this.#closedWhy !== null) return
        this.#listeners.set(sessionId, listeners)
        if (limit === undefined) this.#limits.delete(sessionId)
        else this.#limits.set(sessionId, { ...limit, received: 0 })
      },
    }
  }

  endSession(sessionId: string): void {
    this.#forget(sessionId)
    for (const [id, command] of this.#commands) {
      if (command.sessionId !== sessionId) continue
      this.#commands.delete(id)
      command.reject(new CdpClosed(`${command.method}: the page is gone`))
    }
  }

  #flush(): void {
    if (this.#closedWhy === null) this.#toBrowser.write(this.#unsent)
    this.#unsent = ''
  }

  #close(why: string): void {
    if (this.#closedWhy !== null) return
    this.#closedWhy = why
    for (const { method, reject } of this.#commands.values()) reject(new CdpClosed(`${method}: ${why}`))
    for (const map of [this.#commands, this.#listeners, this.#limits, this.#parents]) map.clear()
    this.#toBrowser.destroy()
    this.#fromBrowser.destroy()
    this.#tellClosed(why)
  }

  #receive(text: string, bytes: number): void {
    let message: Message
    try {
      message = JSON.parse(text)
    } catch {
      this.#close('a message is not JSON')
      return
    }
    if (message.id === undefined) {
      this.#receiveEvent(message, bytes)
      return
    }
    const command = this.#commands.get(message.id)
    if (command === undefined) return
    this.#commands.delete(message.id)
    const { error } = message
    if (error === undefined) command.resolve(message.result as never)
    else command.reject(new CdpError(`${command.method}: ${error.message} ${error.data ?? ''}`))
  }

  #receiveEvent({ method, sessionId = '', params }: Message, bytes: number): void {
    if (method === undefined) return
    if (method === 'Target.attachedToTarget' && sessionId !== '') {
      const attached: Protocol.Target.AttachedToTargetEvent = params as never
      this.#parents.set(attached.sessionId, sessionId)
    }
    this.#count(sessionId, bytes)
    this.#listeners.get(sessionId)?.[method]?.(params as never)
    if (method === 'Target.detachedFromTarget') {
      const detached: Protocol.Target.DetachedFromTargetEvent = params as never
      this.#forget(detached.sessionId)
    }
  }

  #count(sessionId: string, bytes: number): void {
    let root = sessionId
    for (let parent = this.#parents.get(root); parent !== undefined; parent = this.#parents.get(root))
      root = parent
    const limit = this.#limits.get(root)
    if (limit === undefined) return
    const before = limit.received
    limit.received += Math.max(bytes, EVENT_COST_BYTES)
    if (before <= limit.bytes && limit.received > limit.bytes) limit.exceeded()
  }

  #forget(sessionId: string): void {
    this.#listeners.delete(sessionId)
    this.#limits.delete(sessionId)
    this.#parents.delete(sessionId)
    for (const [worker, parent] of this.#parents) if (parent === sessionId) this.#forget(worker)
  }
}

/** Keeps only the end of an event over its limit, which names the session. */
function readMessages(
  from: Readable,
  on: {
    received(text: string, bytes: number): void
    skipped(sessionId: string, bytes: number): void
    closed(why: string): void
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
    else on.received(text, bytes)
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
    if (!isSkipped && bytes > MESSAGE_LIMIT_BYTES) on.closed('a message is over the limit')
  })
  from.on('end', () => on.closed('the pipe has ended'))
  from.on('close', () => on.closed('the pipe has ended'))
  from.on('error', (error) => on.closed(error.message))
}

import type { Server } from 'node:http'
import net from 'node:net'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'

/** Starts when closing begins. */
export type Deadline = {
  signal: AbortSignal
  remainingMs(): number
}

type Close = (deadline: Deadline) => Promise<void>

/** The open parts of a node. They close in reverse order of adding; those that fail to close are logged. */
export class ClosingStack {
  readonly #clock: Clock
  readonly #log: Log
  readonly #opened: { what: string; close: Close }[] = []

  constructor(clock: Clock, log: Log) {
    this.#clock = clock
    this.#log = log
  }

  add(what: string, close: Close): void {
    this.#opened.push({ what, close })
  }

  /** Closes all parts, which share the time. */
  async closeAll(withinMs: number): Promise<void> {
    const endMs = this.#clock.nowMs() + withinMs
    const deadline: Deadline = {
      signal: AbortSignal.timeout(withinMs),
      remainingMs: () => Math.max(0, endMs - this.#clock.nowMs()),
    }
    for (let part = this.#opened.pop(); part !== undefined; part = this.#opened.pop()) {
      try {
        this.#log.debug({ part: part.what }, 'closing')
        await part.close(deadline)
      } catch (error) {
        this.#log.error({ err: error, part: part.what }, 'did not close')
      }
    }
  }
}

const POLL_MS = 50
/** Requests that arrive when draining begins still get a response. */
const LAST_REQUESTS_MS = 200

/** A server, with the TLS server beside it. `drain` cuts everything that is left at its deadline, also upgraded connections. */
export class DrainableServer {
  readonly #server: Server
  readonly #servers: readonly net.Server[]
  readonly #begin: () => void
  readonly #sockets = new Set<net.Socket>()

  /** Call it before the servers listen. `begin` tells clients about the shutdown. */
  constructor(
    server: Server,
    { secure = null, begin = () => {} }: { secure?: net.Server | null; begin?: () => void } = {},
  ) {
    this.#server = server
    this.#servers = secure === null ? [server] : [server, secure]
    this.#begin = begin
    for (const each of this.#servers) {
      each.on('connection', (socket: net.Socket) => {
        this.#sockets.add(socket)
        socket.once('close', () => this.#sockets.delete(socket))
      })
    }
  }

  async drain({ signal: deadline }: Deadline): Promise<void> {
    const listening = this.#servers.filter((each) => each.listening)
    if (listening.length === 0) return
    this.#begin()
    // The kernel resets connections that wait to be accepted when their port closes: accept them first.
    await polled()
    const closed = Promise.all(listening.map(stopListening))
    let polls = LAST_REQUESTS_MS / POLL_MS
    // Repeated, because busy connections become idle after their response.
    const idle = setInterval(() => {
      polls--
      // On a busy machine a request may have waited for longer than this timer: read it first.
      if (polls <= 0) setImmediate(() => this.#closeIdle())
    }, POLL_MS)
    const cut = () => {
      for (const socket of this.#sockets) socket.destroy()
    }
    if (deadline.aborted) cut()
    deadline.addEventListener('abort', cut)
    await closed
    clearInterval(idle)
    deadline.removeEventListener('abort', cut)
  }

  #closeIdle(): void {
    // Node counts a response as finished before it is sent.
    const isSending = [...this.#sockets].some(({ writableLength }) => writableLength > 0)
    if (!isSending) this.#server.closeIdleConnections()
    // Node does not count a connection without a request as idle.
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy()
  }
}

/** Resolves when all that the process has received by now is read. */
function polled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** The servers' own `close` would cut connections on which a request is arriving. */
function stopListening(server: net.Server): Promise<unknown> {
  return new Promise((resolve) => net.Server.prototype.close.call(server, resolve))
}

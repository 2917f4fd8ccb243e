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

/** Returns a drain for the servers, which cuts everything that is left at its deadline, also upgraded connections. `begin` tells clients about the shutdown. */
export function drainable(
  server: Server,
  { secure = null, begin = () => {} }: { secure?: net.Server | null; begin?: () => void } = {},
): { drain(deadline: Deadline): Promise<void> } {
  const servers = secure === null ? [server] : [server, secure]
  const sockets = new Set<net.Socket>()
  for (const each of servers) {
    each.on('connection', (socket: net.Socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    })
  }
  return {
    async drain({ signal: deadline }) {
      const listening = servers.filter((each) => each.listening)
      if (listening.length === 0) return
      begin()
      // The servers' own `close` would cut connections on which a request is arriving.
      const closed = Promise.all(
        listening.map((each) => new Promise((resolve) => net.Server.prototype.close.call(each, resolve))),
      )
      let polls = LAST_REQUESTS_MS / POLL_MS
      // Repeated, because busy connections become idle after their response.
      const idle = setInterval(() => {
        if (--polls > 0) return
        // Node counts a response as finished before it is sent.
        if (![...sockets].some(({ writableLength }) => writableLength > 0)) server.closeIdleConnections()
        // Node does not count a connection without a request as idle.
        for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
      }, POLL_MS)
      const cut = () => {
        for (const socket of sockets) socket.destroy()
      }
      if (deadline.aborted) cut()
      deadline.addEventListener('abort', cut)
      await closed
      clearInterval(idle)
      deadline.removeEventListener('abort', cut)
    },
  }
}

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

/** Closes in reverse order of adding. Logs parts that fail to close. */
export function createClosingStack(deps: { clock: Clock; log: Log }): {
  add(what: string, close: Close): void
  closeAll(withinMs: number): Promise<void>
} {
  const { clock, log } = deps
  const opened: { what: string; close: Close }[] = []
  return {
    add: (what, close) => opened.push({ what, close }),
    async closeAll(withinMs) {
      const endMs = clock.nowMs() + withinMs
      const deadline: Deadline = {
        signal: AbortSignal.timeout(withinMs),
        remainingMs: () => Math.max(0, endMs - clock.nowMs()),
      }
      for (let part = opened.pop(); part !== undefined; part = opened.pop()) {
        try {
          log.debug({ part: part.what }, 'closing')
          await part.close(deadline)
        } catch (error) {
          log.error({ err: error, part: part.what }, 'did not close')
        }
      }
    },
  }
}

const POLL_MS = 50
/** Requests that arrive when draining begins still get a response. */
const LAST_REQUESTS_MS = 200

/** At `deadline` cuts everything left, also upgraded connections. `begin` tells clients about the shutdown. */
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

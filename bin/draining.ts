import type { Server } from 'node:http'
import net from 'node:net'

import type { Deadline } from './closing-stack.ts'

const LOOK_EVERY_MS = 50
/** For requests that are on their way when the end begins: they are answered, and told that they were the last. */
const LAST_WORD_MS = 200

/**
 * Stops a server in order: no new connections, answers that are under way
 * finish, idle connections end. `deadline` cuts off what is left, upgraded
 * connections too, which node:http no longer counts as its own. `secure` takes
 * connections of TLS for the same server; `begin` tells clients that this is the end.
 */
export function drainable(
  server: Server,
  { secure = null, begin = () => {} }: { secure?: net.Server | null; begin?: () => void } = {},
): { drain(deadline: Deadline): Promise<void> } {
  const doors = secure === null ? [server] : [server, secure]
  const sockets = new Set<net.Socket>()
  for (const door of doors) {
    door.on('connection', (socket: net.Socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    })
  }
  return {
    async drain({ signal: deadline }) {
      const listening = doors.filter((door) => door.listening)
      if (listening.length === 0) return
      begin()
      // No new connections. The servers' own `close` would cut those at once on which a request is just arriving.
      const closed = Promise.all(
        listening.map((door) => new Promise((resolve) => net.Server.prototype.close.call(door, resolve))),
      )
      let looks = LAST_WORD_MS / LOOK_EVERY_MS
      // A connection that was busy just now is idle after its answer, and would wait for another request.
      const idle = setInterval(() => {
        if (--looks > 0) return
        // To node an answer is over when it has been given whole, however much of it has not gone out.
        if (![...sockets].some(isSending)) server.closeIdleConnections()
        // To node one that never asked for anything is not idle: it could still begin.
        for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
      }, LOOK_EVERY_MS)
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

function isSending({ writableLength }: net.Socket): boolean {
  return writableLength > 0
}

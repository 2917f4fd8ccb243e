import type { Server } from 'node:http'
import type { Socket } from 'node:net'

import type { Deadline } from './closing-stack.ts'

const LOOK_EVERY_MS = 50

/**
 * Stops a server in order: no new connections, answers that are under way
 * finish, idle connections end. `deadline` cuts off what is left, upgraded
 * connections too, which node:http no longer counts as its own.
 */
export function drainable(server: Server): { drain(deadline: Deadline): Promise<void> } {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return {
    async drain({ signal: deadline }) {
      if (!server.listening) return
      const { promise: closed, resolve } = Promise.withResolvers<void>()
      server.close(() => resolve())
      // A connection that was busy just now is idle after its answer, and would wait for another request.
      const idle = setInterval(() => {
        server.closeIdleConnections()
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

import type http from 'node:http'
import type { Socket } from 'node:net'

/** Requests of one connection that wait behind one which is not answered yet; as many as HTTP/2 has streams. */
export const MOST_PIPELINED = 100

const behind = new WeakMap<Socket, number>()

/**
 * Whether a request may wait behind those before it on its connection (RFC 9112, section 9.3.2). Nobody has to
 * pipeline, browsers do not, and each that waits takes memory: of one client who is not limited otherwise it would be as
 * much as he likes. For all other requests this costs a comparison.
 */
export function mayWait(req: http.IncomingMessage, res: http.ServerResponse): boolean {
  // Node gives an answer its connection when it is its turn.
  if (res.socket !== null) return true
  const count = behind.get(req.socket) ?? 0
  if (count >= MOST_PIPELINED) return false
  behind.set(req.socket, count + 1)
  res.once('socket', () => behind.set(req.socket, (behind.get(req.socket) ?? 1) - 1))
  return true
}

import { subscribe } from 'node:diagnostics_channel'
import type http from 'node:http'
import net from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

// Test support: bytes that no HTTP client would send.

/** How long an edge that waits for more of a request is given before the client ends its half. */
const SILENCE_MS = 300
/** Longer than any answer takes: for requests that are whole, and end their connection. */
export const UNTIL_ANSWERED_MS = 20_000

/** Requests without an answer, by the port that their client has: each server of this process tells of them. */
const unanswered = new Map<number | undefined, Set<http.IncomingMessage>>()
subscribe('http.server.request.start', (message) => {
  const { request } = message as { request: http.IncomingMessage }
  const { remotePort } = request.socket
  const before = unanswered.get(remotePort)
  if (before !== undefined) return void before.add(request)
  unanswered.set(remotePort, new Set([request]))
  request.socket.once('close', () => unanswered.delete(remotePort))
})
subscribe('http.server.response.finish', (message) => {
  const { request } = message as { request: http.IncomingMessage }
  unanswered.get(request.socket.remotePort)?.delete(request)
})

/**
 * Writes bytes (Latin-1) on a connection of its own and gives everything that comes
 * back. When the edge waits for more the client ends its half, as an attacker whose
 * bytes are all sent; not while a whole request waits for its answer, however long
 * that is in coming on a slow machine.
 */
export async function rawExchange(
  port: number,
  bytes: string,
  silenceMs: number = SILENCE_MS,
): Promise<string> {
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const ended = new Promise<void>((resolve) => {
    socket.once('end', resolve).once('close', () => resolve())
  })
  const parts: Buffer[] = []
  socket.on('error', () => {})
  socket.on('data', (part: Buffer) => parts.push(part))
  socket.write(bytes, 'latin1')
  const over = new AbortController()
  const isAnswered = () => ![...(unanswered.get(socket.localPort) ?? [])].some(({ complete }) => complete)
  const endInSilence = async () => {
    do {
      await delay(silenceMs, undefined, { signal: over.signal })
      // What was written has been read by then, however late this timer is.
      for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
    } while (!isAnswered())
    socket.end()
  }
  endInSilence().catch(() => {})
  await ended
  over.abort()
  socket.destroy()
  return Buffer.concat(parts).toString('latin1')
}

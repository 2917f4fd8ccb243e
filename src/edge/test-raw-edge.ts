import net from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

// Test support: bytes that no HTTP client would send.

/** How long an edge that waits for more of a request is given before the client ends its half. */
const SILENCE_MS = 300
/** Longer than any answer takes: for requests that are whole, and end their connection. */
export const UNTIL_ANSWERED_MS = 20_000

/**
 * Writes bytes (Latin-1) on a connection of its own and gives everything that comes
 * back. When the edge waits for more the client ends its half, as an attacker whose
 * bytes are all sent.
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
  void delay(silenceMs, undefined, { signal: over.signal }).then(
    () => socket.end(),
    () => {},
  )
  await ended
  over.abort()
  socket.destroy()
  return Buffer.concat(parts).toString('latin1')
}

import { subscribe } from 'node:diagnostics_channel'
import type http from 'node:http'
import net from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** The client ends its half after the edge has waited this long for more. */
const SILENCE_MS = 300
/** Longer than any response takes: for whole requests that end their connection. */
export const UNTIL_ANSWERED_MS = 20_000

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

/** The client ends its half when the edge waits for more bytes, but not while a whole request is being answered. */
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
      // Everything written has been read by then, however late this timer is.
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

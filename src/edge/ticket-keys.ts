import { randomBytes } from 'node:crypto'
import type tls from 'node:tls'

/** What seals session tickets: name, HMAC and AES keys in one. */
const KEY_BYTES = 48
const KEPT_MS = 12 * 3_600_000

/**
 * Gives a TLS server a new key for its session tickets twice a day. A ticket of
 * the one before, or of another node, costs a whole handshake, and no more: a
 * key that nodes share would have to be stored, and whoever found it could read
 * what was said in the sessions of TLS 1.2 that it sealed.
 */
export function renewTicketKeys(
  server: Pick<tls.Server, 'setTicketKeys'>,
  everyMs = KEPT_MS,
): { close(): void } {
  const timer = setInterval(() => server.setTicketKeys(randomBytes(KEY_BYTES)), everyMs)
  timer.unref()
  return { close: () => clearInterval(timer) }
}

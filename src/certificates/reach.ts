import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import tls from 'node:tls'

import type { AddressGuard } from '../gateway/address-guard.ts'
import { ConnectError, guardedConnect } from '../gateway/guarded-connect.ts'
import { ACME_TLS, alpnDigest } from './alpn-certificate.ts'
import { CHALLENGE_PREFIX, type Challenge, type ChallengeKind } from './challenge.ts'

export type ReachDeps = {
  guard: AddressGuard
  /** Where CAs ask. */
  ports?: { http: number; tls: number }
  timeoutMs?: number
}

export type Reach = { kind: ChallengeKind } | { unreachable: string }

const ANSWER_LIMIT_BYTES = 16_384

/**
 * Asks under the domain's name as a CA would, for a random word that is
 * published beforehand: so no order is wasted on a name that does not lead to
 * this fleet. Says by which challenge a CA will succeed: on the plain port, else
 * within a TLS handshake. Every address passes the guard.
 */
export async function reachesUs(
  { guard, ports = { http: 80, tls: 443 }, timeoutMs = 10_000 }: ReachDeps,
  name: string,
  publish: (challenge: Challenge) => Promise<void>,
  signal: AbortSignal,
): Promise<Reach> {
  const token = randomBytes(24).toString('base64url')
  const word = `${token}.${randomBytes(24).toString('base64url')}`
  const connect = (port: number) => guardedConnect({ host: name, port, guard, timeoutMs, signal })

  try {
    await publish({ kind: 'http-01', token, keyAuthorization: word })
    if (await withSocket(connect(ports.http), askPlain)) return { kind: 'http-01' }
    await publish({ kind: 'tls-alpn-01', token, keyAuthorization: word })
    if (await withSocket(connect(ports.tls), askTls)) return { kind: 'tls-alpn-01' }
    return {
      unreachable: `${name} leads to a server that is not this service, on port ${ports.http} and ${ports.tls}`,
    }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ConnectError && error.fault !== 'unreachable' && error.fault !== 'timed-out') {
      return { unreachable: FAULTS[error.fault](name) }
    }
    throw error
  }

  /** Whether the word is there; false also when nobody answers. */
  async function withSocket(
    opening: Promise<Socket>,
    ask: (socket: Socket, within: AbortSignal) => Promise<boolean>,
  ): Promise<boolean> {
    const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    let socket: Socket
    try {
      socket = await opening
    } catch (error) {
      if (error instanceof ConnectError && (error.fault === 'unreachable' || error.fault === 'timed-out')) {
        return false
      }
      throw error
    }
    const cut = () => socket.destroy()
    within.addEventListener('abort', cut)
    socket.on('error', () => {})
    try {
      return await ask(socket, within)
    } catch {
      return false
    } finally {
      within.removeEventListener('abort', cut)
      socket.destroy()
    }
  }

  async function askPlain(socket: Socket): Promise<boolean> {
    socket.write(
      `GET ${CHALLENGE_PREFIX}${token} HTTP/1.1\r\nHost: ${name}\r\nUser-Agent: Prepaint\r\nConnection: close\r\n\r\n`,
    )
    let text = ''
    for await (const part of socket as AsyncIterable<Buffer>) {
      text += part.toString('latin1')
      if (text.length > ANSWER_LIMIT_BYTES || (text.startsWith('HTTP/1.1 200') && text.includes(word))) break
    }
    return text.startsWith('HTTP/1.1 200') && text.includes(word)
  }

  async function askTls(socket: Socket, within: AbortSignal): Promise<boolean> {
    // The answer is a certificate that nobody has signed, and proves itself by what it holds.
    const secure = tls.connect({
      socket,
      servername: name,
      ALPNProtocols: [ACME_TLS],
      rejectUnauthorized: false,
    })
    secure.on('error', () => {})
    try {
      await once(secure, 'secureConnect', { signal: within })
      const { raw } = secure.getPeerCertificate()
      return secure.alpnProtocol === ACME_TLS && raw?.includes(alpnDigest(word)) === true
    } finally {
      secure.destroy()
    }
  }
}

const FAULTS = {
  'refused-address': (name: string) => `${name} leads to an address that is not public`,
  unresolvable: (name: string) => `${name} has no address in the DNS`,
} as const

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import tls from 'node:tls'

import type { AddressGuard } from '../../outbound/address-guard.ts'
import { ConnectError, guardedConnect } from '../../outbound/guarded-connect.ts'
import { type Lookup, lookupAddresses } from '../../outbound/lookup.ts'
import { ACME_TLS, alpnDigest } from '../acme/alpn-certificate.ts'
import { CHALLENGE_PREFIX, type Challenge, type ChallengeKind } from '../acme/challenge.ts'

type ReachDeps = {
  guard: AddressGuard
  /** Where CAs ask. */
  ports?: { http: number; tls: number }
  timeoutMs?: number
  lookup?: Lookup
}

export type Reach = { kind: ChallengeKind } | { unreachable: string }

const ANSWER_LIMIT_BYTES = 16_384
/** Of one name that are asked; further ones are not looked at. */
const MOST_ADDRESSES = 8

type AskSocket = (socket: Socket, within: AbortSignal) => Promise<boolean>

/**
 * Asks under the domain's name as a CA would, for a random word that is
 * published beforehand: so no order is wasted on a name that does not lead to
 * this fleet. Says by which challenge a CA will succeed: on the plain port, else
 * within a TLS handshake. Each address of the name is asked, as a CA may take any
 * (an old AAAA record leads it astray); one where nobody answers us does no harm.
 * Every address passes the guard.
 */
export async function reachesUs(
  { guard, ports = { http: 80, tls: 443 }, timeoutMs = 10_000, lookup = lookupAddresses }: ReachDeps,
  name: string,
  publish: (challenge: Challenge) => Promise<void>,
  signal: AbortSignal,
): Promise<Reach> {
  const token = randomBytes(24).toString('base64url')
  const word = `${token}.${randomBytes(24).toString('base64url')}`
  const addresses = await unlessAborted(
    lookup(name).catch((): string[] => []),
    signal,
  )
  if (addresses.length === 0) return { unreachable: `${name} has no address in the DNS` }

  await publish({ kind: 'http-01', token, keyAuthorization: word })
  const plain = await everywhere(ports.http, askPlain)
  if (plain === 'refused') return { unreachable: `${name} leads to an address that is not public` }
  if (plain.here && plain.other === null) return { kind: 'http-01' }
  await publish({ kind: 'tls-alpn-01', token, keyAuthorization: word })
  const inTls = await everywhere(ports.tls, askTls)
  if (inTls === 'refused') return { unreachable: `${name} leads to an address that is not public` }
  if (inTls.here && inTls.other === null) return { kind: 'tls-alpn-01' }
  const other = (plain.here && plain.other) || (inTls.here && inTls.other)
  if (other) return { unreachable: `${name} leads to this service, but also to another server at ${other}` }
  return {
    unreachable: `${name} leads to a server that is not this service, on port ${ports.http} and ${ports.tls}`,
  }

  /** Whether the word is at one of the addresses, and one at which somebody answers without it. */
  async function everywhere(
    port: number,
    ask: AskSocket,
  ): Promise<{ here: boolean; other: string | null } | 'refused'> {
    const permitted = addresses.filter((address) => guard.permits(address, port)).slice(0, MOST_ADDRESSES)
    if (permitted.length === 0) return 'refused'
    const answers = await Promise.all(permitted.map((address) => askAt(address, port, ask)))
    signal.throwIfAborted()
    return { here: answers.includes('here'), other: permitted[answers.indexOf('other')] ?? null }
  }

  async function askAt(address: string, port: number, ask: AskSocket): Promise<'here' | 'other' | 'nobody'> {
    const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    let socket: Socket
    try {
      socket = await guardedConnect({ host: address, port, guard, timeoutMs, signal })
    } catch (error) {
      if (error instanceof ConnectError || signal.aborted) return 'nobody'
      throw error
    }
    const cut = () => socket.destroy()
    within.addEventListener('abort', cut)
    socket.on('error', () => {})
    try {
      return (await ask(socket, within)) ? 'here' : 'other'
    } catch {
      return 'other'
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

async function unlessAborted<T>(asked: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason as Error)
  signal.throwIfAborted()
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([asked, promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

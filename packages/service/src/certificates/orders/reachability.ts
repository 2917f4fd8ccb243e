import { randomBytes } from 'node:crypto'

import {
  type AddressGuard,
  type Answering,
  askAddresses,
  findsAnswer,
  insideTls,
  type LookForUs,
  type Lookup,
  lookupAddresses,
} from '@prepaint/outbound'
import { ACME_TLS, alpnDigest } from '../acme/alpn-certificate.ts'
import { CHALLENGE_PREFIX, type Challenge, type ChallengeKind } from '../acme/challenge.ts'

export type Reach = { kind: ChallengeKind } | { unreachable: string }

/** Finds out whether a name leads here, and for which challenge. */
export type CheckReach = (
  name: string,
  publish: (challenge: Challenge) => Promise<void>,
  signal: AbortSignal,
) => Promise<Reach>

type ReachOptions = { ports?: { http: number; tls: number }; timeoutMs?: number; lookup?: Lookup }

/** Requests a random published token, as a CA would. Returns the usable challenge if only this fleet responds. */
export async function reachesUs(
  guard: AddressGuard,
  name: string,
  publish: (challenge: Challenge) => Promise<void>,
  signal: AbortSignal,
  { ports = { http: 80, tls: 443 }, timeoutMs = 10_000, lookup = lookupAddresses }: ReachOptions = {},
): Promise<Reach> {
  const token = randomBytes(24).toString('base64url')
  const word = `${token}.${randomBytes(24).toString('base64url')}`
  const addresses = await unlessAborted(
    lookup(name).catch((): string[] => []),
    signal,
  )
  if (addresses.length === 0) return { unreachable: `${name} has no address in the DNS` }

  await publish({ kind: 'http-01', token, keyAuthorization: word })
  const plain = await ask(ports.http, findsAnswer(name, `${CHALLENGE_PREFIX}${token}`, word))
  if (plain === null) return { unreachable: `${name} leads to an address that is not public` }
  if (isOnlyHere(plain)) return { kind: 'http-01' }
  await publish({ kind: 'tls-alpn-01', token, keyAuthorization: word })
  const inTls = await ask(
    ports.tls,
    insideTls(name, [ACME_TLS], async (secure) => {
      const { raw } = secure.getPeerCertificate()
      return secure.alpnProtocol === ACME_TLS && raw?.includes(alpnDigest(word)) === true
    }),
  )
  if (inTls === null) return { unreachable: `${name} leads to an address that is not public` }
  if (isOnlyHere(inTls)) return { kind: 'tls-alpn-01' }
  const other = [plain, inTls].find(({ here }) => here.length > 0)?.other[0]
  if (other !== undefined) {
    return { unreachable: `${name} leads to this service, but also to another server at ${other}` }
  }
  return {
    unreachable: `${name} leads to a server that is not this service, on port ${ports.http} and ${ports.tls}`,
  }

  function ask(port: number, look: LookForUs): Promise<Answering | null> {
    return askAddresses({ addresses, port, guard, timeoutMs, signal }, look)
  }
}

function isOnlyHere({ here, other }: Answering): boolean {
  return here.length > 0 && other.length === 0
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

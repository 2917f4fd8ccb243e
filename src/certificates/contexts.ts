import { createSecureContext, type SecureContext } from 'node:tls'

import { LRUCache } from 'lru-cache'

import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { Held, Invalidation } from '../store/invalidation.ts'
import { ACME_TLS, alpnContext } from './acme/alpn-certificate.ts'
import { keyPem } from './certificate.ts'
import type { ServedCertificate } from './stored-certificate.ts'
import { certificatePurpose, type Vault } from './vault/vault.ts'

type ContextsDeps = {
  /** By a name in lower case. */
  read(name: string): Promise<ServedCertificate | null>
  vault: Pick<Vault, 'open'>
  /** Whether notifications arrive at this moment. */
  connected(): boolean
  clock: Clock
  log: Log
}

/** What a name is served with. `context` null: nothing but the challenge. */
type Entry = {
  context: SecureContext | null
  notAfterMs: number
  challenge: SecureContext | null
}

/** For a CA that said what it is: never a certificate that others get. */
function proof(entry: Entry | null): SecureContext | null {
  return entry?.challenge ?? null
}

/** A context of OpenSSL holds some tens of kilobytes. */
const MAX_CONTEXTS = 5_000
const MAX_NAME_CHARS = 253

/**
 * Certificates by the name that a TLS client asks for: from memory, also that
 * there is none, else from PostgreSQL. As with domains: a notification wins over
 * a read of the same moment, and what may be untrue is used only when
 * PostgreSQL cannot be asked. A certificate that has ended is not served.
 */
export function createContexts({ read, vault, connected, clock, log }: ContextsDeps) {
  const known = new LRUCache<string, Entry>({ max: MAX_CONTEXTS })
  // Apart, so that a scan of invented names drives out no certificate.
  const unknown = new LRUCache<string, true>({ max: 10_000 })
  /** Between the two questions of one handshake: the second cannot wait for PostgreSQL. */
  const challenges = new LRUCache<string, SecureContext>({ max: 1_000 })
  let epoch = 0
  let doubted = !connected()

  /** null: nothing is served under that name. Rejects when that cannot be found out. */
  function contextFor(
    serverName: string,
    protocol: string | null,
  ): SecureContext | null | Promise<SecureContext | null> {
    const name = nameOf(serverName)
    if (name === '' || name.length > MAX_NAME_CHARS) return null
    // Asked for a moment after it was published, maybe at another node: the notification may be still on its way.
    if (protocol === ACME_TLS) return load(name).then(proof)
    if (believed()) {
      const entry = known.get(name)
      if (entry !== undefined) return usable(entry)
      if (unknown.has(name)) return null
    }
    return load(name).then(usable)
  }

  /** The protocol of a CA's handshake is always taken: whether there is a proof, `contextFor` finds out. */
  function alpn(
    serverName: string,
    protocols: readonly string[],
  ): { protocol: string; context: SecureContext | null } | null {
    if (!protocols.includes(ACME_TLS)) return null
    return { protocol: ACME_TLS, context: challenges.get(nameOf(serverName)) ?? null }
  }

  async function load(name: string): Promise<Entry | null> {
    const [started, trusted] = [epoch, believed()]
    let entry: Entry | null
    try {
      const found = await read(name)
      entry = found === null ? null : entryOf(name, found)
    } catch (error) {
      const held = known.get(name)
      if (held === undefined) throw error
      return held
    }
    if (entry?.challenge) challenges.set(name, entry.challenge)
    if (trusted && believed() && started === epoch) {
      if (entry === null) unknown.set(name, true)
      else known.set(name, entry)
    }
    return entry
  }

  function entryOf(name: string, { domain, certificate, challenge }: ServedCertificate): Entry {
    return {
      context: certificate === null ? null : contextOf(name, domain, certificate),
      notAfterMs: certificate?.notAfterMs ?? 0,
      challenge: challenge === null ? null : alpnContext(name, challenge, clock.nowMs()),
    }
  }

  function contextOf(
    name: string,
    domain: number,
    { chain, keySealed }: NonNullable<ServedCertificate['certificate']>,
  ): SecureContext | null {
    try {
      const key = vault.open(certificatePurpose(domain), keySealed)
      return createSecureContext({ cert: chain, key: keyPem(key) })
    } catch (error) {
      log.error({ err: error, domain: name }, 'a certificate cannot be served')
      return null
    }
  }

  function usable(entry: Entry | null): SecureContext | null {
    if (entry === null) return null
    const { context, notAfterMs, challenge } = entry
    // Its beginning was looked at when it was stored: a CA's clock may be minutes ahead, and the one before is gone.
    const current = clock.nowMs() < notAfterMs
    // A CA that speaks TLS 1.2 is only known a moment later. Nobody else believes what it is given here.
    return (current ? context : null) ?? challenge
  }

  function believed(): boolean {
    if (!doubted) return true
    if (!connected()) return false
    doubted = false
    clear()
    return true
  }

  function clear(): void {
    epoch++
    known.clear()
    unknown.clear()
    challenges.clear()
  }

  const held: Held = {
    invalidate(what: Invalidation) {
      if (what.kind === 'everything') clear()
      else if (what.kind === 'host') {
        epoch++
        known.delete(what.host)
        unknown.delete(what.host)
        challenges.delete(what.host)
      }
    },
    doubt() {
      doubted = true
      epoch++
    },
  }
  return { contextFor, alpn, held }
}

function nameOf(serverName: string): string {
  return serverName.toLowerCase().replace(/\.$/, '')
}

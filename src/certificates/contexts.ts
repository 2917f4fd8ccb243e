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
  /** By name in lower case. */
  read(name: string): Promise<ServedCertificate | null>
  vault: Pick<Vault, 'open'>
  /** Whether notifications arrive now. */
  connected(): boolean
  clock: Clock
  log: Log
}

/** `context` null: only the challenge. */
type Entry = {
  context: SecureContext | null
  notAfterMs: number
  challenge: SecureContext | null
}

function challengeOf(entry: Entry | null): SecureContext | null {
  return entry?.challenge ?? null
}

/** Some ten kilobytes each. */
const MAX_CONTEXTS = 5_000
const MAX_NAME_CHARS = 253

/**
 * TLS contexts by server name, cached in memory, including that there is none. A
 * notification during a read wins. Entries that may be outdated are used only if
 * PostgreSQL cannot be read. Expired certificates are not served.
 */
export function createContexts({ read, vault, connected, clock, log }: ContextsDeps) {
  const known = new LRUCache<string, Entry>({ max: MAX_CONTEXTS })
  // Separate, so that a scan of random names evicts no certificate.
  const unknown = new LRUCache<string, true>({ max: 10_000 })
  /** For `alpn`, which is called later in a handshake and cannot wait for PostgreSQL. */
  const challenges = new LRUCache<string, SecureContext>({ max: 1_000 })
  let epoch = 0
  let doubted = !connected()

  /** null: nothing is served under this name. Rejects if it cannot be read. */
  function contextFor(
    serverName: string,
    protocol: string | null,
  ): SecureContext | null | Promise<SecureContext | null> {
    const name = nameOf(serverName)
    if (name === '' || name.length > MAX_NAME_CHARS) return null
    // The CA connects just after another node published the challenge: the notification may be on its way.
    if (protocol === ACME_TLS) return load(name).then(challengeOf)
    if (believed()) {
      const entry = known.get(name)
      if (entry !== undefined) return usable(entry)
      if (unknown.has(name)) return null
    }
    return load(name).then(usable)
  }

  /** The CA's protocol is always accepted; `contextFor` finds out whether there is a challenge. */
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
    // The start was checked when it was stored; the CA's clock may be minutes ahead.
    const current = clock.nowMs() < notAfterMs
    // With TLS 1.2 the CA is recognised only later. Other clients do not trust the challenge's certificate.
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

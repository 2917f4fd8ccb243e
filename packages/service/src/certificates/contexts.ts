import { createSecureContext, type SecureContext } from 'node:tls'
import { CacheTrust } from '@prepaint/runtime/cache-trust.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Held, Invalidation } from '@prepaint/runtime/invalidation.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { LRUCache } from 'lru-cache'
import { ACME_TLS, alpnContext } from './acme/alpn-certificate.ts'
import { keyPem } from './certificate.ts'
import type { ServedCertificate } from './stored-certificate.ts'
import { certificatePurpose, type Vault } from './vault/vault.ts'

type Entry = {
  context: SecureContext | null
  notAfterMs: number
  challenge: SecureContext | null
}

/** About 10 kB each. */
const MAX_CONTEXTS = 5_000
const MAX_NAME_CHARS = 253

/** Caches contexts and unknown names. Never serves expired certificates; outdated ones only without PostgreSQL. */
export class Contexts {
  readonly #read: (name: string) => Promise<ServedCertificate | null>
  readonly #vault: Vault
  readonly #clock: Clock
  readonly #log: Log
  readonly #known = new LRUCache<string, Entry>({ max: MAX_CONTEXTS })
  // Separate, so that a scan of random names evicts no certificate.
  readonly #unknown = new LRUCache<string, true>({ max: 10_000 })
  /** `alpn` finds challenges here: it runs late in a handshake and cannot wait for PostgreSQL. */
  readonly #challenges = new LRUCache<string, SecureContext>({ max: 1_000 })
  readonly #trust: CacheTrust

  /** `isConnected`: notifications about changed certificates arrive. */
  constructor(
    read: (name: string) => Promise<ServedCertificate | null>,
    isConnected: () => boolean,
    vault: Vault,
    clock: Clock,
    log: Log,
  ) {
    this.#read = read
    this.#vault = vault
    this.#clock = clock
    this.#log = log
    this.#trust = new CacheTrust(isConnected, () => this.#clear())
  }

  /** Returns null if nothing is served under this name. Rejects if it cannot be read. */
  readonly contextFor = (
    serverName: string,
    protocol: string | null,
  ): SecureContext | null | Promise<SecureContext | null> => {
    const name = nameOf(serverName)
    if (name === '' || name.length > MAX_NAME_CHARS) return null
    // The notification about another node's challenge may still be on its way.
    if (protocol === ACME_TLS) return this.#load(name).then((entry) => entry?.challenge ?? null)
    if (this.#trust.recover()) {
      const entry = this.#known.get(name)
      if (entry !== undefined) return this.#usable(entry)
      if (this.#unknown.has(name)) return null
    }
    return this.#load(name).then((entry) => this.#usable(entry))
  }

  /** Always accepts the CA's protocol; `contextFor` looks up the challenge. */
  readonly alpn = (
    serverName: string,
    protocols: readonly string[],
  ): { protocol: string; context: SecureContext | null } | null => {
    if (!protocols.includes(ACME_TLS)) return null
    return { protocol: ACME_TLS, context: this.#challenges.get(nameOf(serverName)) ?? null }
  }

  readonly held: Held = {
    invalidate: (what: Invalidation) => {
      if (what.kind === 'everything') this.#clear()
      else if (what.kind === 'host') {
        this.#trust.notified()
        for (const cache of [this.#known, this.#unknown, this.#challenges]) cache.delete(what.host)
      }
    },
    lost: () => this.#trust.lost(),
  }

  async #load(name: string): Promise<Entry | null> {
    const began = this.#trust.begin()
    let entry: Entry | null
    try {
      const found = await this.#read(name)
      entry = found === null ? null : this.#entryOf(name, found)
    } catch (error) {
      const known = this.#known.get(name)
      if (known === undefined) throw error
      return known
    }
    if (entry?.challenge) this.#challenges.set(name, entry.challenge)
    if (this.#trust.admits(began)) {
      if (entry === null) this.#unknown.set(name, true)
      else this.#known.set(name, entry)
    }
    return entry
  }

  #entryOf(name: string, { domain, certificate, challenge }: ServedCertificate): Entry {
    return {
      context: certificate === null ? null : this.#contextOf(name, domain, certificate),
      notAfterMs: certificate?.notAfterMs ?? 0,
      challenge: challenge === null ? null : alpnContext(name, challenge, this.#clock.nowMs()),
    }
  }

  #contextOf(
    name: string,
    domain: number,
    { chain, keySealed }: NonNullable<ServedCertificate['certificate']>,
  ): SecureContext | null {
    try {
      const key = this.#vault.open(certificatePurpose(domain), keySealed)
      return createSecureContext({ cert: chain, key: keyPem(key) })
    } catch (error) {
      this.#log.error({ err: error, domain: name }, 'a certificate cannot be served')
      return null
    }
  }

  #usable(entry: Entry | null): SecureContext | null {
    if (entry === null) return null
    const { context, notAfterMs, challenge } = entry
    // The start was checked when stored; the CA's clock may be minutes ahead.
    const isValid = this.#clock.nowMs() < notAfterMs
    // With TLS 1.2 the CA is recognised only later. Other clients do not trust the challenge's certificate.
    return (isValid ? context : null) ?? challenge
  }

  #clear(): void {
    this.#trust.notified()
    for (const cache of [this.#known, this.#unknown, this.#challenges]) cache.clear()
  }
}

function nameOf(serverName: string): string {
  return serverName.toLowerCase().replace(/\.$/, '')
}

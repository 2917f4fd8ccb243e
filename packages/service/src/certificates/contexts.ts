import { createSecureContext, type SecureContext } from 'node:tls'
import { CacheMarks, MARKED } from '@prepaint/runtime/cache-marks.ts'
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
  /** See `CacheMarks`. */
  stamp: number
}

/** Where certificates come from. */
export type CertificateSources = {
  read(name: string): Promise<ServedCertificate | null>
  /** What the node keeps on its disk, for when `read` rejects. */
  readKept(name: string): ServedCertificate | null
  /** Notifications about changed certificates arrive. */
  readonly isConnected: boolean
  /** Nothing can be read now. */
  readonly isAway: boolean
}

/** About 10 kB each. */
const MAX_CONTEXTS = 5_000
const MAX_NAME_CHARS = 253

/**
 * Caches contexts and unknown names. Never serves expired certificates; outdated ones, and those of the snapshot, only while
 * PostgreSQL cannot be asked.
 */
export class Contexts {
  readonly #sources: CertificateSources
  readonly #vault: Vault
  readonly #clock: Clock
  readonly #log: Log
  readonly #known = new LRUCache<string, Entry>({ max: MAX_CONTEXTS })
  // Separate, so that a scan of random names evicts no certificate.
  /** Holds stamps. */
  readonly #unknown = new LRUCache<string, number>({ max: 10_000 })
  /** `alpn` finds challenges here: it runs late in a handshake and cannot wait for PostgreSQL. */
  readonly #challenges = new LRUCache<string, SecureContext>({ max: 1_000 })
  readonly #marks: CacheMarks

  constructor(sources: CertificateSources, vault: Vault, clock: Clock, log: Log) {
    this.#sources = sources
    this.#vault = vault
    this.#clock = clock
    this.#log = log
    this.#marks = new CacheMarks(() => sources.isConnected)
  }

  /** Returns null if nothing is served under this name, or if nobody can say. */
  readonly contextFor = (
    serverName: string,
    protocol: string | null,
  ): SecureContext | null | Promise<SecureContext | null> => {
    const name = nameOf(serverName)
    if (name === '' || name.length > MAX_NAME_CHARS) return null
    // The notification about another node's challenge may still be on its way.
    if (protocol === ACME_TLS) return this.#load(name).then((entry) => entry?.challenge ?? null)
    const entry = this.#known.get(name)
    if (entry !== undefined && this.#mayUse(entry.stamp)) return this.#usable(entry)
    const unknownStamp = this.#unknown.get(name)
    if (unknownStamp !== undefined && this.#mayUse(unknownStamp)) return null
    return this.#load(name).then((found) => this.#usable(found))
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
        this.#marks.notified()
        for (const cache of [this.#known, this.#unknown, this.#challenges]) cache.delete(what.host)
      }
    },
    lost: () => this.#marks.lost(),
  }

  #mayUse(stamp: number): boolean {
    return !this.#marks.isMarked(stamp) || this.#sources.isAway
  }

  async #load(name: string): Promise<Entry | null> {
    const began = this.#marks.begin()
    let found: ServedCertificate | null
    try {
      found = await this.#sources.read(name)
    } catch (error) {
      this.#log.error({ err: error, domain: name }, 'a certificate could not be read')
      return this.#known.get(name) ?? this.#loadKept(name)
    }
    const stamp = this.#marks.stamp(began)
    const entry = found === null ? null : this.#entryOf(name, found, stamp ?? MARKED)
    if (entry?.challenge) this.#challenges.set(name, entry.challenge)
    if (stamp === null) return entry
    if (entry === null) {
      this.#known.delete(name)
      this.#unknown.set(name, stamp)
    } else {
      this.#unknown.delete(name)
      this.#known.set(name, entry)
    }
    return entry
  }

  #loadKept(name: string): Entry | null {
    const kept = this.#sources.readKept(name)
    if (kept === null) return null
    const entry = this.#entryOf(name, kept, MARKED)
    this.#known.set(name, entry)
    return entry
  }

  #entryOf(name: string, { domain, certificate, challenge }: ServedCertificate, stamp: number): Entry {
    return {
      context: certificate === null ? null : this.#contextOf(name, domain, certificate),
      notAfterMs: certificate?.notAfterMs ?? 0,
      challenge: challenge === null ? null : alpnContext(name, challenge, this.#clock.nowMs()),
      stamp,
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
    this.#marks.notified()
    for (const cache of [this.#known, this.#unknown, this.#challenges]) cache.clear()
  }
}

function nameOf(serverName: string): string {
  return serverName.toLowerCase().replace(/\.$/, '')
}

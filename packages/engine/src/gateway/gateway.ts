import { type AddressGuard, createAddressGuard, type Lookup } from '@prepaint/outbound'
import type { AllowedRange } from '@prepaint/outbound/address-range'
import type { OriginPool } from '@prepaint/outbound/client'
import type { Log } from '@prepaint/runtime/log.ts'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'
import { type AskedDocument, Documents } from './documents.ts'
import { GuardedNetwork } from './network.ts'
import { Knowledge } from './preload/knowledge.ts'
import { GATEWAY_LIMITS, type GatewayLimits } from './request-counts.ts'
import { type GatewayParts, GatewaySite, type OpenedSite } from './site.ts'
import { createGatewayKey } from './tls-key.ts'

/** Sites with learned preloads, up to 64 KiB each. */
const KNOWN_SITES = 256

type GatewayOptions = {
  allowed: readonly AllowedRange[]
  log: Log
  preload?: boolean | undefined
  limits?: Partial<GatewayLimits> | undefined
  lookup?: Lookup
  ca?: string
}

export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  return new Gateway(createAddressGuard(options.allowed), options)
}

/**
 * Chromium's only network access, and the security boundary: untrusted pages reach only what the address guard
 * permits. Each browser context has its own listener, which identifies its traffic.
 */
export class Gateway {
  readonly #parts: GatewayParts
  readonly #isPreloading: boolean
  readonly #origins: OriginPool
  readonly #open = new Set<GatewaySite>()
  readonly #known = new RecentMap<Knowledge>({ limit: KNOWN_SITES })

  constructor(guard: AddressGuard, { log, preload = true, lookup, ca, ...options }: GatewayOptions) {
    const limits = { ...GATEWAY_LIMITS, ...options.limits }
    const network = new GuardedNetwork(guard, limits, { lookup, ca })
    this.#origins = network.openClient()
    const documents = new Documents(this.#origins, limits)
    this.#parts = { network, key: createGatewayKey(), documents, log }
    this.#isPreloading = preload
  }

  /** Base64 SHA-256 of the gateway's public key, for `--ignore-certificate-errors-spki-list`. */
  get spkiHash(): string {
    return this.#parts.key.spkiHash
  }

  /** `originUrl` must come from `checkOriginUrl`. */
  async openSite(opened: OpenedSite): Promise<GatewaySite> {
    const knowledge = this.#knowledgeOf(opened)
    const isPreloading = this.#isPreloading
    const site = await GatewaySite.open(opened, knowledge, this.#parts, { isPreloading })
    this.#open.add(site)
    site.closed.addEventListener('abort', () => this.#open.delete(site))
    return site
  }

  /** Asks for the document as a browser would, before one does. Resolves with null if no browser has asked this site yet. */
  askDocument(site: OpenedSite, path: string): Promise<AskedDocument | null> {
    return this.#parts.documents.ask(site, path)
  }

  async close(): Promise<void> {
    this.#origins.close()
    await Promise.all([...this.#open].map((site) => site.close()))
  }

  #knowledgeOf({ customDomain, originUrl, originHeaders = [] }: OpenedSite): Knowledge {
    // Requests are learnt with their headers.
    const name = JSON.stringify([customDomain, originUrl, originHeaders])
    const knowledge = this.#known.get(name) ?? new Knowledge()
    this.#known.set(name, knowledge)
    return knowledge
  }
}

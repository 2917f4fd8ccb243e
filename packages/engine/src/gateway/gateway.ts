import { createAddressGuard, type Lookup } from '@prepaint/outbound'
import type { AllowedRange } from '@prepaint/outbound/address-range'
import { createClient } from '@prepaint/outbound/client'
import type { Log } from '@prepaint/runtime/log.ts'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'
import { Documents } from './documents.ts'
import { createKnowledge, type Knowledge } from './preload/knowledge.ts'
import { GATEWAY_LIMITS, type GatewayLimits } from './request-counts.ts'
import { type GatewaySite, type OpenedSite, openSite } from './site.ts'
import { createGatewayKey } from './tls-key.ts'

/**
 * Chromium's only network access, and the security boundary: untrusted pages reach only what the address guard
 * permits. Each browser context has its own listener, which identifies its traffic.
 */
export type Gateway = {
  /** Base64 SHA-256 of the gateway's public key, for `--ignore-certificate-errors-spki-list`. */
  spkiHash: string
  /** `originUrl` must come from `checkOriginUrl`. */
  openSite(site: OpenedSite): Promise<GatewaySite>
  /** The document as a browser would get it, before one asks; null: no browser has asked this site yet. */
  askDocument: Documents['ask']
  close(): Promise<void>
}

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
  const { allowed, log, preload = true, limits, lookup, ca } = options
  const key = createGatewayKey()
  const deps = {
    guard: createAddressGuard(allowed),
    key,
    limits: { ...GATEWAY_LIMITS, ...limits },
    log,
    preload,
    lookup,
    ca,
  }
  const { socketsPerOrigin, socketsInTotal, connectTimeoutMs } = deps.limits
  const origins = createClient(deps.guard, {
    perOrigin: socketsPerOrigin,
    inTotal: socketsInTotal,
    connectTimeoutMs,
    lookup,
    ca,
  })
  const documents = new Documents(origins, deps.limits)
  const open = new Set<GatewaySite>()
  const known = new RecentMap<Knowledge>({ limit: KNOWN_SITES })
  const knowledgeOf = ({ customDomain, originUrl, originHeaders = [] }: OpenedSite) => {
    // Requests are learnt with their headers.
    const name = JSON.stringify([customDomain, originUrl, originHeaders])
    const knowledge = known.get(name) ?? createKnowledge()
    known.set(name, knowledge)
    return knowledge
  }

  return {
    spkiHash: key.spkiHash,
    async openSite(site) {
      const opened = await openSite(site, { ...deps, documents, knowledge: knowledgeOf(site) })
      const tracked: GatewaySite = {
        ...opened,
        async close() {
          if (open.delete(tracked)) await opened.close()
        },
      }
      open.add(tracked)
      return tracked
    },
    askDocument: (site, path) => documents.ask(site, path),
    async close() {
      origins.close()
      await Promise.all([...open].map((site) => site.close()))
    },
  }
}

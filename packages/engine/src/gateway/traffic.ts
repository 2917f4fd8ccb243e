import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Origin } from '@prepaint/contract/site-files/site.ts'
import type { OriginPool } from '@prepaint/outbound/client'
import type { GuardedNetwork } from './network.ts'
import { type GatewayLimits, RequestCounts } from './request-counts.ts'
import { tunnel } from './tunnel.ts'

/** The traffic of one browser context: its client, the limits of a page, and what the page has used of them. */
export class SiteTraffic {
  readonly origins: OriginPool
  readonly limits: GatewayLimits
  readonly counts: RequestCounts
  readonly #network: GuardedNetwork

  constructor(network: GuardedNetwork) {
    this.#network = network
    this.origins = network.openClient()
    this.limits = network.limits
    this.counts = new RequestCounts(network.limits)
  }

  /** Resolves with a bare connection. Rejects with an error that `explainFault` explains, or the signal's reason. */
  connect(origin: Origin, signal: AbortSignal): Promise<Socket> {
    return this.#network.connect(origin, signal)
  }

  /** Joins the browser's socket with another host's, and counts what comes from there. */
  tunnel(near: Duplex, far: Duplex): void {
    const { idleTimeoutMs } = this.limits
    tunnel(near, far, { idleTimeoutMs, receive: this.counts.receiver() })
  }

  /** Ends all connections of the client. */
  close(): void {
    this.origins.close()
  }
}

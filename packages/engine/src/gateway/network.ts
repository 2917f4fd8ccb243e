import type { Socket } from 'node:net'
import type { Origin } from '@prepaint/contract/site-files/site.ts'
import { type AddressGuard, guardedConnect, type Lookup } from '@prepaint/outbound'
import { createClient, type OriginPool } from '@prepaint/outbound/client'
import type { GatewayLimits } from './request-counts.ts'

type NetworkOptions = {
  lookup?: Lookup | undefined
  /** Certificates of authorities that are trusted instead of the public ones. */
  ca?: string | undefined
}

/** The way of a gateway to other hosts: only to addresses that the guard permits, and within the gateway's limits. */
export class GuardedNetwork {
  readonly limits: GatewayLimits
  readonly #guard: AddressGuard
  readonly #options: NetworkOptions

  constructor(guard: AddressGuard, limits: GatewayLimits, options: NetworkOptions) {
    this.limits = limits
    this.#guard = guard
    this.#options = options
  }

  /** Returns a client that shares its connections with no other. */
  openClient(): OriginPool {
    const { socketsPerOrigin, socketsInTotal, connectTimeoutMs } = this.limits
    const { lookup, ca } = this.#options
    return createClient(this.#guard, {
      perOrigin: socketsPerOrigin,
      inTotal: socketsInTotal,
      connectTimeoutMs,
      lookup,
      ca,
    })
  }

  /** Resolves with a bare connection. Rejects with an error that `explainFault` explains, or the signal's reason. */
  connect({ hostname, port }: Origin, signal: AbortSignal): Promise<Socket> {
    return guardedConnect({
      host: hostname,
      port,
      guard: this.#guard,
      signal,
      timeoutMs: this.limits.connectTimeoutMs,
      lookup: this.#options.lookup,
    })
  }
}

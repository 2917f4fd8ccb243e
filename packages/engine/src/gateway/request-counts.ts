/** All limits of the gateway. A page that exceeds one is cut off, and the render records it. */
export type GatewayLimits = {
  connectionsPerSite: number
  headerBytes: number
  /** Counts requests and tunnels. */
  requestsPerPage: number
  /** Bytes on the wire of one response or tunnel. */
  responseBytes: number
  /** Bytes of all responses and tunnels. */
  pageBytes: number
  socketsPerOrigin: number
  socketsInTotal: number
  /** Covers lookup, connect and the TLS handshake. */
  connectTimeoutMs: number
  firstByteTimeoutMs: number
  idleTimeoutMs: number
}

export const GATEWAY_LIMITS: GatewayLimits = {
  connectionsPerSite: 256,
  headerBytes: 64 * 1024,
  requestsPerPage: 2_000,
  responseBytes: 64 * 1024 * 1024,
  pageBytes: 256 * 1024 * 1024,
  socketsPerOrigin: 64,
  socketsInTotal: 256,
  connectTimeoutMs: 10_000,
  firstByteTimeoutMs: 60_000,
  idleTimeoutMs: 60_000,
}

export type Excess = 'requests' | 'response-bytes' | 'page-bytes'

/** What one page has used of the gateway. */
export class RequestCounts {
  readonly #limits: GatewayLimits
  #requests = 0
  #bytes = 0
  #excess: Excess | null = null

  constructor(limits: GatewayLimits) {
    this.#limits = limits
  }

  /** Counts a request or tunnel. Returns false if it must be refused. */
  admit(): boolean {
    this.#requests++
    if (this.#requests > this.#limits.requestsPerPage) return this.exceed('requests')
    return this.#bytes <= this.#limits.pageBytes || this.exceed('page-bytes')
  }

  /** Returns a function that counts the bytes of one response or tunnel. It returns false if that must be cut off. */
  receiver(): (bytes: number) => boolean {
    const { responseBytes, pageBytes } = this.#limits
    let received = 0
    return (bytes) => {
      received += bytes
      this.#bytes += bytes
      if (received > responseBytes) return this.exceed('response-bytes')
      return this.#bytes <= pageBytes || this.exceed('page-bytes')
    }
  }

  /** Notes that a limit was met. Always returns false. */
  exceed(what: Excess): false {
    this.#excess ??= what
    return false
  }

  /** Returns the first limit that was met, or null. */
  excess(): Excess | null {
    return this.#excess
  }

  /** Begins anew, for the next page. */
  reset(): void {
    this.#requests = 0
    this.#bytes = 0
    this.#excess = null
  }
}

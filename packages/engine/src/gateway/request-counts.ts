/** All limits of the gateway. A page that exceeds one is cut off, and the render records it. */
export type GatewayLimits = {
  connectionsPerSite: number
  headerBytes: number
  /** Requests and tunnels. */
  requestsPerPage: number
  /** On the wire, per response or tunnel. */
  responseBytes: number
  /** Of all responses and tunnels. */
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

/** What one page may use of the gateway. */
export type RequestCounts = {
  /** Counts a request or tunnel; false: refuse it. */
  admit(): boolean
  /** Counts the bytes of one response or tunnel; false: cut it off. */
  receiver(): (bytes: number) => boolean
  exceed(what: Excess): void
  /** The first limit that was met; null: none. */
  excess(): Excess | null
  /** The limits begin anew. */
  reset(): void
}

export function createRequestCounts(limits: GatewayLimits): RequestCounts {
  let requests = 0
  let bytes = 0
  let excess: Excess | null = null

  function exceed(what: Excess): false {
    excess ??= what
    return false
  }

  return {
    exceed,
    admit() {
      if (++requests > limits.requestsPerPage) return exceed('requests')
      return bytes <= limits.pageBytes || exceed('page-bytes')
    },
    receiver() {
      let responseBytes = 0
      return (received) => {
        responseBytes += received
        bytes += received
        if (responseBytes > limits.responseBytes) return exceed('response-bytes')
        return bytes <= limits.pageBytes || exceed('page-bytes')
      }
    },
    excess: () => excess,
    reset() {
      requests = 0
      bytes = 0
      excess = null
    },
  }
}

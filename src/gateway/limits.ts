/** Every limit of the gateway. A page that meets one is cut there, and the render's record says so. */
export type GatewayLimits = {
  /** Connections that one site's browser context may hold open. */
  connectionsPerSite: number
  /** Of one request's or response's headers together. */
  headerBytes: number
  /** Requests and tunnels between two calls of `takeTally`. */
  requestsPerPage: number
  /** Body of one response, as it comes over the wire; of a tunnel, all that comes back through it. */
  responseBytes: number
  /** All that the page received since the last `takeTally`. */
  pageBytes: number
  /** Connections to one origin and to all, for each site; as many again for requests that may not be sent twice. */
  socketsPerOrigin: number
  socketsInTotal: number
  /** Resolving, connecting and the TLS handshake. */
  connectTimeoutMs: number
  /** From the request to the head of the response. */
  firstByteTimeoutMs: number
  /** Without a byte in either direction. */
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

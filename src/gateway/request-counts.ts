import type { ConnectFault } from '../outbound/guarded-connect.ts'

/** Every limit of the gateway. A page that meets one is cut there, and the render's record says so. */
export type GatewayLimits = {
  /** Connections that one site's browser context may hold open. */
  connectionsPerSite: number
  /** Of one request's or response's headers together. */
  headerBytes: number
  /** Requests and tunnels between two calls of `takeCounts`. */
  requestsPerPage: number
  /** Body of one response, as it comes over the wire; of a tunnel, all that comes back through it. */
  responseBytes: number
  /** All that the page received since the last `takeCounts`. */
  pageBytes: number
  /** Connections to one origin and to all, for each site. */
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

export type RefusalReason =
  /** Not a request that a browser sends to a proxy. */
  | 'malformed'
  | 'scheme'
  | 'port'
  | 'refused-address'
  /** Inside the custom domain's connection, but for another host. */
  | 'misdirected'
  | 'too-many-requests'
  | 'page-too-large'
  | 'response-too-large'

/** The limits that a page can meet. */
export type Excess = 'requests' | 'response-bytes' | 'page-bytes'

export type Refusal = { target: string; why: RefusalReason }

/** What went through one site's gateway since the last time it was asked. */
export type SiteCounts = {
  requests: number
  /** Received by the page, as it came over the wire. */
  bytes: number
  /** All of them; `refusals` holds the first. */
  refused: number
  refusals: Refusal[]
  /** Hosts that were permitted but gave no connection, by reason. */
  unconnected: Partial<Record<ConnectFault, number>>
}

/** The counting half of a site. One page's limits apply between two calls of `take`. */
export type RequestCounts = {
  /** Counts a request; false when it is one too many. */
  admit(target: string): boolean
  /** A counter for one response or tunnel: told of each chunk's bytes, it says false where to cut. */
  receiver(target: string): (bytes: number) => boolean
  refuse(target: string, why: RefusalReason): void
  failConnect(fault: ConnectFault): void
  /** The first limit that was met since the last `take`. */
  excess(): Excess | null
  take(): SiteCounts
}

const EXCESS_OF: Partial<Record<RefusalReason, Excess>> = {
  'too-many-requests': 'requests',
  'response-too-large': 'response-bytes',
  'page-too-large': 'page-bytes',
}

const MAX_LISTED = 50
const MAX_TARGET_CHARS = 300

export function createRequestCounts(limits: GatewayLimits): RequestCounts {
  let now = noCounts()
  let excess: Excess | null = null

  function refuse(target: string, why: RefusalReason): void {
    now.refused += 1
    excess ??= EXCESS_OF[why] ?? null
    if (now.refusals.length >= MAX_LISTED) return
    now.refusals.push({ target: target.slice(0, MAX_TARGET_CHARS), why })
  }

  return {
    refuse,
    admit(target) {
      now.requests += 1
      if (now.requests > limits.requestsPerPage) {
        refuse(target, 'too-many-requests')
        return false
      }
      if (now.bytes > limits.pageBytes) {
        refuse(target, 'page-too-large')
        return false
      }
      return true
    },
    receiver(target) {
      let responseBytes = 0
      return (bytes) => {
        responseBytes += bytes
        now.bytes += bytes
        if (responseBytes > limits.responseBytes) {
          refuse(target, 'response-too-large')
          return false
        }
        if (now.bytes > limits.pageBytes) {
          refuse(target, 'page-too-large')
          return false
        }
        return true
      }
    },
    failConnect(fault) {
      now.unconnected[fault] = (now.unconnected[fault] ?? 0) + 1
    },
    excess: () => excess,
    take() {
      excess = null
      const taken = now
      now = noCounts()
      return taken
    },
  }
}

function noCounts(): SiteCounts {
  return { requests: 0, bytes: 0, refused: 0, refusals: [], unconnected: {} }
}

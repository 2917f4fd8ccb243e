import type { ConnectFault } from '../outbound/guarded-connect.ts'

/** All limits of the gateway. A page that exceeds one is cut off, and the render records it. */
export type GatewayLimits = {
  connectionsPerSite: number
  headerBytes: number
  /** Requests and tunnels between two calls of `takeCounts`. */
  requestsPerPage: number
  /** On the wire, per response or tunnel. */
  responseBytes: number
  /** Received since the last `takeCounts`. */
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

export type RefusalReason =
  /** Not a valid proxy request. */
  | 'malformed'
  | 'scheme'
  | 'port'
  | 'refused-address'
  /** Another host on the custom domain's connection. */
  | 'misdirected'
  | 'too-many-requests'
  | 'page-too-large'
  | 'response-too-large'

export type Excess = 'requests' | 'response-bytes' | 'page-bytes'

export type Refusal = { target: string; why: RefusalReason }

export type SiteCounts = {
  requests: number
  bytes: number
  /** All refusals; `refusals` holds the first. */
  refused: number
  refusals: Refusal[]
  unconnected: Partial<Record<ConnectFault, number>>
}

/** Counters of one site. A page's limits apply between two calls of `take`. */
export type RequestCounts = {
  admit(target: string): boolean
  /** Counts the bytes of one response or tunnel; false: cut it off. */
  receiver(target: string): (bytes: number) => boolean
  refuse(target: string, why: RefusalReason): void
  failConnect(fault: ConnectFault): void
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

import type { IncomingHttpHeaders } from 'node:http'
import type { Server, Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import ipaddr from 'ipaddr.js'
import { RecentMap } from '../recent-map.ts'
import { type AddressRanges, clientBlock, createClientReader, isAmong } from './client-address.ts'

/** Limits per client (an IPv4 address, or a /64 of IPv6) and server. */
export type ClientLimits = {
  connections: number
  /** Requests in progress, without upgraded connections. */
  requests: number
  connectionsInTotal: number
  /** Exempt from the first two limits, for networks whose clients share an address. */
  unlimited: AddressRanges
  /** Their connections are exempt; their clients are limited. */
  trustedProxies: AddressRanges
}

type Asked = {
  headers: IncomingHttpHeaders
  socket: { remoteAddress?: string | undefined; encrypted?: unknown }
}

export type ClientGate = {
  /**
   * Counts connections, TLS or not, and ends excess ones with `refusal` (a raw response) or silently. Watch all
   * servers that pass TLS connections on; each connection counts once.
   */
  watch(server: Server, refusal: string | null): void
  /** The client's counter key; null: not limited. */
  clientOf(request: Asked): string | null
  /** Counts a request until its response ends. False: refuse it. */
  enter(request: Asked, response: NodeJS.EventEmitter): boolean
  mayEnter(request: Asked): boolean
  readonly counts: number
}

export const NO_CLIENT_LIMITS: ClientLimits = {
  connections: Number.POSITIVE_INFINITY,
  requests: Number.POSITIVE_INFINITY,
  connectionsInTotal: Number.POSITIVE_INFINITY,
  unlimited: [ipaddr.parseCIDR('0.0.0.0/0'), ipaddr.parseCIDR('::/0')],
  trustedProxies: [],
}

/** Time for the refusal to arrive. */
const REFUSAL_MS = 1_000

export function createClientGate(limits: ClientLimits): ClientGate {
  const { unlimited, trustedProxies } = limits
  const readClient = createClientReader(trustedProxies)
  const readPeer = createClientReader([])
  const connections = createCounter(limits.connections)
  const requests = createCounter(limits.requests)
  const refused = new WeakSet<object>()
  /** By connection: a closed one has forgotten its address. */
  const known = new WeakMap<object, string | null>()

  const seen = new RecentMap<{ key: string | null }>({ limit: 10_000 })
  /** Cached, because parsing the address is the most expensive step here. */
  function counted(address: string): string | null {
    const found = seen.get(address)
    if (found !== undefined) return found.key
    const key = address === '' || isAmong(address, unlimited) ? null : clientBlock(address)
    seen.set(address, { key })
    return key
  }

  function admit(socket: Socket, refusal: string | null): void {
    const { address } = readPeer({ headers: {}, socket })
    const isProxy = isAmong(address, trustedProxies)
    const client = isProxy ? null : counted(address)
    if (!isProxy) known.set(socket, client)
    // TLS connections passed to an HTTP/1.1 server were counted on arrival.
    if (client === null || socket instanceof TLSSocket) return
    if (connections.enter(client)) return void socket.once('close', () => connections.leave(client))
    refused.add(socket)
    if (refusal === null) return void socket.destroy()
    socket.on('error', () => socket.destroy())
    socket.end(refusal)
    setTimeout(() => socket.destroy(), REFUSAL_MS).unref()
  }

  function clientOf(request: Asked): string | null {
    const client = known.get(request.socket)
    return client === undefined ? counted(readClient(request).address) : client
  }

  return {
    watch(server, refusal) {
      // Node closes further connections at once, which bounds memory.
      server.maxConnections = limits.connectionsInTotal
      server.on('connection', (socket) => admit(socket, refusal))
    },
    clientOf,
    enter(request, response) {
      // The connection was refused: ignore its requests.
      if (refused.has(request.socket)) return false
      const client = clientOf(request)
      if (client === null) return true
      if (!requests.enter(client)) return false
      response.on('close', () => requests.leave(client))
      return true
    },
    mayEnter(request) {
      if (refused.has(request.socket)) return false
      const client = clientOf(request)
      return client === null || requests.hasRoom(client)
    },
    get counts() {
      return connections.keys + requests.keys
    },
  }
}

/** Counts per key with the same limit for each. Keeps only keys in use. */
export type Counter = {
  /** False: limit reached, not counted. */
  enter(key: string): boolean
  hasRoom(key: string): boolean
  /** Call once per successful `enter`. */
  leave(key: string): void
  readonly keys: number
}

export function createCounter(limit: number): Counter {
  const underWay = new Map<string, number>()
  return {
    enter(key) {
      const count = underWay.get(key) ?? 0
      if (count >= limit) return false
      underWay.set(key, count + 1)
      return true
    },
    hasRoom: (key) => (underWay.get(key) ?? 0) < limit,
    leave(key) {
      const count = underWay.get(key) ?? 0
      if (count > 1) underWay.set(key, count - 1)
      else underWay.delete(key)
    },
    get keys() {
      return underWay.size
    },
  }
}

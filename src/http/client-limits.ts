import type { IncomingHttpHeaders } from 'node:http'
import type { Server, Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import ipaddr from 'ipaddr.js'
import { type AddressRanges, clientBlock, createClientReader, isAmong } from './client-address.ts'

/** What one client (an IPv4 address, or a /64 of IPv6) may hold of one server at a time. */
export type ClientLimits = {
  connections: number
  /** Requests that are not answered to their end; upgraded connections are none. */
  requests: number
  /** Connections of all clients together. */
  connectionsInTotal: number
  /** Whom the first two do not limit: where many clients share an address of the operator's own network. */
  unlimited: AddressRanges
  /** Limited by the clients that they name; their own connections are not. */
  trustedProxies: AddressRanges
}

/** A request of HTTP/1.1 or HTTP/2. */
type Asked = {
  headers: IncomingHttpHeaders
  socket: { remoteAddress?: string | undefined; encrypted?: unknown }
}

export type ClientGate = {
  /**
   * Counts the connections of a server, TLS or not. One too many is ended at
   * once: with `refusal` (a whole answer as it goes over the wire), or without a word. Of servers that hand connections
   * of TLS to each other, all are to be watched; each connection counts once.
   */
  watch(server: Server, refusal: string | null): void
  /** Who asks, as it is counted; null: is not limited. */
  clientOf(request: Asked): string | null
  /** Counts a request until its answer has ended. False: it is one too many, and is to be refused. */
  enter(request: Asked, response: NodeJS.EventEmitter): boolean
  /** Whether `enter` would let it in. */
  mayEnter(request: Asked): boolean
  /** How many counts are kept at this moment: none of clients who hold nothing. */
  readonly counts: number
}

export const NO_CLIENT_LIMITS: ClientLimits = {
  connections: Number.POSITIVE_INFINITY,
  requests: Number.POSITIVE_INFINITY,
  connectionsInTotal: Number.POSITIVE_INFINITY,
  unlimited: [ipaddr.parseCIDR('0.0.0.0/0'), ipaddr.parseCIDR('::/0')],
  trustedProxies: [],
}

/** Time for the refusal of a connection to arrive. */
const REFUSAL_MS = 1_000

export function createClientGate(limits: ClientLimits): ClientGate {
  const { unlimited, trustedProxies } = limits
  const readClient = createClientReader(trustedProxies)
  const readPeer = createClientReader([])
  const connections = createCounter(limits.connections)
  const requests = createCounter(limits.requests)
  const refused = new WeakSet<object>()
  /** By connection: reading an address for each request of it would cost more than all else here. */
  const known = new WeakMap<object, string | null>()

  const counted = (address: string): string | null =>
    address === '' || isAmong(address, unlimited) ? null : clientBlock(address)

  function admit(socket: Socket, refusal: string | null): void {
    const { address } = readPeer({ headers: {}, socket })
    const isProxy = isAmong(address, trustedProxies)
    const client = isProxy ? null : counted(address)
    if (!isProxy) known.set(socket, client)
    // One of TLS that a server of HTTP/1.1 is handed was counted where it came in.
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
      // What is past this is closed before it is anything; so memory is bounded, whoever they are.
      server.maxConnections = limits.connectionsInTotal
      server.on('connection', (socket) => admit(socket, refusal))
    },
    clientOf,
    enter(request, response) {
      // Its refusal has been sent; what it may still have asked is nobody's.
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

/** Counts what is under way, by key, up to the same limit for each. Holds the keys of which something is, and no others. */
export type Counter = {
  /** False: this would be one too many; it is not counted. */
  enter(key: string): boolean
  /** Whether `enter` would say true. */
  hasRoom(key: string): boolean
  /** Once for each `enter` that said true. */
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

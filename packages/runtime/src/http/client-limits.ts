import type { IncomingHttpHeaders } from 'node:http'
import type { Server, Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import ipaddr from 'ipaddr.js'
import { RecentMap } from '../recent-map.ts'
import {
  type AddressRanges,
  clientBlock,
  createClientReader,
  isAmong,
  type ReadClient,
} from './client-address.ts'
import type { ClientPauses } from './client-pauses.ts'

/** Limits per client (an IPv4 address, or a /64 of IPv6) and server. */
export type ClientLimits = {
  connections: number
  /** Counts requests in progress, without upgraded connections. */
  requests: number
  connectionsInTotal: number
  /** These clients are exempt from the first two limits, because in their networks many share an address. */
  unlimited: AddressRanges
  /** The connections of these proxies are exempt; their clients are limited. */
  trustedProxies: AddressRanges
}

type Asked = {
  headers: IncomingHttpHeaders
  socket: { remoteAddress?: string | undefined; encrypted?: unknown }
}

export const NO_CLIENT_LIMITS: ClientLimits = {
  connections: Number.POSITIVE_INFINITY,
  requests: Number.POSITIVE_INFINITY,
  connectionsInTotal: Number.POSITIVE_INFINITY,
  unlimited: [ipaddr.parseCIDR('0.0.0.0/0'), ipaddr.parseCIDR('::/0')],
  trustedProxies: [],
}

/** A refused connection is closed after this time, in which the refusal can arrive. */
const REFUSAL_MS = 1_000

/** An excess connection may send the head of its request in this time. */
const HEAD_MS = 500

/** Addresses whose key is remembered: parsing an address is the most expensive step of a check. */
const REMEMBERED = 10_000

/** Counts connections and requests of clients, and refuses those beyond the limits. */
export class ClientGate {
  readonly #limits: ClientLimits
  readonly #pauses: ClientPauses | null
  readonly #readClient: ReadClient
  readonly #readPeer = createClientReader([])
  readonly #connections: Counter
  readonly #requests: Counter
  readonly #refused = new WeakSet<object>()
  /** The key of each connection. A closed connection has forgotten its address. */
  readonly #known = new WeakMap<object, string | null>()
  readonly #keys = new RecentMap<{ key: string | null }>({ limit: REMEMBERED })

  /** Without `pauses`, clients that go on although they are refused are refused on. */
  constructor(limits: ClientLimits, pauses: ClientPauses | null = null) {
    this.#limits = limits
    this.#pauses = pauses
    this.#readClient = createClientReader(limits.trustedProxies)
    this.#connections = new Counter(limits.connections)
    this.#requests = new Counter(limits.requests)
  }

  /**
   * Counts connections, TLS or not, and ends excess ones with `refusal` (a raw response), or silently without one. Watch
   * all servers that pass TLS connections on; each connection counts once. With `readsHead`, an excess connection may still
   * send one request, which must be refused; `hasRefused` tells it.
   */
  watch(server: Server, refusal: string | null, { readsHead = false }: { readsHead?: boolean } = {}): void {
    // Node closes further connections at once, which bounds memory.
    server.maxConnections = this.#limits.connectionsInTotal
    server.on('connection', (socket) => this.#admit(socket, refusal, readsHead))
  }

  /** Returns the client's counter key, or null if the client is not limited. */
  clientOf(request: Asked): string | null {
    const client = this.#known.get(request.socket)
    return client === undefined ? this.#keyOf(this.#readClient(request).address) : client
  }

  /** Counts a request until its response ends. Returns false if the request must be refused. */
  enter(request: Asked, response: NodeJS.EventEmitter): boolean {
    if (this.#refused.has(request.socket)) return false
    const client = this.clientOf(request)
    if (client === null) return true
    if (this.#pauses?.isPaused(client) === true || !this.#requests.enter(client)) {
      this.#pauses?.noteRefusal(client)
      return false
    }
    response.on('close', () => this.#requests.leave(client))
    return true
  }

  /** Returns whether the request came on an excess connection. */
  hasRefused(request: Asked): boolean {
    return this.#refused.has(request.socket)
  }

  /** Returns whether `enter` would count the request. */
  mayEnter(request: Asked): boolean {
    if (this.#refused.has(request.socket)) return false
    const client = this.clientOf(request)
    if (client === null) return true
    return this.#pauses?.isPaused(client) !== true && this.#requests.hasRoom(client)
  }

  /** Returns the counter key of the client at the other end of a connection; null for a proxy, and without limits. */
  clientOfPeer(socket: { remoteAddress?: string | undefined }): string | null {
    const { address } = this.#readPeer({ headers: {}, socket })
    return isAmong(address, this.#limits.trustedProxies) ? null : this.#keyOf(address)
  }

  /** The number of clients that are counted at the moment. */
  get counts(): number {
    return this.#connections.keys + this.#requests.keys
  }

  #admit(socket: Socket, refusal: string | null, readsHead: boolean): void {
    const { address } = this.#readPeer({ headers: {}, socket })
    const isProxy = isAmong(address, this.#limits.trustedProxies)
    const client = isProxy ? null : this.#keyOf(address)
    if (!isProxy) this.#known.set(socket, client)
    // TLS connections passed to an HTTP/1.1 server were counted on arrival.
    if (client === null || socket instanceof TLSSocket) return
    if (this.#pauses?.isPaused(client) !== true && this.#connections.enter(client)) {
      socket.once('close', () => this.#connections.leave(client))
      return
    }
    this.#refused.add(socket)
    this.#pauses?.noteRefusal(client)
    if (refusal === null) {
      socket.destroy()
      return
    }
    socket.on('error', () => socket.destroy())
    if (!readsHead) {
      socket.end(refusal)
      setTimeout(() => socket.destroy(), REFUSAL_MS).unref()
      return
    }
    setTimeout(() => {
      if (socket.writable) socket.end(refusal)
      setTimeout(() => socket.destroy(), REFUSAL_MS).unref()
    }, HEAD_MS).unref()
  }

  #keyOf(address: string): string | null {
    const found = this.#keys.get(address)
    if (found !== undefined) return found.key
    const isUnlimited = address === '' || isAmong(address, this.#limits.unlimited)
    const key = isUnlimited ? null : clientBlock(address)
    this.#keys.set(address, { key })
    return key
  }
}

/** Counts per key with the same limit for each. Keeps only keys in use. */
export class Counter {
  readonly #limit: number
  readonly #counts = new Map<string, number>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Returns false, and counts nothing, if the limit is reached. */
  enter(key: string): boolean {
    const count = this.#counts.get(key) ?? 0
    if (count >= this.#limit) return false
    this.#counts.set(key, count + 1)
    return true
  }

  hasRoom(key: string): boolean {
    return (this.#counts.get(key) ?? 0) < this.#limit
  }

  /** Call once for each `enter` that returned true. */
  leave(key: string): void {
    const count = this.#counts.get(key) ?? 0
    if (count > 1) this.#counts.set(key, count - 1)
    else this.#counts.delete(key)
  }

  /** The number of keys in use. */
  get keys(): number {
    return this.#counts.size
  }
}

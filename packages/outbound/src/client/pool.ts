import type net from 'node:net'
import type { Origin } from '@prepaint/contract/site-files/site.ts'
import { type Clock, systemClock } from '@prepaint/runtime/clock.ts'
import type { AddressGuard } from '../address-guard.ts'
import { type ConnectOptions, OriginConnector } from '../guarded-connect.ts'
import { type OriginCall, OriginSilent } from './call.ts'
import { type ConnectionKeeper, OriginConnection } from './connection.ts'

export type OriginPoolOptions = {
  /** Returns a connecting socket. If it cannot connect, it fails with an error that `connectFault` explains. */
  connect: (origin: Origin) => net.Socket
  clock?: Clock
  /** Connections to one origin of one account at a time; further calls wait for one. */
  perOrigin?: number
  /** Free connections to one origin. */
  freePerOrigin?: number
  /** Connections to all origins. */
  inTotal?: number
  /** Close a free connection after this time. */
  keepAliveMs?: number
  /** Close a connection that is this old when it becomes free: the origin's name may lead elsewhere by now. */
  maxAgeMs?: number
}

/** Event streams and slow downloads hold a connection for as long as their client likes. */
const PER_ORIGIN = 1_024
/** One account needs eight origins, and the clients for them, to take all. */
const IN_TOTAL = 8 * PER_ORIGIN

/**
 * Which kept connection may be used. `lately`: one used within `SURELY_OPEN_MS`, for a request that may not be sent
 * twice, because the origin may be about to close an older one.
 */
export type KeptUse = 'any' | 'lately' | 'none'

const SURELY_OPEN_MS = 2_000

/** The connections to one origin. The one used last is the last of `free` and is taken first. */
type Place = { origin: Origin; open: number; free: OriginConnection[]; waiting: Set<OriginCall> }

/** The HTTP/1.1 client for all that a node requests from origins. */
export function createClient(
  guard: AddressGuard,
  {
    connectTimeoutMs,
    lookup,
    ca,
    isAnyCertificate,
    ...options
  }: ConnectOptions & Omit<OriginPoolOptions, 'connect'> = {},
): OriginPool {
  const connector = new OriginConnector(guard, { connectTimeoutMs, lookup, ca, isAnyCertificate })
  return new OriginPool({ ...options, connect: (origin) => connector.connect(origin) })
}

/** Kept connections of HTTP/1.1 to origins, each used by one call at a time. */
export class OriginPool {
  readonly #options: Required<OriginPoolOptions>
  readonly #places = new Map<string, Place>()
  /** Places with waiting calls, in the order in which they are served when a connection becomes free. */
  readonly #hungry = new Set<Place>()
  readonly #connections = new Set<OriginConnection>()
  #isClosed = false

  constructor(options: OriginPoolOptions) {
    this.#options = {
      clock: systemClock,
      perOrigin: PER_ORIGIN,
      inTotal: IN_TOTAL,
      freePerOrigin: 64,
      keepAliveMs: 15_000,
      maxAgeMs: 300_000,
      ...options,
    }
  }

  /** The number of open connections. */
  get open(): number {
    return this.#connections.size
  }

  /** The number of calls that wait for a connection. */
  get waiting(): number {
    let count = 0
    for (const { waiting } of this.#hungry) count += waiting.size
    return count
  }

  /** Sends a call on a kept connection, a new one, or the next that becomes free. */
  send(call: OriginCall, origin: Origin, keptUse: KeptUse = 'any'): void {
    const place = this.#placeOf(origin)
    if (this.#isClosed) {
      call.destroy(new Error('The node is shutting down'))
      return
    }
    if (keptUse === 'lately') this.#dropOlder(place, SURELY_OPEN_MS)
    if (!this.#place(call, place, keptUse === 'none')) this.#wait(call, place)
  }

  /** Ends all connections; calls fail. */
  close(): void {
    this.#isClosed = true
    for (const { waiting } of this.#places.values()) {
      for (const call of waiting) call.destroy(new Error('The node is shutting down'))
    }
    for (const connection of this.#connections) connection.socket.destroy()
  }

  /** Starts the call on a kept or new connection. Returns false if there is no room. */
  #place(call: OriginCall, place: Place, onNew = false): boolean {
    const { connect, clock, perOrigin, inTotal } = this.#options
    while (!onNew) {
      const kept = place.free.pop()
      if (kept === undefined) break
      if (kept.isUsable) {
        kept.start(call)
        return true
      }
      kept.destroy()
    }
    // One that is free here is of no use to a call that needs a new one.
    if (place.open >= perOrigin) place.free.shift()?.destroy()
    if (place.open >= perOrigin) return false
    // A waiting call elsewhere may take the room that was made.
    const isFull = () => this.#connections.size >= inTotal
    if (isFull() && !(this.#dropOldest() && !isFull())) return false
    place.open += 1
    this.#places.set(place.origin.key, place)
    const connection = new OriginConnection(connect(place.origin), this.#keeperOf(place), clock.nowMs())
    this.#connections.add(connection)
    connection.start(call)
    return true
  }

  #wait(call: OriginCall, place: Place): void {
    const late = setTimeout(() => call.destroy(new OriginSilent()), call.request.answerWaitMs)
    place.waiting.add(call)
    this.#hungry.add(place)
    call.leaveQueue = () => {
      clearTimeout(late)
      call.leaveQueue = null
      place.waiting.delete(call)
      if (place.waiting.size > 0) return
      this.#hungry.delete(place)
      this.#forget(place)
    }
  }

  #keeperOf(place: Place): ConnectionKeeper {
    const { clock, maxAgeMs, freePerOrigin, keepAliveMs } = this.#options
    return {
      free: (connection) => {
        connection.freeSinceMs = clock.nowMs()
        const tooOld = connection.freeSinceMs - connection.openedMs >= maxAgeMs
        if (tooOld || !connection.isUsable) return connection.destroy()
        const next = takeNext(place)
        if (next !== null) return connection.start(next)
        if (place.free.length >= freePerOrigin) return connection.destroy()
        connection.keepFor(keepAliveMs)
        place.free.push(connection)
      },
      gone: (connection) => {
        place.open -= 1
        this.#connections.delete(connection)
        const at = place.free.indexOf(connection)
        if (at !== -1) place.free.splice(at, 1)
        this.#feed(place)
        this.#forget(place)
      },
    }
  }

  /** Gives the room of one connection to a waiting call: of this origin first, else of any other. */
  #feed(first: Place): void {
    const { perOrigin, inTotal } = this.#options
    for (const place of [first, ...this.#hungry]) {
      if (this.#isClosed || this.#connections.size >= inTotal) return
      const next = place.open < perOrigin ? takeNext(place) : null
      if (next !== null && this.#place(next, place)) return
    }
  }

  #placeOf(origin: Origin): Place {
    const known = this.#places.get(origin.key)
    if (known !== undefined) return known
    const place: Place = { origin, open: 0, free: [], waiting: new Set() }
    this.#places.set(origin.key, place)
    return place
  }

  #forget({ origin, open, waiting }: Place): void {
    if (open === 0 && waiting.size === 0) this.#places.delete(origin.key)
  }

  /** Ends the free connections, unless the next to be taken became free within the last `ms`. */
  #dropOlder(place: Place, ms: number): void {
    const last = place.free.at(-1)
    if (last === undefined || this.#options.clock.nowMs() - last.freeSinceMs < ms) return
    for (const connection of place.free.splice(0)) connection.destroy()
  }

  /** Ends a free connection of any origin. Returns false if all are in use. */
  #dropOldest(): boolean {
    for (const { free } of this.#places.values()) {
      if (free.length === 0) continue
      free.shift()!.destroy()
      return true
    }
    return false
  }
}

/** Takes the call that has waited longest out of the queue. Returns null if none waits. */
function takeNext({ waiting }: Place): OriginCall | null {
  for (const call of waiting) {
    call.leaveQueue?.()
    return call
  }
  return null
}

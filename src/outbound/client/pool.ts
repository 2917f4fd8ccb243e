import { type Clock, systemClock } from '../../clock.ts'
import type { AddressGuard } from '../address-guard.ts'
import { type ConnectOptions, type ConnectOrigin, createConnectOrigin } from '../guarded-connect.ts'
import type { Origin } from '../origin.ts'
import { type OriginCall, OriginSilent } from './call.ts'
import { type ConnectionKeeper, OriginConnection } from './connection.ts'

export type OriginPoolOptions = {
  connect: ConnectOrigin
  /** For how long connections have been free. */
  clock?: Clock
  /** Connections to one origin of one account at a time; further calls wait for one. */
  perOrigin?: number
  /** Free ones of these. */
  freePerOrigin?: number
  /** Connections to all origins together. */
  inTotal?: number
  /** A free connection is closed after this time. */
  keepAliveMs?: number
  /** And each that is so old when it becomes free: its origin's name may lead elsewhere by now. */
  maxAgeMs?: number
}

/** An event stream or a slow download holds one for as long as its client likes, and people of a site have many of these. */
const PER_ORIGIN = 1_024
/** Who is past it waits: so no account can take them all, unless it has eight origins and the clients for them. */
const IN_TOTAL = 8 * PER_ORIGIN

/**
 * Which kept connection may be used: `any`; `lately`, one that was in use `SURELY_OPEN_MS` ago, for a request that may not be
 * sent twice, as the origin may be about to close it; or `none`.
 */
export type KeptUse = 'any' | 'lately' | 'none'

const SURELY_OPEN_MS = 2_000

export type OriginPool = {
  /** Sends a call on a kept connection, a new one, or the next that becomes free. */
  send(call: OriginCall, origin: Origin, keptUse?: KeptUse): void
  /** Ends all connections; calls fail. */
  close(): void
  /** Connections, and calls that wait for one. */
  readonly open: number
  readonly waiting: number
}

/** What there is of one origin. Those that are free longest stand first; the one used last is taken first. */
type Place = { origin: Origin; open: number; free: OriginConnection[]; waiting: Set<OriginCall> }

/** The client of HTTP/1.1 for all that a node asks of origins. */
export function createClient(
  guard: AddressGuard,
  { connectTimeoutMs, lookup, ca, ...options }: ConnectOptions & Omit<OriginPoolOptions, 'connect'> = {},
): OriginPool {
  const connect = createConnectOrigin(guard, {
    ...(connectTimeoutMs !== undefined && { connectTimeoutMs }),
    ...{ lookup, ca },
  })
  return createOriginPool({ ...options, connect })
}

/** Kept connections of HTTP/1.1 to origins, each used by one call at a time. */
export function createOriginPool(options: OriginPoolOptions): OriginPool {
  const { connect, clock = systemClock, perOrigin = PER_ORIGIN, inTotal = IN_TOTAL } = options
  const { freePerOrigin = 64, keepAliveMs = 15_000, maxAgeMs = 300_000 } = options
  const places = new Map<string, Place>()
  /** Those with calls that wait, in the order in which they are served when there are connections again. */
  const hungry = new Set<Place>()
  const connections = new Set<OriginConnection>()
  let isClosed = false

  function send(call: OriginCall, origin: Origin, keptUse: KeptUse = 'any'): void {
    const place = placeOf(origin)
    if (isClosed) return void call.destroy(new Error('The node is shutting down'))
    if (keptUse === 'lately') dropOlder(place, SURELY_OPEN_MS)
    if (!placed(call, place, keptUse === 'none')) wait(call, place)
  }

  function close(): void {
    isClosed = true
    for (const { waiting } of places.values()) {
      for (const call of waiting) call.destroy(new Error('The node is shutting down'))
    }
    for (const connection of connections) connection.socket.destroy()
  }

  function placed(call: OriginCall, place: Place, onNew = false): boolean {
    while (!onNew) {
      const kept = place.free.pop()
      if (kept === undefined) break
      if (kept.isUsable) {
        kept.start(call)
        return true
      }
      kept.destroy()
    }
    if (place.open >= perOrigin) return false
    // Whoever waits elsewhere may have taken the room that was made.
    if (connections.size >= inTotal && !(dropOldest() && connections.size < inTotal)) return false
    place.open += 1
    places.set(place.origin.key, place)
    const connection = new OriginConnection(connect(place.origin), keeperOf(place), clock.nowMs())
    connections.add(connection)
    connection.start(call)
    return true
  }

  function wait(call: OriginCall, place: Place): void {
    const late = setTimeout(() => call.destroy(new OriginSilent()), call.request.answerWaitMs)
    place.waiting.add(call)
    hungry.add(place)
    call.leaveQueue = () => {
      clearTimeout(late)
      call.leaveQueue = null
      place.waiting.delete(call)
      if (place.waiting.size > 0) return
      hungry.delete(place)
      forget(place)
    }
  }

  function keeperOf(place: Place): ConnectionKeeper {
    return {
      free(connection) {
        connection.freeSinceMs = clock.nowMs()
        const tooOld = connection.freeSinceMs - connection.openedMs >= maxAgeMs
        // The origin is about to close it. Whoever waits gets a new one.
        if (tooOld || !connection.isUsable) return connection.destroy()
        const next = nextOf(place)
        if (next !== null) return connection.start(next)
        if (place.free.length >= freePerOrigin) return connection.destroy()
        connection.keepFor(keepAliveMs)
        place.free.push(connection)
      },
      gone(connection) {
        place.open -= 1
        connections.delete(connection)
        const at = place.free.indexOf(connection)
        if (at !== -1) place.free.splice(at, 1)
        feed(place)
        forget(place)
      },
    }
  }

  /** There is room for one connection more: for whoever waits for this origin, else for any other. */
  function feed(first: Place): void {
    for (const place of [first, ...hungry]) {
      if (isClosed || connections.size >= inTotal) return
      const next = place.open < perOrigin ? nextOf(place) : null
      if (next !== null && placed(next, place)) return
    }
  }

  function nextOf({ waiting }: Place): OriginCall | null {
    for (const call of waiting) {
      call.leaveQueue?.()
      return call
    }
    return null
  }

  function placeOf(origin: Origin): Place {
    const known = places.get(origin.key)
    if (known !== undefined) return known
    const place: Place = { origin, open: 0, free: [], waiting: new Set() }
    places.set(origin.key, place)
    return place
  }

  function forget({ origin, open: ofIt, waiting }: Place): void {
    if (ofIt === 0 && waiting.size === 0) places.delete(origin.key)
  }

  /** Ends the free ones, unless the one that would be taken next became free within the last `ms`. */
  function dropOlder(place: Place, ms: number): void {
    const last = place.free.at(-1)
    if (last === undefined || clock.nowMs() - last.freeSinceMs < ms) return
    for (const connection of place.free.splice(0)) connection.destroy()
  }

  /** Of any origin. false: all are in use. */
  function dropOldest(): boolean {
    for (const { free } of places.values()) {
      if (free.length === 0) continue
      free.shift()!.destroy()
      return true
    }
    return false
  }

  return {
    send,
    close,
    get open() {
      return connections.size
    },
    get waiting() {
      let count = 0
      for (const { waiting } of hungry) count += waiting.size
      return count
    },
  }
}

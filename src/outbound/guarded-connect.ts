import type { LookupAddress } from 'node:dns'
import net from 'node:net'
import tls from 'node:tls'

import { LRUCache } from 'lru-cache'

import type { AddressGuard } from './address-guard.ts'
import { type Lookup, lookupAddresses } from './lookup.ts'
import { type Origin, parseHost } from './origin.ts'

export type ConnectFault = 'refused-address' | 'unresolvable' | 'unreachable' | 'timed-out'

/** Why there is no connection. Callers switch over `fault`; the message is for the log. */
export class ConnectError extends Error {
  readonly fault: ConnectFault

  constructor(fault: ConnectFault, target: string, options: ErrorOptions = {}) {
    super(`${target}: ${fault}`, options)
    this.name = 'ConnectError'
    this.fault = fault
  }
}

type GuardedTarget = {
  /** A name or an address as in a URL; IPv6 with or without brackets. */
  host: string
  port: number
  guard: AddressGuard
  lookup?: Lookup | undefined
}

/** What net.connect and tls.connect are given: with these they resolve through the guard and connect to what it passed. */
export type VettedOptions = {
  host: string
  port: number
  lookup: net.LookupFunction
  autoSelectFamily: true
  autoSelectFamilyAttemptTimeout: number
}

/** The next address of several is tried after this time; the last one has all that is left. */
const ATTEMPT_TIMEOUT_MS = 500
const MAX_ADDRESSES = 8

/**
 * Options with which a socket connects to permitted addresses only. The name is
 * resolved once, every address is checked, and the checked ones are what node:net
 * connects to: a name that changes its answer between check and use gains nothing.
 * Throws ConnectError for an address that is written out, which is never resolved.
 */
export function vettedOptions({ host, port, guard, lookup = lookupAddresses }: GuardedTarget): VettedOptions {
  const target = `${host}:${port}`
  const parsed = parseHost(net.isIPv6(host) ? `[${host}]` : host)
  if (parsed === null || (parsed.kind === 'address' && !guard.permits(parsed.text, port))) {
    throw new ConnectError('refused-address', target)
  }

  const vetted = async (name: string): Promise<LookupAddress[]> => {
    const addresses = await lookup(name).catch((cause: unknown) => {
      throw new ConnectError('unresolvable', target, { cause })
    })
    if (addresses.length === 0) throw new ConnectError('unresolvable', target)
    const permitted = addresses.filter((address) => guard.permits(address, port))
    if (permitted.length === 0) throw new ConnectError('refused-address', target)
    return permitted.slice(0, MAX_ADDRESSES).map((address) => ({ address, family: net.isIP(address) }))
  }

  return {
    host: parsed.text,
    port,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_TIMEOUT_MS,
    lookup: (name, { all }, done) => {
      vetted(name).then(
        (entries) =>
          all === true ? done(null, entries) : done(null, entries[0]!.address, entries[0]!.family),
        (error: ConnectError) => done(error, ''),
      )
    },
  }
}

/**
 * Connects to `host` by its permitted addresses, one after another, within
 * `timeoutMs` for everything together. Rejects with ConnectError, or with the
 * signal's reason. The socket is handed over connected.
 */
export async function guardedConnect(
  options: GuardedTarget & { timeoutMs: number; signal?: AbortSignal | undefined },
): Promise<net.Socket> {
  const { host, port, signal, timeoutMs } = options
  const target = `${host}:${port}`
  signal?.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<net.Socket>()
  const socket = net.connect({ ...vettedOptions(options), noDelay: true })
  const onAbort = () => socket.destroy(signal?.reason)
  const onError = (cause: Error) => {
    const known = cause instanceof ConnectError || signal?.aborted
    reject(known ? cause : new ConnectError('unreachable', target, { cause }))
  }
  const timer = setTimeout(() => socket.destroy(new ConnectError('timed-out', target)), timeoutMs)
  signal?.addEventListener('abort', onAbort, { once: true })
  socket.once('connect', () => resolve(socket)).once('error', onError)
  // It may have gone off while the lookup began.
  if (signal?.aborted) onAbort()
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
    socket.off('error', onError)
  }
}

export type ConnectOptions = {
  /** For resolving, connecting and the TLS handshake together. */
  connectTimeoutMs?: number
  lookup?: Lookup | undefined
  /** Further certificate authorities (PEM); for tests. */
  ca?: string | undefined
}

/**
 * A socket that is there at once, and is a guarded one when it is connected; else it ends with an error that
 * `connectFault` explains.
 */
export type ConnectOrigin = (origin: Pick<Origin, 'protocol' | 'hostname' | 'port'>) => net.Socket

/** Origins whose last TLS session is kept, so that the next handshake is a short one. */
const SESSIONS = 1_000

/** Errors of sockets that never came to be connections. */
const beforeConnection = new WeakSet<Error>()

/**
 * Why a guarded socket (or a guardedConnect) got no connection; null when there was one and something else
 * went wrong. A failed TLS handshake, a wrong certificate too, is `unreachable`.
 */
export function connectFault(error: unknown): ConnectFault | null {
  if (error instanceof ConnectError) return error.fault
  return error instanceof Error && beforeConnection.has(error) ? 'unreachable' : null
}

export function createConnectOrigin(guard: AddressGuard, options: ConnectOptions): ConnectOrigin {
  const { connectTimeoutMs = 10_000, lookup, ca } = options
  const sessions = new LRUCache<string, Buffer>({ max: SESSIONS })

  function guarded(
    host: string,
    port: number,
    connected: 'connect' | 'secureConnect',
    open: (vetted: VettedOptions) => net.Socket,
  ): net.Socket {
    let socket: net.Socket
    try {
      socket = open(vettedOptions({ host, port, guard, lookup }))
    } catch (error) {
      return deadSocket(error as Error)
    }
    const late = setTimeout(
      () => socket.destroy(new ConnectError('timed-out', `${host}:${port}`)),
      connectTimeoutMs,
    )
    const onError = (error: Error) => void beforeConnection.add(error)
    socket.once('error', onError)
    socket.once(connected, () => {
      clearTimeout(late)
      socket.off('error', onError)
    })
    socket.once('close', () => clearTimeout(late))
    return socket
  }

  function plain(host: string, port: number): net.Socket {
    return guarded(host, port, 'connect', (vetted) => net.connect({ ...vetted, noDelay: true }))
  }

  function secure(host: string, port: number): net.Socket {
    const origin = `${host}:${port}`
    // tls.connect ignores block lists, but resolves by the lookup that it is given.
    return guarded(host, port, 'secureConnect', (vetted) => {
      const session = sessions.get(origin)
      const socket = tls.connect({
        ...vetted,
        // An address has no name (RFC 6066, section 3).
        servername: net.isIP(vetted.host) === 0 ? vetted.host : '',
        ...(session === undefined ? {} : { session }),
        ...(ca === undefined ? {} : { ca }),
      })
      socket.setNoDelay(true)
      socket.on('session', (made) => void sessions.set(origin, made))
      // It may be the session that the other side does not want.
      socket.once('error', () => sessions.delete(origin))
      return socket
    })
  }

  return ({ protocol, hostname, port }) =>
    protocol === 'https:' ? secure(hostname, port) : plain(hostname, port)
}

function deadSocket(error: Error): net.Socket {
  const socket = new net.Socket()
  process.nextTick(() => socket.destroy(error))
  return socket
}

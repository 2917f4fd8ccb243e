import type { LookupAddress } from 'node:dns'
import net from 'node:net'
import tls from 'node:tls'
import type { Origin } from '@prepaint/contract/site-files/site.ts'
import { LRUCache } from 'lru-cache'
import type { AddressGuard } from './address-guard.ts'
import { type Lookup, lookupAddresses } from './lookup.ts'
import { parseHost } from './origin.ts'

export type ConnectFault = 'refused-address' | 'unresolvable' | 'unreachable' | 'timed-out'

export class ConnectError extends Error {
  readonly fault: ConnectFault

  constructor(fault: ConnectFault, target: string, options: ErrorOptions = {}) {
    super(`${target}: ${fault}`, options)
    this.name = 'ConnectError'
    this.fault = fault
  }
}

type GuardedTarget = {
  host: string
  port: number
  guard: AddressGuard
  lookup?: Lookup | undefined
}

type VettedOptions = {
  host: string
  port: number
  lookup: net.LookupFunction
  autoSelectFamily: true
  autoSelectFamilyAttemptTimeout: number
}

/** Wait per address before trying the next one. The last address gets the remaining time. */
const ATTEMPT_TIMEOUT_MS = 500
const MAX_ADDRESSES = 8

/** Connects only to checked addresses (no DNS rebinding). Throws ConnectError for a forbidden literal address. */
function vettedOptions({ host, port, guard, lookup = lookupAddresses }: GuardedTarget): VettedOptions {
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

/** Tries each permitted address. `timeoutMs` covers all. Rejects with ConnectError or the signal's reason. */
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
  // The signal may have fired while the lookup started.
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
  connectTimeoutMs?: number | undefined
  lookup?: Lookup | undefined
  ca?: string | undefined
  /** Takes any certificate of a server, for requests that trust the address alone. */
  isAnyCertificate?: boolean | undefined
}

const SESSIONS = 1_000

const beforeConnection = new WeakSet<Error>()

/** Why a socket never connected, or null when it did. A failed TLS handshake counts as `unreachable`. */
export function connectFault(error: unknown): ConnectFault | null {
  if (error instanceof ConnectError) return error.fault
  return error instanceof Error && beforeConnection.has(error) ? 'unreachable' : null
}

/** Opens connections to origins, only to addresses that the guard permits. TLS sessions are resumed. */
export class OriginConnector {
  readonly #guard: AddressGuard
  readonly #options: ConnectOptions
  readonly #sessions = new LRUCache<string, Buffer>({ max: SESSIONS })

  constructor(guard: AddressGuard, options: ConnectOptions) {
    this.#guard = guard
    this.#options = options
  }

  /** Returns a connecting socket. If it cannot connect, it fails with an error that `connectFault` explains. */
  connect({ protocol, hostname, port }: Pick<Origin, 'protocol' | 'hostname' | 'port'>): net.Socket {
    return protocol === 'https:' ? this.#connectSecure(hostname, port) : this.#connectPlain(hostname, port)
  }

  #connectPlain(host: string, port: number): net.Socket {
    return this.#open(host, port, 'connect', (vetted) => net.connect({ ...vetted, noDelay: true }))
  }

  #connectSecure(host: string, port: number): net.Socket {
    const origin = `${host}:${port}`
    // tls.connect ignores block lists but uses the given lookup.
    return this.#open(host, port, 'secureConnect', (vetted) => {
      const session = this.#sessions.get(origin)
      const socket = tls.connect({
        ...vetted,
        // No SNI for addresses (RFC 6066, section 3).
        servername: net.isIP(vetted.host) === 0 ? vetted.host : '',
        session,
        ca: this.#options.ca,
        rejectUnauthorized: this.#options.isAnyCertificate !== true,
      })
      socket.setNoDelay(true)
      socket.on('session', (made) => void this.#sessions.set(origin, made))
      // The server may have rejected the resumed session.
      socket.once('error', () => this.#sessions.delete(origin))
      return socket
    })
  }

  #open(
    host: string,
    port: number,
    connected: 'connect' | 'secureConnect',
    open: (vetted: VettedOptions) => net.Socket,
  ): net.Socket {
    const { connectTimeoutMs = 10_000, lookup } = this.#options
    let socket: net.Socket
    try {
      socket = open(vettedOptions({ host, port, guard: this.#guard, lookup }))
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
}

function deadSocket(error: Error): net.Socket {
  const socket = new net.Socket()
  process.nextTick(() => socket.destroy(error))
  return socket
}

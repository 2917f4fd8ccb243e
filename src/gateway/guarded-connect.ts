import net from 'node:net'
import tls from 'node:tls'

import type { AddressGuard } from './address-guard.ts'
import { parseHost } from './host-name.ts'
import { type Lookup, lookupAddresses } from './lookup.ts'

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

export type GuardedConnectOptions = {
  /** A name or an address as in a URL; IPv6 with or without brackets. */
  host: string
  port: number
  guard: AddressGuard
  /** Ends the attempt; the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined
  /** For everything together: resolving, all attempts and, with TLS, the handshake. */
  timeoutMs: number
  lookup?: Lookup | undefined
}

/** A further address is tried beside a silent one after this time (RFC 8305, section 5). */
const ATTEMPT_DELAY_MS = 250
const MAX_ADDRESSES = 8

/**
 * Connects to `host`, resolving it itself, and only to addresses that the guard
 * permits at this moment. The checked address is the connected one, so a name
 * that changes its answer between check and use gains nothing.
 * Rejects with ConnectError. The socket is handed over connected, with no listeners.
 */
export async function guardedConnect(options: GuardedConnectOptions): Promise<net.Socket> {
  return withDeadline(options, async (signal) => connectPermitted(options, signal))
}

/**
 * The same with TLS over the guarded socket. tls.connect is never given the host
 * to connect to: it would resolve by itself and ignores every block list.
 * A failed handshake is `unreachable`, with the cause.
 */
export async function guardedTlsConnect(
  options: GuardedConnectOptions & {
    /** Puts TLS over the connected socket; default: tls.connect with the host as server name. */
    secure?: (socket: net.Socket) => tls.TLSSocket
  },
): Promise<tls.TLSSocket> {
  const { host, secure = (socket) => tls.connect({ servername: serverName(host), socket }) } = options
  return withDeadline(options, async (signal) => {
    const socket = secure(await connectPermitted(options, signal))
    return handshake(socket, `${host}:${options.port}`, signal)
  })
}

async function handshake(socket: tls.TLSSocket, target: string, signal: AbortSignal): Promise<tls.TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<tls.TLSSocket>()
  const onAbort = () => reject(signal.reason)
  const onError = (cause: Error) => reject(new ConnectError('unreachable', target, { cause }))
  const onClose = () => reject(new ConnectError('unreachable', target))
  signal.addEventListener('abort', onAbort, { once: true })
  socket
    .once('secureConnect', () => resolve(socket))
    .once('error', onError)
    .once('close', onClose)
  if (signal.aborted) onAbort()
  try {
    return await promise
  } catch (error) {
    socket.on('error', ignore)
    socket.destroy()
    throw error
  } finally {
    signal.removeEventListener('abort', onAbort)
    socket.off('error', onError).off('close', onClose)
  }
}

/** SNI carries names only (RFC 6066, section 3); an empty one sends none. */
export function serverName(host: string): string {
  const parsed = parseHost(host)
  return parsed?.kind === 'name' ? parsed.text : ''
}

async function connectPermitted(options: GuardedConnectOptions, signal: AbortSignal): Promise<net.Socket> {
  const { port, guard, lookup = lookupAddresses } = options
  const target = `${options.host}:${port}`
  const host = parseHost(net.isIPv6(options.host) ? `[${options.host}]` : options.host)
  if (host === null) throw new ConnectError('refused-address', target)

  const addresses = host.kind === 'address' ? [host.text] : await resolve(host.text, target, lookup, signal)
  const permitted = addresses.filter((address) => guard.permits(address, port))
  if (permitted.length === 0) throw new ConnectError('refused-address', target)
  return firstConnected(interleave(permitted).slice(0, MAX_ADDRESSES), port, target, signal)
}

async function resolve(
  name: string,
  target: string,
  lookup: Lookup,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    const addresses = await Promise.race([
      lookup(name).catch((cause) => {
        throw new ConnectError('unresolvable', target, { cause })
      }),
      aborted,
    ])
    if (addresses.length === 0) throw new ConnectError('unresolvable', target)
    return addresses
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** One attempt after another, overlapping once one is slow; the first to connect wins, the rest are dropped. */
function firstConnected(
  addresses: readonly string[],
  port: number,
  target: string,
  signal: AbortSignal,
): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const open = new Set<net.Socket>()
    const waiting = [...addresses]
    let delay: NodeJS.Timeout | undefined

    const settle = (winner: net.Socket | null, error?: unknown) => {
      clearTimeout(delay)
      signal.removeEventListener('abort', onAbort)
      for (const socket of open) if (socket !== winner) socket.destroy()
      if (winner === null) return reject(error)
      winner.removeAllListeners('error')
      winner.removeAllListeners('connect')
      resolve(winner)
    }
    const onAbort = () => settle(null, signal.reason)
    const attempt = () => {
      clearTimeout(delay)
      const address = waiting.shift()
      if (address === undefined) return
      const socket = net.connect({ host: address, port, autoSelectFamily: false, noDelay: true })
      open.add(socket)
      socket.once('connect', () => settle(socket))
      socket.on('error', (cause) => {
        if (!open.delete(socket)) return
        if (waiting.length > 0) attempt()
        else if (open.size === 0) settle(null, new ConnectError('unreachable', target, { cause }))
      })
      if (waiting.length > 0) delay = setTimeout(attempt, ATTEMPT_DELAY_MS)
    }

    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    else attempt()
  })
}

async function withDeadline<T>(
  { host, port, signal, timeoutMs }: GuardedConnectOptions,
  connect: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(new ConnectError('timed-out', `${host}:${port}`)), timeoutMs)
  const onAbort = () => deadline.abort(signal?.reason)
  signal?.addEventListener('abort', onAbort, { once: true })
  if (signal?.aborted) onAbort()
  try {
    deadline.signal.throwIfAborted()
    return await connect(deadline.signal)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}

/** IPv6 and IPv4 by turns, beginning with what the resolver put first (RFC 8305, section 4). */
function interleave(addresses: readonly string[]): string[] {
  const first = addresses.filter((address) => net.isIP(address) === net.isIP(addresses[0]!))
  const second = addresses.filter((address) => net.isIP(address) !== net.isIP(addresses[0]!))
  return first
    .flatMap((address, at) => [address, ...second.slice(at, at + 1)])
    .concat(second.slice(first.length))
}

function ignore(): void {}

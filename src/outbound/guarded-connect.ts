import type { LookupAddress } from 'node:dns'
import net from 'node:net'

import type { AddressGuard } from './address-guard.ts'
import { type Lookup, lookupAddresses } from './lookup.ts'
import { parseHost } from './origin.ts'

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

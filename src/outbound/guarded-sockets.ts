import net from 'node:net'
import tls from 'node:tls'

import { LRUCache } from 'lru-cache'

import type { AddressGuard } from './address-guard.ts'
import { ConnectError, type ConnectFault, type VettedOptions, vettedOptions } from './guarded-connect.ts'
import type { Lookup } from './lookup.ts'

type GuardedSocketsOptions = {
  /** For resolving, connecting and the TLS handshake together. */
  connectTimeoutMs: number
  lookup?: Lookup | undefined
  /** Further certificate authorities (PEM); for tests. */
  ca?: string | undefined
}

/** Sockets that are there at once, and are guarded ones when they are connected; else they end with an error that `connectFault` explains. */
type GuardedSockets = {
  plain(host: string, port: number): net.Socket
  secure(host: string, port: number): net.Socket
}

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

export function createGuardedSockets(guard: AddressGuard, options: GuardedSocketsOptions): GuardedSockets {
  const { connectTimeoutMs, lookup, ca } = options
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

  return {
    plain: (host, port) => {
      return guarded(host, port, 'connect', (vetted) => net.connect({ ...vetted, noDelay: true }))
    },
    secure: (host, port) => {
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
    },
  }
}

function deadSocket(error: Error): net.Socket {
  const socket = new net.Socket()
  process.nextTick(() => socket.destroy(error))
  return socket
}

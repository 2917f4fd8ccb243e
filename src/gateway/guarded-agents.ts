import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import type { Duplex } from 'node:stream'

import type { AddressGuard } from './address-guard.ts'
import { ConnectError, type ConnectFault, type VettedOptions, vettedOptions } from './guarded-connect.ts'
import { createIdleConnections } from './idle-connections.ts'
import type { Lookup } from './lookup.ts'

export type GuardedAgents = {
  http: http.Agent
  https: https.Agent
  /**
   * Ends the connections to an origin that are not in use and have not been for longer than `idleMs`, if the
   * one that would be used next is among them: for a request that may not meet one which the origin is ending.
   */
  dropIdle(origin: { hostname: string; port: number }, idleMs: number): void
  /** Ends every connection, also those in use. */
  close(): void
}

export type GuardedAgentsOptions = {
  /** Connections to one origin at a time; further requests wait for one. */
  socketsPerOrigin?: number
  /** Connections to all origins together. */
  socketsInTotal?: number
  /** For resolving, connecting and the TLS handshake together. */
  connectTimeoutMs?: number
  /** An idle connection is closed after this time; 0: each request has a connection of its own. */
  keepAliveMs?: number
  lookup?: Lookup | undefined
  /** Further certificate authorities (PEM); for tests. */
  ca?: string | undefined
}

/** Errors of sockets that never came to be connections. */
const beforeConnection = new WeakSet<Error>()

/**
 * Why a request through these agents (or a guardedConnect) got no connection;
 * null when there was one and something else went wrong. A failed TLS handshake,
 * a wrong certificate too, is `unreachable`.
 */
export function connectFault(error: unknown): ConnectFault | null {
  if (error instanceof ConnectError) return error.fault
  return error instanceof Error && beforeConnection.has(error) ? 'unreachable' : null
}

/**
 * A pair of agents (keep-alive unless told otherwise) for node:http and node:https whose every connection
 * is a guarded one. When there is none, the request ends with an error that
 * `connectFault` explains.
 */
export function createGuardedAgents(guard: AddressGuard, options: GuardedAgentsOptions = {}): GuardedAgents {
  const {
    socketsPerOrigin = 64,
    socketsInTotal = 1_024,
    connectTimeoutMs = 10_000,
    keepAliveMs = 15_000,
    lookup,
    ca,
  } = options
  const agentOptions = {
    keepAlive: keepAliveMs > 0,
    noDelay: true,
    maxSockets: socketsPerOrigin,
    maxTotalSockets: socketsInTotal,
    maxFreeSockets: socketsPerOrigin,
    timeout: keepAliveMs,
    scheduling: 'lifo' as const,
  }

  const idle = createIdleConnections()

  /** The socket is there at once, before it is connected: agents count and cap only sockets that they hold. */
  function guarded<S extends net.Socket>(
    to: http.ClientRequestArgs,
    connected: 'connect' | 'secureConnect',
    open: (vetted: VettedOptions) => S,
  ): S | net.Socket {
    const target = { host: to.host ?? '', port: Number(to.port) }
    let socket: S
    try {
      socket = open(vettedOptions({ ...target, guard, lookup }))
    } catch (error) {
      return deadSocket(error as Error)
    }
    const late = setTimeout(
      () => socket.destroy(new ConnectError('timed-out', `${target.host}:${target.port}`)),
      connectTimeoutMs,
    )
    const onError = (error: Error) => void beforeConnection.add(error)
    socket.once('error', onError)
    socket.once(connected, () => {
      clearTimeout(late)
      socket.off('error', onError)
    })
    socket.once('close', () => clearTimeout(late))
    idle.know(socket, `${target.host}:${target.port}`)
    return socket
  }

  class PlainAgent extends http.Agent {
    override keepSocketAlive(socket: Duplex) {
      idle.begins(socket)
      // It says whether the connection may be kept.
      return super.keepSocketAlive(socket)
    }

    override reuseSocket(socket: Duplex, request: http.ClientRequest): void {
      idle.ends(socket)
      super.reuseSocket(socket, request)
    }

    override createConnection(to: http.ClientRequestArgs): Duplex {
      return guarded(to, 'connect', (vetted) => net.connect({ ...vetted, noDelay: true }))
    }
  }

  class TlsAgent extends https.Agent {
    override keepSocketAlive(socket: Duplex) {
      idle.begins(socket)
      // It says whether the connection may be kept.
      return super.keepSocketAlive(socket)
    }

    override reuseSocket(socket: Duplex, request: http.ClientRequest): void {
      idle.ends(socket)
      super.reuseSocket(socket, request)
    }

    override createConnection(to: https.RequestOptions): Duplex {
      // The agent's own createConnection keeps TLS sessions. tls.connect ignores
      // block lists, but resolves by the lookup it is given.
      return guarded(
        to,
        'secureConnect',
        (vetted) => super.createConnection({ ...to, ...vetted }) as net.Socket,
      )
    }
  }

  const agents = {
    http: new PlainAgent(agentOptions),
    https: new TlsAgent(ca === undefined ? agentOptions : { ...agentOptions, ca }),
  }
  return {
    ...agents,
    dropIdle: ({ hostname, port }, idleMs) => idle.drop(`${hostname}:${port}`, idleMs),
    close() {
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}

function deadSocket(error: Error): net.Socket {
  const socket = new net.Socket()
  process.nextTick(() => socket.destroy(error))
  return socket
}

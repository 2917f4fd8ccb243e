import http from 'node:http'
import https from 'node:https'
import type net from 'node:net'
import type { Duplex } from 'node:stream'

import type { AddressGuard } from './address-guard.ts'
import { createGuardedSockets } from './guarded-sockets.ts'
import type { Lookup } from './lookup.ts'

export type GuardedAgents = {
  http: http.Agent
  https: https.Agent
  /** A guarded socket for whoever keeps his connections himself (`src/outbound/client/pool.ts`); it counts against no cap here. */
  connect(origin: { protocol: 'http:' | 'https:'; hostname: string; port: number }): net.Socket
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

/** Connections to one origin that nobody uses. */
const MOST_FREE = 64

/**
 * A pair of agents (keep-alive unless told otherwise) for node:http and node:https whose every connection
 * is a guarded one. When there is none, the request ends with an error that
 * `connectFault` explains.
 */
export function createGuardedAgents(guard: AddressGuard, options: GuardedAgentsOptions = {}): GuardedAgents {
  const {
    socketsPerOrigin = 256,
    socketsInTotal = 2_048,
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
    maxFreeSockets: Math.min(socketsPerOrigin, MOST_FREE),
    timeout: keepAliveMs,
    scheduling: 'lifo' as const,
  }

  const sockets = createGuardedSockets(guard, { connectTimeoutMs, lookup, ca })
  /** Those of `connect`. */
  const open = new Set<net.Socket>()

  class PlainAgent extends http.Agent {
    override createConnection(to: http.ClientRequestArgs): Duplex {
      return sockets.plain(to.host ?? '', Number(to.port))
    }
  }

  class TlsAgent extends https.Agent {
    override createConnection(to: https.RequestOptions): Duplex {
      return sockets.secure(to.host ?? '', Number(to.port))
    }
  }

  const agents = { http: new PlainAgent(agentOptions), https: new TlsAgent(agentOptions) }
  return {
    ...agents,
    connect({ protocol, hostname, port }) {
      const socket = protocol === 'https:' ? sockets.secure(hostname, port) : sockets.plain(hostname, port)
      open.add(socket)
      socket.once('close', () => open.delete(socket))
      return socket
    },
    close() {
      // For requests that wait, an agent opens connections in the place of those that it loses: nobody is to keep them.
      agents.http.maxFreeSockets = 0
      agents.https.maxFreeSockets = 0
      agents.http.destroy()
      agents.https.destroy()
      for (const socket of open) socket.destroy()
    },
  }
}

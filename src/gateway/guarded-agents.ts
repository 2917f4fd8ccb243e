import http from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'

import type { AddressGuard } from './address-guard.ts'
import { guardedConnect, guardedTlsConnect, serverName } from './guarded-connect.ts'
import type { Lookup } from './lookup.ts'

export type GuardedAgents = {
  http: http.Agent
  https: https.Agent
  /** Ends idle connections at once and all others with their request. */
  close(): void
}

export type GuardedAgentsOptions = {
  /** Connections to one origin at a time; further requests wait for one. */
  socketsPerOrigin?: number
  /** Connections to all origins together. */
  socketsInTotal?: number
  /** For resolving, connecting and the TLS handshake together. */
  connectTimeoutMs?: number
  /** An idle connection is closed after this time. */
  keepAliveMs?: number
  lookup?: Lookup | undefined
  /** Further certificate authorities (PEM); for tests. */
  ca?: string | undefined
}

type Created = (error: Error | null, socket: Duplex) => void

/**
 * A pair of keep-alive agents for node:http and node:https whose every connection
 * is a guarded one. A refused or failed one ends the request with a ConnectError.
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
    keepAlive: true,
    maxSockets: socketsPerOrigin,
    maxTotalSockets: socketsInTotal,
    maxFreeSockets: socketsPerOrigin,
    timeout: keepAliveMs,
    scheduling: 'lifo' as const,
  }
  const target = (to: http.ClientRequestArgs) => ({
    host: to.host ?? '',
    port: Number(to.port),
    guard,
    timeoutMs: connectTimeoutMs,
    lookup,
  })

  class PlainAgent extends http.Agent {
    override createConnection(to: http.ClientRequestArgs, created?: Created): null {
      deliver(guardedConnect(target(to)), created)
      return null
    }
  }

  class TlsAgent extends https.Agent {
    override createConnection(to: https.RequestOptions, created?: Created): null {
      // The agent's own createConnection keeps TLS sessions; given a socket, it connects nowhere by itself.
      const secure = (socket: Socket) =>
        super.createConnection({
          servername: serverName(to.host ?? ''),
          ...to,
          socket,
        } as object) as TLSSocket
      deliver(guardedTlsConnect({ ...target(to), secure }), created)
      return null
    }
  }

  const agents = {
    http: new PlainAgent(agentOptions),
    https: new TlsAgent(ca === undefined ? agentOptions : { ...agentOptions, ca }),
  }
  return {
    ...agents,
    close() {
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}

function deliver(connection: Promise<Duplex>, created: Created | undefined): void {
  connection.then(
    (socket) => created?.(null, socket),
    // An agent that is told of an error looks at no socket.
    (error: Error) => (created as ((error: Error) => void) | undefined)?.(error),
  )
}

import http from 'node:http'
import https from 'node:https'
import type net from 'node:net'

import type { Origin } from '../origin.ts'
import { OriginSilent } from './faults.ts'

/** Connections to origins; guarded ones, see `src/outbound/guarded-agents.ts`. */
export type OriginAgents = {
  http: http.Agent
  https: http.Agent
  /** A connection that is the caller's own; it is there before it is connected. */
  connect(origin: Pick<Origin, 'protocol' | 'hostname' | 'port'>): net.Socket
}

type OriginRequest = {
  method: string
  path: string
  /** Flat and complete: node adds none but `Connection`. */
  headers: string[]
  /** For a free connection, and then as the longest silence: the request fails with OriginSilent. */
  answerWaitMs: number
}

/**
 * A request of our own or a handshake to a domain's origin by node's client, not
 * yet ended. What clients ask goes by `src/outbound/client/pool.ts`.
 */
export function originRequest(
  agents: OriginAgents,
  { origin }: { origin: Origin },
  { answerWaitMs, ...request }: OriginRequest,
): http.ClientRequest {
  const to = { host: origin.hostname, port: origin.port, setHost: false, timeout: answerWaitMs }
  const upstream =
    origin.protocol === 'https:'
      ? https.request({ ...request, ...to, agent: agents.https })
      : http.request({ ...request, ...to, agent: agents.http })
  const giveUp = () => void upstream.destroy(new OriginSilent())
  const unconnected = setTimeout(giveUp, answerWaitMs)
  upstream.once('socket', () => clearTimeout(unconnected))
  upstream.once('close', () => clearTimeout(unconnected))
  return upstream.on('timeout', giveUp)
}

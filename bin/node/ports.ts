import type { Config } from '../settings/config.ts'
import type { ListenWhere } from './listen.ts'

/** `isShared`: the edge's ports may be open in other processes. */
export function portsOf(
  { api, edge }: Config,
  isShared: boolean,
): { api: ListenWhere; edge: ListenWhere; tls: ListenWhere } {
  const { host, port, tlsPort } = edge
  const shared = isShared
  return {
    api: { ...api, setting: 'PREPAINT_API' },
    edge: { host, shared, port, setting: 'PREPAINT_EDGE' },
    tls: { host, shared, port: tlsPort, setting: 'PREPAINT_EDGE_TLS', scheme: 'https' },
  }
}

/** Ports without which the node does not start. */
export function neededPorts(config: Config): ListenWhere[] {
  // Other programs, and nodes without PREPAINT_EDGE_SHARE_PORT, are found here.
  const { api, edge, tls } = portsOf(config, config.edge.sharePort)
  if (!config.roles.has('edge')) return [api]
  return config.edge.tlsPortGiven ? [api, edge, tls] : [api, edge]
}

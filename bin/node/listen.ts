import http from 'node:http'
import type net from 'node:net'
import type { AddressInfo } from 'node:net'

import { CommandError } from '../command-line/command.ts'

export type ListenWhere = {
  host: string
  /** 0: the kernel picks a free port. */
  port: number
  scheme?: 'http' | 'https'
  /** SO_REUSEPORT, for several processes. */
  shared?: boolean
  /** Prefix of the settings: `PREPAINT_API` for PREPAINT_API_HOST and PREPAINT_API_PORT. */
  setting: string
}

/** Returns `http://host:port`. Errors name the setting. */
export async function listen(server: net.Server, where: ListenWhere): Promise<string> {
  const { host, port, shared = false } = where
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(explained(error, where)))
    server.listen({ host, port, reusePort: shared }, () => {
      server.removeAllListeners('error')
      resolve()
    })
  })
  const address = server.address() as AddressInfo
  return `${where.scheme ?? 'http'}://${host.includes(':') ? `[${host}]` : host}:${address.port}`
}

/** Throws if a port cannot be opened. Call before slow startup steps. */
export async function checkPorts(wheres: readonly ListenWhere[]): Promise<void> {
  const servers = wheres.map((where) => ({ where, server: http.createServer() }))
  try {
    // All open together, to find two settings with the same port.
    for (const { server, where } of servers) await listen(server, where)
  } finally {
    await Promise.all(servers.map(({ server }) => new Promise((resolve) => server.close(resolve))))
  }
}

export function explained(error: NodeJS.ErrnoException, { host, port, setting }: ListenWhere): Error {
  switch (error.code) {
    case 'EADDRINUSE':
      return new CommandError(
        `Port ${port} on ${host} is in use. Stop the program that uses it, or set ${setting}_PORT to another port, or to 0 for a free one.`,
      )
    case 'EACCES':
      return new CommandError(
        `Port ${port} needs a privilege that this user does not have. Set ${setting}_PORT to 1024 or above.`,
      )
    case 'ENOTSUP':
      return new CommandError('PREPAINT_EDGE_SHARE_PORT: this system cannot share a port. Leave it unset.')
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new CommandError(`${setting}_HOST: this machine has no address "${host}".`)
    default:
      return error
  }
}

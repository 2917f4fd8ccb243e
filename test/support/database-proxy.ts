import net from 'node:net'
import path from 'node:path'
import type pg from 'pg'
import { listening } from './loopback.ts'

// A network between a node and PostgreSQL that can fail.

/** `swallow`: drops everything silently; `refuse`: breaks every connection. */
type State = 'through' | 'swallow' | 'refuse'

export type DatabaseProxy = Awaited<ReturnType<typeof startDatabaseProxy>>

export async function startDatabaseProxy(connection: pg.ClientConfig) {
  const socketFile = path.join(String(connection.host), `.s.PGSQL.${connection.port}`)
  const pairs = new Set<[net.Socket, net.Socket]>()
  let state: State = 'through'

  const server = net.createServer((near) => {
    const far = net.connect(socketFile)
    const pair: [net.Socket, net.Socket] = [near, far]
    pairs.add(pair)
    const end = () => {
      pairs.delete(pair)
      near.destroy()
      far.destroy()
    }
    // Dropped bytes never arrive: the connection is dead, as after a cut cable.
    let isDead = false
    const pass = (to: net.Socket) => (chunk: Buffer) => {
      isDead ||= state !== 'through'
      if (!isDead) to.write(chunk)
    }
    near.on('data', pass(far))
    far.on('data', pass(near))
    for (const socket of pair) {
      socket.on('error', () => {})
      socket.on('close', () => {
        if (!isDead || socket === near) end()
      })
    }
    if (state === 'refuse') end()
  })
  const port = await listening(server)
  const breakAll = () => {
    for (const [near, far] of pairs) {
      near.resetAndDestroy()
      far.destroy()
    }
  }
  return {
    connection: { ...connection, host: '127.0.0.1', port },
    url: `postgres://${String(connection.user)}@127.0.0.1:${port}/${String(connection.database)}`,
    set(next: State): void {
      state = next
      if (state === 'refuse') breakAll()
    },
    close() {
      server.close()
      breakAll()
    },
  }
}

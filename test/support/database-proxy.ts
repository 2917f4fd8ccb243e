import net from 'node:net'
import path from 'node:path'
import type pg from 'pg'
import { listening } from './loopback.ts'

// A network between a node and PostgreSQL that can fail.

/**
 * `swallow`: drops everything silently; `refuse`: breaks every connection. A code is PostgreSQL's error for each new
 * connection; open ones stay.
 */
type State = 'through' | 'swallow' | 'refuse' | '57P03' | '53300'

export type DatabaseProxy = Awaited<ReturnType<typeof startDatabaseProxy>>

export async function startDatabaseProxy(connection: pg.ClientConfig) {
  const socketFile = path.join(String(connection.host), `.s.PGSQL.${connection.port}`)
  const pairs = new Set<[net.Socket, net.Socket]>()
  let state: State = 'through'
  let bytesRead = 0

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
      isDead ||= state === 'swallow'
      if (!isDead) to.write(chunk)
    }
    if (state === '57P03' || state === '53300') {
      const code = state
      near.once('data', () => near.end(errorResponse(code)))
      near.on('error', () => {})
      pairs.delete(pair)
      far.destroy()
      return
    }
    near.on('data', pass(far))
    far.on('data', pass(near))
    far.on('data', (chunk) => {
      bytesRead += chunk.length
    })
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
    breakAll,
    /** What came from PostgreSQL so far. */
    bytesRead: () => bytesRead,
    close() {
      server.close()
      breakAll()
    },
  }
}

/** The message `ErrorResponse` of PostgreSQL's protocol. */
function errorResponse(code: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0Mthe proxy says so\0\0`)
  const head = Buffer.alloc(5)
  head.write('E')
  head.writeInt32BE(fields.length + 4, 1)
  return Buffer.concat([head, fields])
}

import assert from 'node:assert/strict'
import net from 'node:net'
import { describe, it } from 'node:test'
import pg from 'pg'
import { until } from '../../test/support/condition.ts'
import { openTestDatabase } from '../../test/support/database.ts'
import { freePort, listening } from '../../test/support/loopback.ts'
import { silentLog } from '../log.ts'
import { DatabaseError, isNotUpYet } from './connection.ts'
import { openDatabase } from './database.ts'

const open = (databaseUrl: string, waitMs = 0, lines: string[] = []) =>
  openDatabase({
    ...{ databaseUrl, dataDir: '/nowhere', log: silentLog(), waitMs },
    onLongStep: (line) => lines.push(line),
  })

async function refusal(databaseUrl: string, waitMs?: number): Promise<string> {
  try {
    await (await open(databaseUrl, waitMs)).close()
  } catch (error) {
    assert(error instanceof DatabaseError, String(error))
    return error.message
  }
  throw new Error('it was accepted')
}

const database = await openTestDatabase()

it('a server that ends between two queries may be back in a moment, and what it refuses it will refuse again', async () => {
  const client = new pg.Client(database.connection)
  client.on('error', () => {})
  await client.connect()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const ended = new Promise<void>((resolve) => client.once('end', () => resolve()))
  await database.pool.query('select pg_terminate_backend($1)', [rows[0]!.pid])
  await ended
  await assert.rejects(client.query('select'), isNotUpYet)
  await assert.rejects(database.pool.query('select 1 / 0'), (error) => !isNotUpYet(error))
})

describe('a server given by DATABASE_URL', () => {
  it('is used as it is; nothing is started', async () => {
    const opened = await open(database.url)
    const { rows } = await opened.pool.query('select current_database() as name')
    assert.deepEqual(rows, [{ name: database.connection.database }])
    await opened.close()
  })

  it('without the database named: says which one, and what to do', async () => {
    const message = await refusal(database.url.replace(/test_\d+_\d+/, 'absent'))
    assert.match(message, /Cannot use the database absent at .*Create the database/)
  })

  it('in another encoding than UTF8 is refused', async () => {
    const name = 'latin'
    await database.pool.query(`create database ${name} encoding latin1 locale 'C' template template0`)
    assert.match(
      await refusal(database.url.replace(/test_\d+_\d+/, name)),
      /encoding LATIN1; Prepaint needs .* UTF8/,
    )
    await database.pool.query(`drop database ${name}`)
  })

  it('that is still starting is waited for, with a line that says so', async () => {
    const port = await freePort()
    const lines: string[] = []
    const opening = open(`postgres://u@127.0.0.1:${port}/db`, 20_000, lines)
    const failed = opening.catch((error: Error) => error.message)
    await until('it says that it waits', () => lines.length > 0)
    const server = await startOldServer('14.11', 140_011, port)
    assert.match(String(await failed), /14\.11/)
    assert.deepEqual(lines, [`Waiting for the database db at 127.0.0.1:${port} ...`])
    server.close()
  })

  it('that does not come up in time: says where, and never the password', async () => {
    const port = await freePort()
    const message = await refusal(`postgres://someone:geheim@127.0.0.1:${port}/db`, 300)
    assert.match(message, new RegExp(`Cannot use the database db at 127\\.0\\.0\\.1:${port}: .*ECONNREFUSED`))
    assert.doesNotMatch(message, /geheim/)
  })

  it('of PostgreSQL 15 is taken; of 14.99, or a read-only replica, is refused', async () => {
    const servers = [
      await startOldServer('15.0', 150_000),
      await startOldServer('14.99', 140_099),
      await startOldServer('17.2', 170_002, 0, 't'),
    ] as const
    const [fits, old, replica] = servers.map(({ port }) => `postgres://u@127.0.0.1:${port}/db`)
    await (await open(fits!)).close()
    const needs = 'is PostgreSQL 14.99; Prepaint needs PostgreSQL 15 or newer.'
    assert.equal(await refusal(old!), `the database db at 127.0.0.1:${servers[1].port} ${needs}`)
    assert.match(await refusal(replica!), /read-only replica/)
    for (const { close } of servers) close()
  })

  it('a URL that means nothing is refused by name', async () => {
    assert.match(await refusal('postgres://u@h:99999/db'), /^DATABASE_URL cannot be used: /)
  })
})

/**
 * Speaks just enough of PostgreSQL's protocol (version 3: AuthenticationOk,
 * ReadyForQuery, one row) to say which version it is: a fake for a failure that
 * no installed server can show.
 */
async function startOldServer(version: string, number: number, port = 0, replica = 'f') {
  const message = (type: string, body: Buffer) => {
    const head = Buffer.alloc(5)
    head.write(type)
    head.writeInt32BE(body.length + 4, 1)
    return Buffer.concat([head, body])
  }
  const int16 = (n: number) => Buffer.from([n >> 8, n & 255])
  const int32 = (n: number) => Buffer.from([n >>> 24, (n >> 16) & 255, (n >> 8) & 255, n & 255])
  const ready = message('Z', Buffer.from('I'))
  const columns = [
    ['version', 25, version],
    ['number', 23, String(number)],
    ['encoding', 25, 'UTF8'],
    ['replica', 16, replica],
  ] as const
  const description = columns.map(([name, oid]) =>
    Buffer.concat([Buffer.from(`${name}\0`), int32(0), int16(0), int32(oid), int16(-1), int32(-1), int16(0)]),
  )
  const row = columns.map(([, , value]) => Buffer.concat([int32(value.length), Buffer.from(value)]))
  const answer = Buffer.concat([
    message('T', Buffer.concat([int16(columns.length), ...description])),
    message('D', Buffer.concat([int16(columns.length), ...row])),
    message('C', Buffer.from('SELECT 1\0')),
    ready,
  ])
  const server = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.write(Buffer.concat([message('R', int32(0)), ready]))
      socket.on('data', (data) =>
        data.toString('latin1', 0, 1) === 'Q' ? socket.write(answer) : socket.end(),
      )
    })
  })
  return { port: await listening(server, port), close: () => server.close() }
}

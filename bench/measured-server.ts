import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { CONNECTION_DEFAULTS, withClient } from '@prepaint/postgres/connection.ts'
import { databaseUser } from '@prepaint/runtime/system-user.ts'
import type pg from 'pg'
import { findBinaries } from '../packages/postgres/src/private-postgres/binaries.ts'
import { until } from '../test/support/condition.ts'
import { treeCpuMs } from './tree-meter.ts'

const USER = 'bench'

/**
 * A durable PostgreSQL with the settings of its package, on loopback only, and a synchronous standby if asked for. `major`: Debian's server of this version;
 * null: the packaged one.
 */
export class MeasuredServer {
  readonly connection: pg.ClientConfig
  readonly version: string
  readonly #folder: string
  readonly #bin: string
  readonly #running = new Map<string, ReturnType<typeof spawn>>()

  private constructor(folder: string, bin: string, version: string, port: number) {
    this.#folder = folder
    this.#bin = bin
    this.version = version
    this.connection = { ...CONNECTION_DEFAULTS, host: folder, port, user: USER, database: 'postgres' }
  }

  static async start(
    major: string | null,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<MeasuredServer> {
    const user = databaseUser()
    const folder = mkdtempSync(path.join(tmpdir(), 'prepaint-growth-'))
    if (user !== null) chownSync(folder, user.uid, user.gid)
    chmodSync(folder, 0o711)
    const packaged = () => path.dirname(findBinaries({ user, copyTo: folder, onLongStep: () => {} }).initdb)
    const bin = major === null ? packaged() : `/usr/lib/postgresql/${major}/bin`
    const data = path.join(folder, 'primary')
    await run(path.join(bin, 'initdb'), [
      '-D',
      data,
      '-U',
      USER,
      '-E',
      'UTF8',
      '--locale=C.UTF-8',
      '--auth=trust',
    ])
    const all = {
      listen_addresses: '',
      unix_socket_directories: folder,
      max_connections: '100',
      jit: 'off',
      ...settings,
    }
    for (const [name, value] of Object.entries(all)) {
      appendFileSync(path.join(data, 'postgresql.conf'), `${name} = '${value}'\n`)
    }
    const server = new MeasuredServer(folder, bin, path.basename(path.dirname(bin)), 5432)
    await server.#launch('primary', 5432)
    return server
  }

  /** Copies the stopped primary, and waits until every commit waits for the copy. */
  async addStandby(): Promise<void> {
    await this.#stop('primary')
    const standby = path.join(this.#folder, 'standby')
    cpSync(path.join(this.#folder, 'primary'), standby, { recursive: true, preserveTimestamps: true })
    await own(standby)
    chmodSync(standby, 0o700)
    writeFileSync(path.join(standby, 'standby.signal'), '')
    const source = `host=${this.#folder} port=5432 user=${USER} application_name=standby`
    appendFileSync(path.join(standby, 'postgresql.conf'), `primary_conninfo = '${source}'\n`)
    const primary = path.join(this.#folder, 'primary', 'postgresql.conf')
    appendFileSync(primary, `synchronous_standby_names = 'standby'\nsynchronous_commit = 'on'\n`)
    await this.#launch('primary', 5432)
    await this.#launch('standby', 5433)
    await until('the standby is synchronous', () =>
      withClient(this.connection, async (client) => {
        const { rowCount } = await client.query(`select from pg_stat_replication where sync_state = 'sync'`)
        return rowCount === 1
      }),
    )
  }

  /** Processor time of all processes of the primary so far. */
  cpuMs(): number {
    return treeCpuMs(this.#running.get('primary')!.pid!)
  }

  async walBytes(): Promise<number> {
    return withClient(this.connection, async (client) => {
      const { rows } = await client.query<{ at: string }>(`select pg_current_wal_lsn() - '0/0' as at`)
      return Number(rows[0]!.at)
    })
  }

  async close(): Promise<void> {
    for (const name of [...this.#running.keys()].reverse()) await this.#stop(name)
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #launch(name: string, port: number): Promise<void> {
    const data = path.join(this.#folder, name)
    const child = spawn(path.join(this.#bin, 'postgres'), ['-D', data, '-p', String(port)], {
      stdio: ['ignore', 'ignore', 'ignore'],
      ...identity(),
    })
    this.#running.set(name, child)
    await until(`${name} accepts connections`, async () => {
      if (child.exitCode !== null) throw new Error(`${name} ended with status ${child.exitCode}`)
      return withClient({ ...this.connection, port }, async () => true).catch(() => false)
    })
  }

  async #stop(name: string): Promise<void> {
    const child = this.#running.get(name)!
    const ended = child.exitCode === null ? once(child, 'exit') : null
    child.kill('SIGINT')
    await ended
    this.#running.delete(name)
  }
}

/** PostgreSQL refuses to run as root. */
function identity(): { uid?: number; gid?: number } {
  const user = databaseUser()
  return user === null ? {} : { uid: user.uid, gid: user.gid }
}

async function run(command: string, args: readonly string[]): Promise<void> {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'], ...identity() })
  const [status] = await once(child, 'exit')
  if (status !== 0) throw new Error(`${command} ended with status ${status}`)
}

async function own(folder: string): Promise<void> {
  const user = databaseUser()
  if (user === null) return
  chownSync(folder, user.uid, user.gid)
  for (const name of readdirSync(folder, { recursive: true }))
    chownSync(path.join(folder, String(name)), user.uid, user.gid)
}

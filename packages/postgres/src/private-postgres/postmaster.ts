import { rmSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import type { Log } from '@prepaint/runtime/log.ts'
import type { SystemUser } from '@prepaint/runtime/system-user.ts'
import { DatabaseError } from '../connection.ts'
import type { Binaries } from './binaries.ts'
import { holderOf, readPidFile } from './owner-lock.ts'
import { type ChildEnd, WatchedChild } from './watched-child.ts'

export type PostmasterOptions = {
  binaries: Binaries
  data: string
  socketDir: string
  user: SystemUser
  log: Log
  settings: Readonly<Record<string, string>>
  /** Tests set it: the server stops without a checkpoint, and this directory is removed even if this process is killed. */
  removeAfter?: string
}

type Postmaster = {
  readonly ended: Promise<ChildEnd>
  stop(): Promise<void>
}

export const PRIVATE_SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  max_connections: '50',
  shared_buffers: '128MB',
  // Queries are short, so compiling costs more than it gains. `sync` saves three I/O processes.
  jit: 'off',
  io_method: 'sync',
  wal_level: 'minimal',
  max_wal_senders: '0',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_destination: 'stderr',
  logging_collector: 'off',
  log_line_prefix: '',
  log_checkpoints: 'off',
  // No customer data in the log: neither statements nor keys of violated constraints.
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
}

const ORPHAN_POLL_MS = 20
const ORPHAN_FAST_MS = 10_000
const ORPHAN_LIMIT_MS = 20_000
const READY_POLL_MS = 10

/** A killed server's processes use its shared memory a little longer, and another process can reuse its pid. */
const TEMPORARY = /pre-existing shared memory block|lock file "[^"]*" already exists/
const RETRIES = 25
const RETRY_MS = 400

/** Stops an orphan on `data` first. Resolves when connections are accepted. The caller has the owner lock. */
export async function startPostmaster(options: PostmasterOptions): Promise<Postmaster> {
  const { data, log } = options
  for (let attempt = 1; ; attempt++) {
    const otherPid = await clearWay(data, log)
    const { child, ready } = launch(options, otherPid)
    const first = await Promise.race([ready, child.ended])
    if (first === 'ready') {
      child.background()
      return { ended: child.ended, stop: () => stop(options, child) }
    }
    if (!TEMPORARY.test(first.lastWords) || attempt === RETRIES) {
      throw new DatabaseError(
        `PostgreSQL did not start on ${data}: ${first.lastWords.trim() || 'no reason given'}`,
      )
    }
    await sleep(RETRY_MS)
  }
}

function launch(options: PostmasterOptions, otherPid: number | null) {
  const { binaries, data, socketDir, user, settings, log, removeAfter } = options
  const args = ['-D', data, '-c', `unix_socket_directories=${quoted(socketDir)}`]
  for (const [name, value] of Object.entries(settings)) args.push('-c', `${name}=${value}`)
  const env: Record<string, string> = {}
  // Marks the pid in a stale lock file as not a server (pg_ctl does this for its shell).
  if (otherPid !== null) env['PG_GRANDPARENT_PID'] = String(otherPid)
  const child = new WatchedChild({
    command: binaries.postgres,
    args,
    user,
    signal: removeAfter === undefined ? 'INT' : 'QUIT',
    removeAfter,
    onLine: (line) => logLine(log, line),
    env,
  })
  return { child, ready: untilReady(data, child.ended, otherPid) }
}

/** Waits without a limit: crash recovery may take long, and a restart would repeat it. */
async function untilReady(data: string, ended: Promise<ChildEnd>, otherPid: number | null): Promise<'ready'> {
  let gone = false
  void ended.then(() => {
    gone = true
  })
  for (;;) {
    const file = gone ? null : readPidFile(data)
    if (file?.ready && file.pid !== otherPid && holderOf(file.pid, data) !== 'none') return 'ready'
    if (gone) return new Promise(() => {})
    await sleep(READY_POLL_MS)
  }
}

/** Stops an orphan. Returns the pid in a stale pid file if it belongs to another program, else null. */
async function clearWay(data: string, log: Log): Promise<number | null> {
  const file = readPidFile(data)
  if (file === null) {
    // PostgreSQL does not start with an incomplete pid file, for example after a power loss.
    rmSync(path.join(data, 'postmaster.pid'), { force: true })
    return null
  }
  for (let waitedMs = 0; ; waitedMs += ORPHAN_POLL_MS) {
    const holder = holderOf(file.pid, data)
    if (holder === 'none') return null
    if (holder === 'other') {
      log.warn({ pid: file.pid }, 'stale postmaster.pid names a process that is not PostgreSQL')
      return file.pid
    }
    if (waitedMs === 0) log.warn({ pid: file.pid }, 'stopping the PostgreSQL that an earlier process left')
    if (waitedMs >= ORPHAN_LIMIT_MS) {
      throw new DatabaseError(
        `The PostgreSQL with pid ${file.pid} on ${data} does not stop; stop it, then start again.`,
      )
    }
    if (waitedMs % 1_000 === 0) signal(file.pid, waitedMs < ORPHAN_FAST_MS ? 'SIGINT' : 'SIGQUIT')
    await sleep(ORPHAN_POLL_MS)
  }
}

async function stop({ data, log }: PostmasterOptions, child: WatchedChild): Promise<void> {
  child.stop()
  await child.ended
  await clearWay(data, log)
}

const BACK_OFF_FIRST_MS = 100
const BACK_OFF_MAX_MS = 10_000
/** The back-off starts over after this uptime. */
const STABLE_AFTER_MS = 60_000

/** A server that is started again, with back-off, whenever it ends. */
export class SupervisedServer {
  readonly #options: PostmasterOptions
  readonly #stopping = new AbortController()
  readonly #supervised: Promise<void>
  #current: Postmaster
  #isRestarting = false

  /** Rejects if the first start fails. */
  static async start(options: PostmasterOptions): Promise<SupervisedServer> {
    return new SupervisedServer(options, await startPostmaster(options))
  }

  private constructor(options: PostmasterOptions, first: Postmaster) {
    this.#options = options
    this.#current = first
    this.#supervised = this.#supervise()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    // A restart in progress stops itself; stopping it here would look like a failed start.
    if (!this.#isRestarting) await this.#current.stop()
    await this.#supervised
  }

  async #supervise(): Promise<void> {
    const { signal } = this.#stopping
    let backOffMs = BACK_OFF_FIRST_MS
    for (;;) {
      const stable = setTimeout(() => {
        backOffMs = BACK_OFF_FIRST_MS
      }, STABLE_AFTER_MS).unref()
      const { status, lastWords } = await this.#current.ended
      clearTimeout(stable)
      if (signal.aborted) return
      const reason = lastWords.trim().slice(-500)
      this.#options.log.error({ status, lastWords: reason }, 'PostgreSQL ended; starting it again')
      this.#isRestarting = true
      while (this.#isRestarting) {
        await sleep(backOffMs, undefined, { signal }).catch(() => {})
        // The previous server may still run if its watchdog was killed.
        if (signal.aborted) return this.#current.stop()
        backOffMs = Math.min(backOffMs * 2, BACK_OFF_MAX_MS)
        this.#isRestarting = !(await this.#restart())
      }
    }
  }

  async #restart(): Promise<boolean> {
    const { log } = this.#options
    try {
      this.#current = await startPostmaster(this.#options)
      if (this.#stopping.signal.aborted) await this.#current.stop()
      else log.info('PostgreSQL runs again')
      return true
    } catch (error) {
      log.error({ err: (error as Error).message }, 'PostgreSQL could not be started again')
      return false
    }
  }
}

function quoted(dir: string): string {
  return `"${dir.replaceAll('"', '""')}"`
}

function signal(pid: number, name: 'SIGINT' | 'SIGQUIT'): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Sent to clients while the server starts or stops; they retry. */
const START_OR_STOP = /the database system is |terminating connection due to administrator command/

function logLine(log: Log, line: string): void {
  const text = `PostgreSQL: ${line}`
  if (/^(WARNING|ERROR|FATAL|PANIC):/.test(line) && !START_OR_STOP.test(line)) log.warn(text)
  else log.debug(text)
}

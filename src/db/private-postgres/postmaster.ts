import { rmSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import type { Log } from '../../log.ts'
import type { SystemUser } from '../../system-user.ts'
import { DatabaseError } from '../connection.ts'
import type { Binaries } from './binaries.ts'
import { holderOf, readPidFile } from './owner-lock.ts'
import { type ChildEnd, startWatchedChild, type WatchedChild } from './watched-child.ts'

export type PostmasterOptions = {
  binaries: Binaries
  data: string
  socketDir: string
  user: SystemUser
  log: Log
  settings: Readonly<Record<string, string>>
  /** For tests: ended without ceremony, and this directory removed with it, even when we are killed. */
  removeAfter?: string
}

export type Postmaster = {
  /** Settles once, when the server is gone, whatever ended it. */
  readonly ended: Promise<ChildEnd>
  /** Ends the server (open transactions are rolled back); resolves when it is gone. */
  stop(): Promise<void>
}

/** How the private PostgreSQL runs; every value is a choice, none a guess at the machine. */
export const PRIVATE_SETTINGS: Readonly<Record<string, string>> = {
  // The socket is the only way in, and its directory says who may.
  listen_addresses: '',
  unix_socket_permissions: '0700',
  max_connections: '50',
  shared_buffers: '128MB',
  // Our queries are short: compiling them costs more than it gains, and three I/O processes are saved.
  jit: 'off',
  io_method: 'sync',
  // There is no replica of a private server.
  wal_level: 'minimal',
  max_wal_senders: '0',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_destination: 'stderr',
  logging_collector: 'off',
  log_line_prefix: '',
  log_checkpoints: 'off',
  // No values of customers in our log: neither statements nor the keys of a violated constraint.
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
}

const ORPHAN_POLL_MS = 20
const ORPHAN_FAST_MS = 10_000
const ORPHAN_LIMIT_MS = 20_000
const READY_POLL_MS = 10

/**
 * Processes of a killed server use its memory for a moment longer. And the pid
 * in a stale lock file can be taken by a new process (in a container by one of
 * our own) after we looked who has it; a server it is not, we hold the lock.
 */
const MAY_PASS = /pre-existing shared memory block|lock file "[^"]*" already exists/
const PASS_RETRIES = 25
const PASS_RETRY_MS = 400

/**
 * Starts PostgreSQL on `data` and resolves when it takes connections.
 * An orphan on the same data (our predecessor and its watchdog were killed) is
 * stopped first. The caller holds the owner lock, so nobody else starts one.
 */
export async function startPostmaster(options: PostmasterOptions): Promise<Postmaster> {
  const { data, log } = options
  for (let attempt = 1; ; attempt++) {
    const strangerPid = await clearWay(data, log)
    const { child, ready } = launch(options, strangerPid)
    const first = await Promise.race([ready, child.ended])
    if (first === 'ready') {
      child.background()
      return { ended: child.ended, stop: () => stop(options, child) }
    }
    if (!MAY_PASS.test(first.lastWords) || attempt === PASS_RETRIES) {
      throw new DatabaseError(
        `PostgreSQL did not start on ${data}: ${first.lastWords.trim() || 'no reason given'}`,
      )
    }
    await sleep(PASS_RETRY_MS)
  }
}

function launch(options: PostmasterOptions, strangerPid: number | null) {
  const { binaries, data, socketDir, user, settings, log } = options
  const child = startWatchedChild({
    command: binaries.postgres,
    args: [
      ...['-D', data, '-c', `unix_socket_directories=${quoted(socketDir)}`],
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    user,
    ...(options.removeAfter === undefined
      ? { signal: 'INT' }
      : { signal: 'QUIT', removeAfter: options.removeAfter }),
    onLine: (line) => logLine(log, line),
    // With this, PostgreSQL does not take the process with the pid of its stale lock file for a
    // server (pg_ctl keeps the shell that called it apart in the same way).
    ...(strangerPid === null ? {} : { env: { PG_GRANDPARENT_PID: String(strangerPid) } }),
  })
  return { child, ready: untilReady(data, child.ended, strangerPid) }
}

/**
 * Waits until the pid file of the new server says "ready". There is no limit
 * but its death: recovery after a crash takes as long as it takes, and giving
 * up would only begin it anew.
 */
async function untilReady(
  data: string,
  ended: Promise<ChildEnd>,
  strangerPid: number | null,
): Promise<'ready'> {
  let gone = false
  void ended.then(() => {
    gone = true
  })
  for (;;) {
    const file = gone ? null : readPidFile(data)
    if (file?.ready && file.pid !== strangerPid && holderOf(file.pid, data) !== 'nobody') return 'ready'
    // The race is over then, and nobody waits for this promise.
    if (gone) return new Promise(() => {})
    await sleep(READY_POLL_MS)
  }
}

/** Stops an orphan. Returns the pid of a stranger that the stale pid file names, else null. */
async function clearWay(data: string, log: Log): Promise<number | null> {
  const file = readPidFile(data)
  if (file === null) {
    // There is none, or half of one from a machine that lost power: PostgreSQL would refuse to start on that.
    rmSync(path.join(data, 'postmaster.pid'), { force: true })
    return null
  }
  for (let waitedMs = 0; ; waitedMs += ORPHAN_POLL_MS) {
    const holder = holderOf(file.pid, data)
    if (holder === 'nobody') return null
    if (holder === 'stranger') {
      log.warn({ pid: file.pid }, 'stale postmaster.pid names a process that is not PostgreSQL')
      return file.pid
    }
    if (waitedMs === 0) log.warn({ pid: file.pid }, 'stopping the PostgreSQL that an earlier process left')
    if (waitedMs >= ORPHAN_LIMIT_MS) {
      throw new DatabaseError(
        `The PostgreSQL with pid ${file.pid} on ${data} does not stop; end it, then start again.`,
      )
    }
    if (waitedMs % 1_000 === 0) signal(file.pid, waitedMs < ORPHAN_FAST_MS ? 'SIGINT' : 'SIGQUIT')
    await sleep(ORPHAN_POLL_MS)
  }
}

async function stop({ data, log }: PostmasterOptions, child: WatchedChild): Promise<void> {
  child.stop()
  await child.ended
  // Only when its watchdog was killed is there still something to end.
  await clearWay(data, log)
}

/** For a setting that is a list: without the quotes, a comma would end the name. */
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

/** What clients hear while the server starts or stops; they come again by themselves. */
const AROUND_A_START = /the database system is |terminating connection due to administrator command/

function logLine(log: Log, line: string): void {
  const text = `PostgreSQL: ${line}`
  if (/^(WARNING|ERROR|FATAL|PANIC):/.test(line) && !AROUND_A_START.test(line)) log.warn(text)
  else log.debug(text)
}

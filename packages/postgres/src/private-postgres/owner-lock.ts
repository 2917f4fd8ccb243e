import { spawnSync } from 'node:child_process'
import {
  closeSync,
  constants,
  fchownSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  writeSync,
} from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import type { SystemUser } from '@prepaint/runtime/system-user.ts'
import { DatabaseError } from '../connection.ts'
import { CHILD_ENVIRONMENT } from './watched-child.ts'

type OwnerKind = 'node' | 'command'
export type Owner = { pid: number; kind: OwnerKind; host: string }
export type OwnerLock = { release(): void }

const CONFLICT = 1

/**
 * Returns null if another process has the lock. Uses the command `flock`; the kernel releases the lock when this process ends.
 */
export function takeOwnerLock(file: string, kind: OwnerKind, user: SystemUser): OwnerLock | null {
  // As root, follow no link in a directory that the database's user owns.
  const fd = openSync(file, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600)
  // The user must still be able to open it after root ran a command.
  if (user !== null) fchownSync(fd, user.uid, user.gid)
  const { status, error, stderr } = spawnSync('flock', ['--nonblock', '3'], {
    stdio: ['ignore', 'ignore', 'pipe', fd],
    env: CHILD_ENVIRONMENT,
    encoding: 'utf8',
  })
  if (status !== 0) {
    closeSync(fd)
    if (status === CONFLICT) return null
    const why = error?.message ?? stderr.trim()
    throw new DatabaseError(
      `Cannot lock ${file}: ${why}. The command "flock" (Debian package util-linux) is needed.`,
      { cause: error },
    )
  }
  ftruncateSync(fd)
  writeSync(fd, `${process.pid} ${kind} ${hostname()}\n`)
  return { release: () => closeSync(fd) }
}

/** Returns null if the owner has not written who it is yet. */
export function readOwner(file: string): Owner | null {
  const match = /^(\d+) (node|command) (.*)\n$/.exec(readFileSync(file, 'utf8'))
  if (match === null) return null
  const [, pid, kind, host = ''] = match
  return { pid: Number(pid), kind: kind as OwnerKind, host }
}

type PidFile = {
  pid: number
  socketDir: string | null
  ready: boolean
}

/** Returns null if there is no pid file, or if PostgreSQL has not written it to its end yet. */
export function readPidFile(data: string): PidFile | null {
  let text: string
  try {
    text = readFileSync(path.join(data, 'postmaster.pid'), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  const [pid, , , , socketDir, , , status] = text.split('\n')
  // Not written atomically.
  if (pid === undefined || !/^[1-9]\d*$/.test(pid)) return null
  return { pid: Number(pid), socketDir: socketDir || null, ready: status?.trim() === 'ready' }
}

/** Tells which process has the pid now. After a container restart it is often another program. */
export function holderOf(pid: number, data: string): 'none' | 'postgres' | 'other' {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return 'none'
    // PostgreSQL on this data would run as our user.
    return 'other'
  }
  try {
    // PostgreSQL runs in its data directory, and its first argument is its path.
    const [command = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    const inData = readlinkSync(`/proc/${pid}/cwd`) === realpathSync(data)
    return inData && path.basename(command) === 'postgres' ? 'postgres' : 'other'
  } catch {
    // Gone, a zombie, or not readable: not our server, but the pid may still be in use.
    return 'other'
  }
}

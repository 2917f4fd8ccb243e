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
import type { SystemUser } from '../../system-user.ts'
import { DatabaseError } from '../connection.ts'
import { CHILD_ENVIRONMENT } from './watched-child.ts'

/** Who holds a directory: a node that serves, or a command that will soon be done. */
type OwnerKind = 'node' | 'command'
export type Owner = { pid: number; kind: OwnerKind; host: string }
export type OwnerLock = { release(): void }

const CONFLICT = 1

/**
 * Takes `file` for this process, or returns null when another one has it.
 *
 * The lock is flock(2) on an open file, so the kernel gives it back at the very
 * moment the holder dies, however it dies, and two that come at once cannot
 * both win: no pid to compare, nothing stale to remove. Node has no flock(2):
 * the command of that name locks the descriptor that it is handed, which stays
 * locked for as long as we have it open.
 */
export function takeOwnerLock(file: string, kind: OwnerKind, user: SystemUser): OwnerLock | null {
  // The directory is the database user's: root must not follow a link that he could plant there.
  const fd = openSync(file, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600)
  // When root runs a command on a user's data directory, that user must still be able to open it.
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

/** Who wrote himself into `file` last; null while the holder is just about to. */
export function readOwner(file: string): Owner | null {
  const match = /^(\d+) (node|command) (.*)\n$/.exec(readFileSync(file, 'utf8'))
  const [, pid, kind, host] = match ?? []
  return match === null ? null : { pid: Number(pid), kind: kind as OwnerKind, host: host ?? '' }
}

/** What a running PostgreSQL writes into its data directory (its source: pidfile.h). */
type PidFile = {
  pid: number
  /** Where its Unix socket is; null while it is still starting. */
  socketDir: string | null
  ready: boolean
}

export function readPidFile(data: string): PidFile | null {
  let text: string
  try {
    text = readFileSync(path.join(data, 'postmaster.pid'), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  const [pid, , , , socketDir, , , status] = text.split('\n')
  // Written in one go, but not atomically.
  if (pid === undefined || !/^[1-9]\d*$/.test(pid)) return null
  return { pid: Number(pid), socketDir: socketDir || null, ready: status?.trim() === 'ready' }
}

/**
 * Who has the pid of the file now: nobody, a PostgreSQL that runs on `data`, or
 * a process that merely got the same number (usual after a container restart,
 * where pids begin at 1 again).
 */
export function holderOf(pid: number, data: string): 'nobody' | 'postgres' | 'stranger' {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return 'nobody'
    // Alive, but of another user; PostgreSQL on our data has ours.
    return 'stranger'
  }
  try {
    // PostgreSQL works in its data directory, and its first argument is its own path.
    const [command = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    const inData = readlinkSync(`/proc/${pid}/cwd`) === realpathSync(data)
    return inData && path.basename(command) === 'postgres' ? 'postgres' : 'stranger'
  } catch {
    // Gone in between, a zombie, or not ours to look at: no server of ours, but
    // perhaps still a number that the next PostgreSQL finds taken.
    return 'stranger'
  }
}

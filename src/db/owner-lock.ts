import { spawnSync } from 'node:child_process'
import { closeSync, constants, fchownSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'

import type { SystemUser } from '../system-user.ts'
import { CHILD_ENVIRONMENT } from './child-environment.ts'
import { DatabaseError } from './database-error.ts'

/** Who holds a directory: a node that serves, or a command that will soon be done. */
export type OwnerKind = 'node' | 'command'
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

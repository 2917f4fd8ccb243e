import { createHash } from 'node:crypto'
import { lchownSync, lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { makeDir } from '../make-dir.ts'
import { canTraverse, ownUid, type SystemUser } from '../system-user.ts'
import { DatabaseError } from './database-error.ts'

/** The name is PostgreSQL's; the number is the port that there is not. */
const SOCKET_NAME = '.s.PGSQL.5432'

/** Length of sun_path in <sys/un.h>, less the final NUL. */
const SOCKET_PATH_MAX_BYTES = 107

/**
 * Makes the directory of the Unix socket: in the home of the database, or, where
 * that path is too long for a socket, in a short place. Mode 0700 and the
 * owner's alone: everyone who can open the socket is the database's superuser.
 */
export function prepareSocketDir(home: string, user: SystemUser): string {
  const id = createHash('sha256').update(home).digest('hex').slice(0, 12)
  const uid = user?.uid ?? ownUid()
  const places = [
    path.join(home, 'socket'),
    ...(ownUid() === 0 ? [`/run/prepaint/${id}`] : [`/run/user/${uid}/prepaint-${id}`]),
    path.join(tmpdir(), `prepaint-${uid}-${id}`),
    `/tmp/prepaint-${uid}-${id}`,
  ]
  for (const dir of places.filter(fitsSocket)) {
    if (!makePrivate(dir, user)) continue
    // Ours is the only server here, and it does not run yet: what is left is stale,
    // and a lock file whose pid is somebody's again would stop the next server.
    for (const name of readdirSync(dir)) if (name.startsWith('.s.PGSQL.')) rmSync(path.join(dir, name))
    return dir
  }
  throw new DatabaseError(
    `There is no place for the database's socket: tried ${places.join(', ')}. ` +
      'Set PREPAINT_DATA_DIR to a directory with a shorter path.',
  )
}

/** Leaves nothing in /run or /tmp. Inside the home it stays for the next start. */
export function removeSocketDir(dir: string, home: string): void {
  if (path.dirname(dir) !== home) rmSync(dir, { recursive: true, force: true })
}

function fitsSocket(dir: string): boolean {
  return Buffer.byteLength(path.join(dir, SOCKET_NAME)) <= SOCKET_PATH_MAX_BYTES
}

/**
 * Makes a directory that only `user` can enter, or finds it made. False when the place cannot be made, or is somebody else's: in /tmp anyone can be first.
 */
export function makePrivate(dir: string, user: SystemUser): boolean {
  try {
    makeDir(path.dirname(dir), 0o711)
    mkdirSync(dir, { mode: 0o700 })
    if (user !== null) lchownSync(dir, user.uid, user.gid)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false
  }
  const stat = lstatSync(dir)
  // Ended between making it and giving it to its user.
  if (stat.uid === 0 && user !== null && stat.isDirectory()) lchownSync(dir, user.uid, user.gid)
  const { mode, uid } = lstatSync(dir)
  const ours = stat.isDirectory() && uid === (user?.uid ?? ownUid()) && (mode & 0o077) === 0
  return ours && (user === null || canTraverse(dir, user))
}

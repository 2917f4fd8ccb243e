import { createHash } from 'node:crypto'
import {
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import {
  canTraverse,
  databaseUser,
  makeDir,
  ownUid,
  reachableDir,
  type SystemUser,
} from '@prepaint/runtime/system-user.ts'
import { DatabaseError } from '../connection.ts'

export type DatabaseHome = { dir: string; user: SystemUser }

const NAME = 'postgres'

/**
 * Returns `<data dir>/postgres`, which links to /var/lib/prepaint if the server's user cannot reach the data directory.
 * Throws if an existing database is unusable.
 */
export function databaseHome(dataDir: string): DatabaseHome {
  try {
    return findHome(dataDir) ?? createHome(dataDir)
  } catch (cause) {
    if (cause instanceof DatabaseError) throw cause
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return databaseHome(dataDir)
    throw new DatabaseError(
      `The data directory ${path.resolve(dataDir)} cannot be used: ${(cause as Error).message}. ` +
        'Set PREPAINT_DATA_DIR to a directory that this process may write to.',
      { cause },
    )
  }
}

/** Whether a private database was ever created in the data directory. */
export function hasDatabase(dataDir: string): boolean {
  return lstatSync(insideOf(dataDir), { throwIfNoEntry: false }) !== undefined
}

function insideOf(dataDir: string): string {
  return path.join(path.resolve(dataDir), NAME)
}

function findHome(dataDir: string): DatabaseHome | null {
  const inside = insideOf(dataDir)
  const found = lstatSync(inside, { throwIfNoEntry: false })
  if (found === undefined) return null
  const dir = found.isSymbolicLink() ? path.resolve(path.dirname(inside), readlinkSync(inside)) : inside
  const stat = statSync(dir, { throwIfNoEntry: false })
  if (stat === undefined) {
    throw new DatabaseError(
      `${inside} links to the database in ${dir}, which is gone. ` +
        `Restore that directory, or remove ${inside} to start with an empty database.`,
    )
  }
  // Interrupted before chown: do it again.
  if (ownUid() === 0 && stat.uid === 0) return null
  return { dir, user: userOf(dir, stat) }
}

function createHome(dataDir: string): DatabaseHome {
  const inside = insideOf(dataDir)
  const user = databaseUser()
  const dir = reachableDir(dataDir, NAME, user)
  if (dir !== inside && !existsSync(inside)) symlinkSync(dir, inside)
  return { dir, user }
}

/** The owner of the files runs the server, even if root starts it later. */
function userOf(dir: string, owner: { uid: number; gid: number }): SystemUser {
  const uid = ownUid()
  if (uid !== 0) {
    if (owner.uid === uid) return null
    throw new DatabaseError(
      `The database in ${dir} belongs to the user with id ${owner.uid}, and this process runs as ${uid}. ` +
        'Run as that user or as root, or set PREPAINT_DATA_DIR to another directory.',
    )
  }
  const user = { uid: owner.uid, gid: owner.gid }
  if (canTraverse(path.dirname(dir), user)) return user
  throw new DatabaseError(
    `The database in ${dir} runs as the user with id ${user.uid}, who can no longer enter a parent directory. ` +
      `Open the parents with "chmod o+x", or move the data directory.`,
  )
}

/** PostgreSQL names the socket after the port, although it opens no port. */
const SOCKET_NAME = '.s.PGSQL.5432'

/** The length of sun_path in <sys/un.h>, without the final NUL. */
const SOCKET_PATH_MAX_BYTES = 107

/**
 * Creates the directory of the socket with mode 0700, because socket access means superuser access. It is outside of the home
 * if that has too long a path for a socket.
 */
export function prepareSocketDir(home: string, user: SystemUser): string {
  const id = createHash('sha256').update(home).digest('hex').slice(0, 12)
  const uid = user?.uid ?? ownUid()
  const places = [
    path.join(home, 'socket'),
    ownUid() === 0 ? `/run/prepaint/${id}` : `/run/user/${uid}/prepaint-${id}`,
    path.join(tmpdir(), `prepaint-${uid}-${id}`),
    `/tmp/prepaint-${uid}-${id}`,
  ]
  for (const dir of places.filter(fitsSocket)) {
    if (!makePrivate(dir, user)) continue
    // Stale, because no server runs here now. A lock file with a reused pid would stop the next server.
    for (const name of readdirSync(dir)) if (name.startsWith('.s.PGSQL.')) rmSync(path.join(dir, name))
    return dir
  }
  throw new DatabaseError(
    `The database's socket fits nowhere: tried ${places.join(', ')}. ` +
      'Set PREPAINT_DATA_DIR to a directory with a shorter path.',
  )
}

export function removeSocketDir(dir: string, home: string): void {
  if (path.dirname(dir) !== home) rmSync(dir, { recursive: true, force: true })
}

function fitsSocket(dir: string): boolean {
  return Buffer.byteLength(path.join(dir, SOCKET_NAME)) <= SOCKET_PATH_MAX_BYTES
}

/** Creates or reuses a directory that only `user` can enter. Returns false if it cannot, or if another user has it. */
export function makePrivate(dir: string, user: SystemUser): boolean {
  try {
    makeDir(path.dirname(dir), 0o711)
    mkdirSync(dir, { mode: 0o700 })
    if (user !== null) lchownSync(dir, user.uid, user.gid)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false
  }
  const stat = lstatSync(dir)
  if (stat.uid === 0 && user !== null && stat.isDirectory()) lchownSync(dir, user.uid, user.gid)
  const { mode, uid } = lstatSync(dir)
  const ours = stat.isDirectory() && uid === (user?.uid ?? ownUid()) && (mode & 0o077) === 0
  return ours && (user === null || canTraverse(dir, user))
}

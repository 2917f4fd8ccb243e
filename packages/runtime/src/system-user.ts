import { createHash } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'

/**
 * The user of a child process, or null if we are not root. Each has a user of its own, never root: an exploit in Chromium
 * must not open the database's socket.
 */
export type SystemUser = { uid: number; gid: number } | null

export function ownUid(): number {
  return process.getuid?.() ?? 0
}

/** PostgreSQL requires a user with a passwd entry. */
export function databaseUser(): SystemUser {
  if (ownUid() !== 0) return null
  return passwdUser('postgres') ?? passwdUser('nobody') ?? { uid: 65_534, gid: 65_534 }
}

/** Chromium needs no passwd entry. Debian reserves this range and does not assign it. */
export function browserUser(): SystemUser {
  if (ownUid() !== 0) return null
  return { uid: 65_432, gid: 65_432 }
}

/** Creates a directory (0700) for `user` in `dataDir`, or under /var/lib/prepaint if a parent is closed. */
export function reachableDir(dataDir: string, name: string, user: SystemUser): string {
  return madeDir(dataDir, name, user, { owner: user, mode: 0o700 })
}

/** Creates a directory for programs. `user` cannot change them, so an exploit cannot persist in the binary. */
export function readableDir(dataDir: string, name: string, user: SystemUser): string {
  const owner = user === null ? null : { uid: ownUid(), gid: 0 }
  return madeDir(dataDir, name, user, { owner, mode: user === null ? 0o700 : 0o755 })
}

function madeDir(
  dataDir: string,
  name: string,
  user: SystemUser,
  { owner, mode }: { owner: SystemUser; mode: number },
): string {
  const inside = path.join(path.resolve(dataDir), name)
  makeDir(path.resolve(dataDir), 0o711)
  const dir =
    user === null || canTraverse(path.dirname(inside), user)
      ? inside
      : path.join('/var/lib/prepaint', fingerprint(path.resolve(dataDir)), name)
  makeDir(path.dirname(dir), 0o711)
  makeDir(dir, mode)
  chmodSync(dir, mode)
  if (owner !== null) chownSync(dir, owner.uid, owner.gid)
  return dir
}

/** Returns whether `user` may enter `dir` and its parents, by permission bits (no ACLs). */
export function canTraverse(dir: string, user: { uid: number; gid: number }): boolean {
  for (let at = path.resolve(dir); ; at = path.dirname(at)) {
    const { mode, uid, gid } = statSync(at)
    let bit = 0o001
    if (uid === user.uid) bit = 0o100
    else if (gid === user.gid) bit = 0o010
    if ((mode & bit) === 0) return false
    if (at === path.dirname(at)) return true
  }
}

function fingerprint(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}

function passwdUser(name: string): { uid: number; gid: number } | null {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${name}:`))
  const [, , uid, gid] = line?.split(':') ?? []
  return uid === undefined || gid === undefined ? null : { uid: Number(uid), gid: Number(gid) }
}

/** Creates missing parents as well. Node's `recursive` loops forever in places such as /proc. */
export function makeDir(dir: string, mode: number): void {
  if (isDir(dir)) return
  const parent = path.dirname(dir)
  if (parent !== dir) makeDir(parent, mode)
  try {
    mkdirSync(dir, { mode })
  } catch (error) {
    if (!isDir(dir)) throw error
  }
}

/** Returns false for any error: mkdir reports it. */
function isDir(dir: string): boolean {
  try {
    return statSync(dir).isDirectory()
  } catch {
    return false
  }
}

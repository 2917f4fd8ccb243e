import { createHash } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'

/**
 * Who a child process of ours runs as. Neither PostgreSQL nor Chromium ever
 * runs as root, and they are two users: a page that breaks out of Chromium must
 * not be able to open the database's socket.
 * `null`: we are not root ourselves, the child is started as we are.
 */
export type SystemUser = { uid: number; gid: number } | null

/** 0 is root. */
export function ownUid(): number {
  return process.getuid?.() ?? 0
}

/** PostgreSQL insists on a user with a passwd entry: `postgres` where it exists, else `nobody`. */
export function databaseUser(): SystemUser {
  if (ownUid() !== 0) return null
  return passwdUser('postgres') ?? passwdUser('nobody') ?? { uid: 65_534, gid: 65_534 }
}

/** Chromium needs no passwd entry; this id lies in the range that Debian reserves and gives to nobody. */
export function browserUser(): SystemUser {
  if (ownUid() !== 0) return null
  return { uid: 65_432, gid: 65_432 }
}

/**
 * Makes a directory (0700, owned by `user`) that `user` can reach: under
 * `dataDir` where every parent lets it through, else under /var/lib/prepaint
 * (root's own home is closed to others, and clones are often made there).
 */
export function reachableDir(dataDir: string, name: string, user: SystemUser): string {
  return madeDir(dataDir, name, user, { owner: user, mode: 0o700 })
}

/**
 * The same for programs: `user` can read and run what lies there, and change
 * nothing of it. What breaks out of a browser must not wait in its binary.
 */
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

/** Whether `user` may pass through `dir` and all its parents (permission bits; no ACLs). */
export function canTraverse(dir: string, user: { uid: number; gid: number }): boolean {
  for (let at = path.resolve(dir); ; at = path.dirname(at)) {
    const { mode, uid, gid } = statSync(at)
    const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001
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

/**
 * Makes a directory, and its parents where they are missing; one that is there
 * stays as it is. Not node's own `recursive`: in a place such as /proc, where
 * nothing can be made and "no such file" is the answer, it tries again for ever.
 */
export function makeDir(dir: string, mode: number): void {
  if (isDir(dir)) return
  const parent = path.dirname(dir)
  if (parent !== dir) makeDir(parent, mode)
  try {
    mkdirSync(dir, { mode })
  } catch (error) {
    // Another process of ours was quicker.
    if (!isDir(dir)) throw error
  }
}

/** What stands in the way of asking is left to mkdir, whose error names it. */
function isDir(dir: string): boolean {
  try {
    return statSync(dir).isDirectory()
  } catch {
    return false
  }
}

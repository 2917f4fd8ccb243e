import { existsSync, lstatSync, readlinkSync, statSync, symlinkSync } from 'node:fs'
import path from 'node:path'

import { canTraverse, databaseUser, ownUid, reachableDir, type SystemUser } from '../system-user.ts'
import { DatabaseError } from './database-error.ts'

/** Where the private database of a data directory lives, and who runs it. */
export type DatabaseHome = { dir: string; user: SystemUser }

const NAME = 'postgres'

/**
 * `<data dir>/postgres`; when the database's user cannot reach that (root keeps
 * its clone in a home that is closed to others), a directory under
 * /var/lib/prepaint, with a link to it in that place.
 *
 * Once made, it stays: a database that is there but cannot be used is an error,
 * never a reason to begin an empty one elsewhere.
 */
export function databaseHome(dataDir: string): DatabaseHome {
  try {
    return findHome(dataDir) ?? createHome(dataDir)
  } catch (cause) {
    if (cause instanceof DatabaseError) throw cause
    // Another process of ours made the same link a moment before.
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return databaseHome(dataDir)
    throw new DatabaseError(
      `The data directory ${path.resolve(dataDir)} cannot be used: ${(cause as Error).message}. ` +
        'Set PREPAINT_DATA_DIR to a directory that this process may write to.',
      { cause },
    )
  }
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
      `${inside} says that the database is in ${dir}, which is gone. ` +
        `Bring that directory back, or remove ${inside} to begin with an empty database.`,
    )
  }
  // Ended between making it and giving it to its user: done again.
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

/** The owner of the files runs the server, also when root calls later what a user began. */
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
    `The database in ${dir} runs as the user with id ${user.uid}, whom a parent directory no longer lets through. ` +
      `Open the parents with "chmod o+x", or move the data directory to an open place.`,
  )
}

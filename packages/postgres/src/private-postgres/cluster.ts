import { randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import path from 'node:path'

import type { SystemUser } from '@prepaint/runtime/system-user.ts'
import { DatabaseError } from '../connection.ts'
import type { Binaries } from './binaries.ts'
import { WatchedChild } from './watched-child.ts'

export const PRIVATE_USER = 'prepaint'

const UNFINISHED = 'data.init-'

/** Creates `<home>/data` (under a temporary name until on disk) or checks its version. Needs the owner lock. */
export async function prepareCluster(options: {
  home: string
  user: SystemUser
  binaries: Binaries
  onLongStep(line: string): void
  args?: readonly string[]
}): Promise<string> {
  const { home, user, binaries, onLongStep, args = [] } = options
  const data = path.join(home, 'data')
  removeUnfinished(home)
  if (existsSync(data)) {
    checkVersion(data, binaries.major)
    return data
  }
  onLongStep('Creating the database (first start) ...')
  const unfinished = path.join(home, UNFINISHED + randomUUID())
  const { status, lastWords } = await new WatchedChild({
    command: binaries.initdb,
    args: [
      '-D',
      unfinished,
      '-U',
      PRIVATE_USER,
      '-E',
      'UTF8',
      // The same sort order and case mapping on every machine.
      '--locale-provider=builtin',
      '--locale=C.UTF-8',
      // The mode of the socket's directory (0700) controls access.
      '--auth=trust',
      '--no-instructions',
      ...args,
    ],
    user,
    signal: 'TERM',
  }).ended
  if (status !== 0) {
    removeUnfinished(home)
    throw new DatabaseError(explainInitdb(lastWords, home))
  }
  renameSync(unfinished, data)
  syncDirectory(home)
  return data
}

/** An orphaned initdb may still write; then the next start removes its directory. */
function removeUnfinished(home: string): void {
  for (const name of readdirSync(home).filter((entry) => entry.startsWith(UNFINISHED))) {
    try {
      rmSync(path.join(home, name), { recursive: true, force: true, maxRetries: 3, retryDelay: 50 })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error
    }
  }
}

function checkVersion(data: string, major: number): void {
  const file = path.join(data, 'PG_VERSION')
  const found = existsSync(file) ? readFileSync(file, 'utf8').trim() : 'unknown'
  if (found === String(major)) return
  throw new DatabaseError(
    `The database in ${data} was created by PostgreSQL ${found}, and this Prepaint contains PostgreSQL ${major}. ` +
      'Make a backup with the version of Prepaint that created it (prepaint backup) and restore it with this one ' +
      'into a new data directory, or set DATABASE_URL to your own PostgreSQL server.',
  )
}

function explainInitdb(lastWords: string, home: string): string {
  if (lastWords.includes('could not look up effective user ID')) {
    return (
      'PostgreSQL refuses to run as a user without an entry in /etc/passwd (usual in containers with an arbitrary user id). ' +
      'Add an entry, or set DATABASE_URL to your own PostgreSQL server.'
    )
  }
  return `The database could not be created in ${home}: ${lastWords.trim()}`
}

function syncDirectory(dir: string): void {
  const fd = openSync(dir, 'r')
  fsyncSync(fd)
  closeSync(fd)
}

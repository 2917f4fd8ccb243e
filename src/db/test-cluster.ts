import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lchownSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import type pg from 'pg'

import { silentLog } from '../log.ts'
import { databaseUser, ownUid, type SystemUser } from '../system-user.ts'
import { type Binaries, findBinaries } from './binaries.ts'
import { CHILD_ENVIRONMENT } from './child-environment.ts'
import { PRIVATE_USER, prepareCluster } from './cluster.ts'
import { CONNECTION_DEFAULTS } from './connection.ts'
import { MIGRATIONS, migrate } from './migrate.ts'
import { takeOwnerLock } from './owner-lock.ts'
import { type Postmaster, PRIVATE_SETTINGS, startPostmaster } from './postmaster.ts'
import { makePrivate, prepareSocketDir } from './socket-dir.ts'

// Test support. A server for the tests of one process: a copy of a template
// cluster that the first test process on this machine makes and all share
// (initdb and migrations take a second, a copy and a start a tenth). The server
// and its files go with the process, however that ends.

const SETTINGS = {
  ...PRIVATE_SETTINGS,
  // What a crash of the machine would lose is of no interest here.
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  shared_buffers: '32MB',
  // Tests of several nodes open several pools.
  max_connections: '100',
}
const INITDB_ARGS = ['--no-sync', '--wal-segsize=1']
const TEMPLATES_KEPT = 4
const LOCK_POLL_MS = 50

/** Starts a server whose `template1` has the schema; returns how to reach it. */
export async function startTestCluster(): Promise<pg.ClientConfig> {
  const user = databaseUser()
  const place = testPlace(user)
  const binaries = findBinaries({ user, copyTo: place, onLongStep: () => {} })
  const template = await findTemplate(place, user, binaries)
  const run = mkdtempSync(path.join(place, 'run-'))
  if (user !== null) lchownSync(run, user.uid, user.gid)
  const data = path.join(run, 'data')
  copyTree(template, data, user)
  return (await startIn(run, data, user, binaries, true)).connection
}

async function startIn(run: string, data: string, user: SystemUser, binaries: Binaries, disposable: boolean) {
  const socketDir = prepareSocketDir(run, user)
  const server: Postmaster = await startPostmaster({
    ...{ binaries, data, socketDir, user, log: silentLog(), settings: SETTINGS },
    ...(disposable ? { removeAfter: run } : {}),
  })
  const connection: pg.ClientConfig = {
    ...CONNECTION_DEFAULTS,
    ...{ host: socketDir, port: 5432, user: PRIVATE_USER, database: 'template1' },
  }
  return { connection, server }
}

/** A directory of the database's user in the system's place for temporary files. */
function testPlace(user: SystemUser): string {
  const name = `prepaint-test-${user?.uid ?? ownUid()}`
  for (const dir of [path.join(tmpdir(), name), `/tmp/${name}`]) if (makePrivate(dir, user)) return dir
  throw new Error(`${path.join(tmpdir(), name)} belongs to somebody else; remove it, or set TMPDIR`)
}

/** The data directory of the template for this schema and these binaries; made when it is not there. */
async function findTemplate(place: string, user: SystemUser, binaries: Binaries): Promise<string> {
  const template = path.join(place, `template-${fingerprint(binaries)}`)
  const found = () => statSync(template, { throwIfNoEntry: false }) !== undefined
  while (!found()) {
    const lock = takeOwnerLock(path.join(place, 'template.lock'), 'command', user)
    if (lock === null) {
      await sleep(LOCK_POLL_MS)
      continue
    }
    try {
      if (!found()) await makeTemplate(place, template, user, binaries)
    } finally {
      lock.release()
    }
  }
  return template
}

async function makeTemplate(place: string, template: string, user: SystemUser, binaries: Binaries) {
  removeOld(place)
  const home = mkdtempSync(path.join(place, 'run-'))
  if (user !== null) lchownSync(home, user.uid, user.gid)
  const data = await prepareCluster({ home, user, binaries, onLongStep: () => {}, args: INITDB_ARGS })
  const { connection, server } = await startIn(home, data, user, binaries, false)
  try {
    await migrate(connection, silentLog())
  } finally {
    await server.stop()
  }
  renameSync(data, template)
  rmSync(home, { recursive: true, force: true })
}

/** All that decides what a template looks like. */
function fingerprint(binaries: Binaries): string {
  const hash = createHash('sha256').update(JSON.stringify([binaries, SETTINGS, INITDB_ARGS]))
  for (const name of readdirSync(MIGRATIONS).sort()) {
    hash.update(name).update(readFileSync(path.join(MIGRATIONS, name)))
  }
  return hash.digest('hex').slice(0, 12)
}

/** Templates of schemas that are no longer used, the oldest first. */
function removeOld(place: string): void {
  const templates = readdirSync(place)
    .filter((name) => name.startsWith('template-'))
    .map((name) => path.join(place, name))
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)
  for (const dir of templates.slice(TEMPLATES_KEPT - 1)) rmSync(dir, { recursive: true, force: true })
}

/** As the user that owns both: 900 files, of which he is to own the copies. */
function copyTree(from: string, to: string, user: SystemUser): void {
  execFileSync('cp', ['-R', '-p', from, to], {
    env: CHILD_ENVIRONMENT,
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(user === null ? {} : { uid: user.uid, gid: user.gid }),
  })
}

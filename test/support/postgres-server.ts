import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  lchownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import type pg from 'pg'

import { systemClock } from '../../src/clock.ts'
import { CONNECTION_DEFAULTS } from '../../src/db/connection.ts'
import { migrate, readMigrations } from '../../src/db/migrate.ts'
import { type Binaries, findBinaries } from '../../src/db/private-postgres/binaries.ts'
import { PRIVATE_USER, prepareCluster } from '../../src/db/private-postgres/cluster.ts'
import { makePrivate, prepareSocketDir } from '../../src/db/private-postgres/home.ts'
import { holderOf, readPidFile, takeOwnerLock } from '../../src/db/private-postgres/owner-lock.ts'
import {
  type Postmaster,
  PRIVATE_SETTINGS,
  startPostmaster,
} from '../../src/db/private-postgres/postmaster.ts'
import { CHILD_ENVIRONMENT } from '../../src/db/private-postgres/watched-child.ts'
import { silentLog } from '../../src/log.ts'
import { databaseUser, ownUid, type SystemUser } from '../../src/system-user.ts'

// A copy of a template cluster that all test processes share: initdb and migrations take a second, a copy a tenth.

const SETTINGS = {
  ...PRIVATE_SETTINGS,
  // Tests need no durability after a machine crash.
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  shared_buffers: '64MB',
  max_connections: '300',
}
const INITDB_ARGS = ['--no-sync', '--wal-segsize=1']
const TEMPLATES_KEPT = 8
const LOCK_POLL_MS = 50
const LEFTOVER_MS = 3_600_000

export async function startTestCluster(): Promise<pg.ClientConfig> {
  removeLeftovers(testPlace(databaseUser()))
  const { start } = await copyTemplate()
  return (await start(true)).connection
}

/** A new data directory with the schema, and what starts a server in it. */
async function copyTemplate() {
  const user = databaseUser()
  const place = testPlace(user)
  const binaries = findBinaries({ user, copyTo: place, onLongStep: () => {} })
  const run = makeRun(place, user)
  const data = path.join(run, 'data')
  for (let copied = false; !copied; ) copied = copyTree(await findTemplate(place, user, binaries), data, user)
  return { run, start: (disposable: boolean) => startIn(run, data, user, binaries, disposable) }
}

export type TestServer = {
  connection: pg.ClientConfig
  url: string
  stop(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

export async function startTestServer(): Promise<TestServer> {
  const { run, start } = await copyTemplate()
  const first = await start(false)
  const { connection } = first
  let { server } = first
  return {
    connection,
    url: `postgres:///template1?${new URLSearchParams({ host: String(connection.host), user: PRIVATE_USER })}`,
    stop: () => server.stop(),
    async start() {
      server = (await start(false)).server
    },
    async close() {
      await server.stop()
      rmSync(run, { recursive: true, force: true })
    },
  }
}

function makeRun(place: string, user: SystemUser): string {
  const run = mkdtempSync(path.join(place, 'run-'))
  if (user !== null) lchownSync(run, user.uid, user.gid)
  return run
}

async function startIn(run: string, data: string, user: SystemUser, binaries: Binaries, disposable: boolean) {
  const socketDir = prepareSocketDir(run, user)
  const server: Postmaster = await startPostmaster({
    ...{ binaries, data, socketDir, user, log: silentLog(), settings: SETTINGS },
    ...(disposable ? { removeAfter: run } : {}),
  })
  return { connection: connectionTo(socketDir), server }
}

/** To `template1`, which has the schema. */
export function connectionTo(socketDir: string): pg.ClientConfig {
  return { ...CONNECTION_DEFAULTS, host: socketDir, port: 5432, user: PRIVATE_USER, database: 'template1' }
}

function testPlace(user: SystemUser): string {
  const name = `prepaint-test-${user?.uid ?? ownUid()}`
  for (const dir of [path.join(tmpdir(), name), `/tmp/${name}`]) if (makePrivate(dir, user)) return dir
  throw new Error(`${path.join(tmpdir(), name)} belongs to somebody else; remove it, or set TMPDIR`)
}

/** Creates the template for this schema and these binaries if it does not exist. */
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
  removeOldTemplates(place)
  const home = makeRun(place, user)
  try {
    const data = await prepareCluster({ home, user, binaries, onLongStep: () => {}, args: INITDB_ARGS })
    const { connection, server } = await startIn(home, data, user, binaries, false)
    try {
      await migrate(connection, silentLog())
    } finally {
      await server.stop()
    }
    renameSync(data, template)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

function fingerprint(binaries: Binaries): string {
  const hash = createHash('sha256').update(JSON.stringify([binaries.major, SETTINGS, INITDB_ARGS]))
  for (const { name, checksum } of readMigrations()) hash.update(name).update(checksum)
  hash.update(readFileSync(path.resolve(import.meta.dirname, '../../src/db/schema.sql')))
  return hash.digest('hex').slice(0, 12)
}

function removeOldTemplates(place: string): void {
  const templates = readdirSync(place)
    .filter((name) => name.startsWith('template-'))
    .map((name) => path.join(place, name))
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)
  for (const dir of templates.slice(TEMPLATES_KEPT - 1)) {
    // Who copies it sees that it is gone, and not half of it.
    const removed = path.join(place, `removed-${path.basename(dir)}`)
    renameSync(dir, removed)
    rmSync(removed, { recursive: true, force: true })
  }
}

/** Removes what a killed machine or watchdog left. */
function removeLeftovers(place: string): void {
  for (const name of readdirSync(place).filter((entry) => entry.startsWith('run-'))) {
    const run = path.join(place, name)
    const made = statSync(run, { throwIfNoEntry: false })
    if (made === undefined || systemClock.nowMs() - made.mtimeMs < LEFTOVER_MS) continue
    const pid = readPidFile(path.join(run, 'data'))?.pid
    if (pid !== undefined && holderOf(pid, path.join(run, 'data')) === 'postgres') continue
    rmSync(run, { recursive: true, force: true })
  }
}

/** Copies 900 files as their owner. Returns false if the template was removed meanwhile. */
function copyTree(from: string, to: string, user: SystemUser): boolean {
  const now = systemClock.nowMs() / 1_000
  try {
    utimesSync(from, now, now)
    execFileSync('cp', ['-R', '-p', from, to], {
      env: CHILD_ENVIRONMENT,
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
      ...(user === null ? {} : { uid: user.uid, gid: user.gid }),
    })
    return true
  } catch (error) {
    if (statSync(from, { throwIfNoEntry: false }) !== undefined) throw error
    rmSync(to, { recursive: true, force: true })
    return false
  }
}

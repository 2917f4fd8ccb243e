import { existsSync } from 'node:fs'
import path from 'node:path'

import type { Config } from '../../src/config.ts'
import { openDatabase } from '../../src/db/database.ts'
import { silentLog } from '../../src/log.ts'
import { type Finding, ok, problem } from './finding.ts'
import { withTrialDirectory } from './trial-directory.ts'

const GIVEN_SERVER_WAIT_MS = 3_000

/** Opens the database as a node would. */
export async function databaseWorks({ databaseUrl, dataDir }: Config): Promise<Finding> {
  const name = databaseUrl === null ? 'PostgreSQL (private)' : 'PostgreSQL (DATABASE_URL)'
  const exists = databaseUrl !== null || existsSync(path.join(dataDir, 'postgres'))
  try {
    const version = await withTrialDirectory(dataDir, exists, (dir) => versionOf(databaseUrl, dir))
    return ok(name, exists ? version : `${version}, tried in a temporary directory`)
  } catch (error) {
    const advice =
      databaseUrl === null
        ? 'Run "npm ci" again, or set DATABASE_URL to a PostgreSQL 15 or newer'
        : 'Check DATABASE_URL, and that the server runs and lets us in'
    return problem(name, (error as Error).message, advice)
  }
}

async function versionOf(databaseUrl: string | null, dataDir: string): Promise<string> {
  const database = await openDatabase({
    databaseUrl,
    dataDir,
    attach: true,
    waitMs: GIVEN_SERVER_WAIT_MS,
    log: silentLog(),
  })
  try {
    const { rows } = await database.pool.query<{ version: string }>(
      `select current_setting('server_version') as version`,
    )
    return rows[0]?.version ?? 'of an unknown version'
  } finally {
    await database.close()
  }
}

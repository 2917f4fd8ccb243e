import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

import type { Config } from '../../src/config.ts'
import { openDatabase } from '../../src/db/database.ts'
import { silentLog } from '../../src/log.ts'
import { type Finding, ok, problem } from './finding.ts'

const GIVEN_SERVER_WAIT_MS = 3_000

/**
 * Opens the database as a node would. Where there is none yet, one is made in
 * a temporary directory and removed again, so that looking leaves nothing behind.
 */
export async function databaseWorks({ databaseUrl, dataDir }: Config): Promise<Finding> {
  const name = databaseUrl === null ? 'PostgreSQL (private)' : 'PostgreSQL (DATABASE_URL)'
  const existing = databaseUrl !== null || existsSync(path.join(dataDir, 'postgres'))
  const trialDir = existing ? null : mkdtempSync(path.join(tmpdir(), 'prepaint-doctor-'))
  try {
    const database = await openDatabase({
      databaseUrl,
      dataDir: trialDir ?? dataDir,
      attach: true,
      waitMs: GIVEN_SERVER_WAIT_MS,
      log: silentLog(),
    })
    try {
      const { rows } = await database.pool.query<{ version: string }>(
        `select current_setting('server_version') as version`,
      )
      return ok(name, `${rows[0]?.version}${existing ? '' : ', tried in a temporary directory'}`)
    } finally {
      await database.close()
    }
  } catch (error) {
    const advice =
      databaseUrl === null
        ? 'Run "npm ci" again, or set DATABASE_URL to a PostgreSQL 15 or newer'
        : 'Check DATABASE_URL, and that the server runs and lets us in'
    return problem(name, (error as Error).message, advice)
  } finally {
    if (trialDir !== null) rmSync(trialDir, { recursive: true, force: true })
  }
}

import path from 'node:path'
import { printEntries } from '@prepaint/postgres/audit'
import { actAs, COMMAND_LINE_ACTING } from '@prepaint/postgres/audit/acting.ts'
import { type Database, openDatabase } from '@prepaint/postgres/database.ts'
import { migrate } from '@prepaint/postgres/migrate.ts'
import { hasDatabase } from '@prepaint/postgres/private-postgres/home.ts'
import { databaseNow } from '@prepaint/postgres/transaction.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { printAuditLine } from '../node/audit-line.ts'
import { SCHEMA } from '../node/schema.ts'
import type { Config } from '../settings/config.ts'
import { CommandError, type Surroundings } from './command.ts'

/** `applied` are the migrations that this opening has applied. */
export type OpenStore = {
  pool: pg.Pool
  connection: pg.ClientConfig
  nowMs: number
  applied: readonly string[]
}

/** `create` creates a private database that is missing. Otherwise that is an error, as the data directory is probably wrong. */
type Missing = { create?: boolean }

/** Migrates the database and runs `work`. Without DATABASE_URL: the private PostgreSQL, started if not running. */
export async function withDatabase<T>(
  { config, say }: Pick<Surroundings, 'config' | 'say'>,
  work: (store: OpenStore) => Promise<T>,
  options: Missing = {},
): Promise<T> {
  const database = await openCommandDatabase(config, say, options)
  try {
    const applied = await migrate(database.connection, SCHEMA, silentLog())
    const { pool, connection } = database
    if (config.auditLog) printEntries(printAuditLine)
    const store = { pool, connection, applied, nowMs: (await databaseNow(pool)).getTime() }
    return await actAs(COMMAND_LINE_ACTING, () => work(store))
  } finally {
    await database.close()
  }
}

export async function openCommandDatabase(
  config: Config,
  say: (line: string) => void,
  { create = false }: Missing = {},
): Promise<Database> {
  if (config.databaseUrl === null && !hasDatabase(config.dataDir)) {
    const where = path.resolve(config.dataDir)
    if (!create) {
      throw new CommandError(
        `There is no database in ${where}. Run the command in the directory of the node, or with the same ` +
          'PREPAINT_DATA_DIR or DATABASE_URL as the node. "prepaint serve" creates a new database.',
      )
    }
    say(`Creating a new database in ${where}.`)
  }
  return openDatabase({
    databaseUrl: config.databaseUrl,
    dataDir: config.dataDir,
    attach: true,
    log: silentLog(),
    onLongStep: say,
  })
}

import type { Config } from '../../src/config.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { migrate } from '../../src/db/migrate.ts'
import { databaseNow } from '../../src/db/transaction.ts'
import { silentLog } from '../../src/log.ts'
import type { Surroundings } from './command.ts'

type OpenStore = Database & { nowMs: number }

/** Migrates the database and runs `work`. Without DATABASE_URL: the private PostgreSQL, started if not running. */
export async function withDatabase<T>(
  { config, say }: Pick<Surroundings, 'config' | 'say'>,
  work: (store: OpenStore) => Promise<T>,
): Promise<T> {
  const database = await openCommandDatabase(config, say)
  try {
    await migrate(database.connection, silentLog())
    return await work({ ...database, nowMs: (await databaseNow(database.pool)).getTime() })
  } finally {
    await database.close()
  }
}

export function openCommandDatabase(config: Config, say: (line: string) => void): Promise<Database> {
  return openDatabase({
    databaseUrl: config.databaseUrl,
    dataDir: config.dataDir,
    attach: true,
    log: silentLog(),
    onLongStep: say,
  })
}

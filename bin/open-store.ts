import type { Config } from '../src/config.ts'
import { type Database, openDatabase } from '../src/db/database.ts'
import { migrate } from '../src/db/migrate.ts'
import { silentLog } from '../src/log.ts'
import type { Surroundings } from './command.ts'

/**
 * Runs a command on the database, migrated first: that of the node which is
 * running, else a private one for as long as the command takes.
 */
export async function withDatabase<T>(
  { config, say }: Pick<Surroundings, 'config' | 'say'>,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await openCommandDatabase(config, say)
  try {
    await migrate(database.connection, silentLog())
    return await work(database)
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

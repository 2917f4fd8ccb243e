import type { Config } from '../../src/config.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { migrate } from '../../src/db/migrate.ts'
import { databaseNow } from '../../src/db/transaction.ts'
import { silentLog } from '../../src/log.ts'
import type { Surroundings } from './command.ts'

/** A database that is open, and the moment of that by its clock: nodes go by no other, so a command does neither. */
type OpenStore = Database & { nowMs: number }

/**
 * Runs a command on the database, migrated first: that of the node which is
 * running, else a private one for as long as the command takes.
 */
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

import { migrate } from '../../src/db/migrate.ts'
import { silentLog } from '../../src/log.ts'
import { defineCommand } from '../command.ts'
import { openCommandDatabase } from '../open-store.ts'

export const migrateCommand = defineCommand({
  options: {},
  async run(_values, { config, say }) {
    const database = await openCommandDatabase(config, say)
    try {
      const applied = await migrate(database.connection, silentLog())
      const text =
        applied.length === 0
          ? 'The database is up to date.'
          : `Applied:\n${applied.map((name) => `  ${name}`).join('\n')}`
      return { json: { applied }, text }
    } finally {
      await database.close()
    }
  },
})

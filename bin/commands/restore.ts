import { writeMasterKeyText } from '../../src/certificates/master-key.ts'
import { createVault } from '../../src/certificates/vault.ts'
import { restoreBackup } from '../../src/db/restore.ts'
import { silentLog } from '../../src/log.ts'
import { readBackupFile } from '../backup-file.ts'
import { defineCommand } from '../command.ts'
import { openCommandDatabase } from '../open-store.ts'

export const restore = defineCommand({
  options: {},
  operand: { name: 'FILE', text: 'a file that "prepaint backup" has written' },
  async run(_values, { config, say }, file) {
    const { dataDir, secretKeys: keys } = config
    const database = await openCommandDatabase(config, say)
    try {
      const { head, rows } = await restoreBackup(database.connection, readBackupFile(file), silentLog())
      if (head.master_key !== null && keys === null) writeMasterKeyText(dataDir, head.master_key)
      const fits = await createVault({ pool: database.pool, keys, dataDir }).fits()
      const count = (table: string) => rows[table] ?? 0
      const words = [
        `Restored what was stored at ${head.made_at}: ${count('account')} accounts, ${count('domain')} domains, ${count('page')} pages.`,
        ...(fits
          ? []
          : [
              `Private keys in it are sealed with the master key ${head.master_key_id}, which is not here: set ` +
                `PREPAINT_SECRET_KEY to it, or put it into ${dataDir}/secret-key, before you start a node.`,
            ]),
      ]
      return { json: { made_at: head.made_at, rows, master_key_fits: fits }, text: words.join('\n') }
    } finally {
      await database.close()
    }
  },
})

import { readMasterKeyText } from '../../src/certificates/master-key.ts'
import { readBackup } from '../../src/db/backup.ts'
import { writeBackupFile } from '../backup-file.ts'
import { defineCommand } from '../command.ts'
import { withDatabase } from '../open-store.ts'

const MIB = 1024 * 1024

export const backup = defineCommand({
  options: {
    'without-pages': { value: null, text: 'leave out the render cache; it fills again' },
    'with-key': {
      value: null,
      text: 'put the master key of the data directory into it: whoever has the file then has the certificates',
    },
  },
  operand: { name: 'FILE', text: 'where to; a file that is there is replaced once the new one is whole' },
  async run(values, around, file) {
    const { config } = around
    const masterKey =
      values['with-key'] && config.secretKeys === null ? readMasterKeyText(config.dataDir) : null
    let head = ''
    const bytes = await withDatabase(around, async ({ connection }) => {
      const options = { version: config.version, masterKey, pages: !values['without-pages'] }
      async function* watched() {
        for await (const piece of readBackup(connection, options)) {
          if (head === '') head = piece
          yield piece
        }
      }
      return writeBackupFile(file, watched())
    })
    const { master_key_id: keyId, made_at: madeAt } = JSON.parse(head) as Record<string, string | null>
    const key =
      keyId === null
        ? 'Nothing in it is sealed with a master key.'
        : masterKey !== null
          ? 'The master key is in it: keep it as you would keep private keys.'
          : `Private keys in it are sealed with the master key ${keyId}, which is not in it: ${
              config.secretKeys === null ? `${config.dataDir}/secret-key` : 'PREPAINT_SECRET_KEY'
            } must be kept elsewhere, or certificates have to be made anew.`
    return {
      json: { file, bytes, made_at: madeAt, master_key_id: keyId, has_key: masterKey !== null },
      text: `${file}: all that was stored at ${madeAt} (${(bytes / MIB).toFixed(1)} MiB before compression).\n${key}`,
    }
  },
})

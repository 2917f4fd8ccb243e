import { createReadStream, createWriteStream } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib'
import { readStoreId } from '@prepaint/pages/store/bodies/body-store.ts'
import { countStored } from '@prepaint/pages/store/bodies/check.ts'
import { type RestoredBodies, settleRestoredBodies } from '@prepaint/pages/store/bodies/restored.ts'
import { S3Client, StoreUnreachable } from '@prepaint/pages/store/bodies/s3-client.ts'
import { hostOf } from '@prepaint/pages/store/bodies/store-address.ts'
import { type BackupHead, readBackup } from '@prepaint/postgres/backup/backup.ts'
import { restoreBackup } from '@prepaint/postgres/backup/restore.ts'
import { readShape } from '@prepaint/postgres/domain-partitions.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { readMasterKeyText, writeMasterKeyText } from '@prepaint/service/certificates/vault/master-key.ts'
import { Vault } from '@prepaint/service/certificates/vault/vault.ts'
import { CommandError, type Commands, defineCommand } from '../command-line/command.ts'
import { openCommandDatabase, withDatabase } from '../command-line/open-database.ts'
import { missingSpace, restoreCost } from '../command-line/restore-cost.ts'
import { SCHEMA } from '../node/schema.ts'
import type { Config } from '../settings/config.ts'

const MIB = 1024 * 1024

const backup = defineCommand({
  options: {
    'without-pages': { value: null, text: 'leave out the render cache, which can be rendered again' },
    'with-key': {
      value: null,
      text: 'include the master key of the data directory: the file then gives access to all certificates',
    },
  },
  operand: {
    name: 'FILE',
    text: 'the file to write; an existing one is replaced once the new one is complete',
  },
  async run(values, around, file) {
    const { config } = around
    const masterKey =
      values['with-key'] && config.secretKeys === null ? readMasterKeyText(config.dataDir) : null
    let head = ''
    let leftOut = 0
    const bytes = await withDatabase(around, async ({ connection, pool }) => {
      if (!values['without-pages']) leftOut = await countStored(pool)
      const options = { version: config.version, masterKey, pages: !values['without-pages'] }
      async function* watched() {
        for await (const piece of readBackup(connection, options)) {
          if (head === '') head = piece.toString()
          yield piece
        }
      }
      return writeBackupFile(file, watched())
    })
    const { master_key_id: keyId, made_at: madeAt } = JSON.parse(head) as Record<string, string | null>
    const lines = [
      `${file}: everything stored at ${madeAt} (${(bytes / MIB).toFixed(1)} MiB before compression).`,
      keyAdvice(keyId ?? null, masterKey !== null, config),
    ]
    if (leftOut > 0) {
      lines.push(`${leftOut} page bodies are in the object store, and not in it: keep the bucket as well.`)
    }
    return {
      json: {
        file,
        bytes,
        made_at: madeAt,
        master_key_id: keyId,
        has_key: masterKey !== null,
        bodies_left_out: leftOut,
      },
      text: lines.join('\n'),
    }
  },
})

/** What to do about the master key of a backup. `keyId` is null if nothing in it is encrypted. */
function keyAdvice(keyId: string | null, hasKey: boolean, { dataDir, secretKeys }: Config): string {
  if (keyId === null) return 'Nothing in it is encrypted with a master key.'
  if (hasKey) return 'The master key is in it: protect the file like a private key.'
  const place = secretKeys === null ? `${dataDir}/secret-key` : 'PREPAINT_SECRET_KEY'
  return `Private keys in it are encrypted with the master key ${keyId}, which is not in it: keep ${place} elsewhere as well, or certificates are lost.`
}

const restore = defineCommand({
  options: {
    'take-over': {
      value: null,
      text: 'the database of the backup is gone: delete objects in its object store as well when pages change',
    },
  },
  operand: { name: 'FILE', text: 'a file written by "prepaint backup"' },
  async run(values, { config, say }, file) {
    const { dataDir, secretKeys: keys } = config
    const takesOver = values['take-over']
    const storeId = await readIdOfStore(config)
    const database = await openCommandDatabase(config, say, { create: true })
    let bodies: RestoredBodies = { kept: 0, foreign: 0, dropped: 0 }
    try {
      const { head, rows } = await restoreBackup(
        database.connection,
        readBackupFile(file),
        SCHEMA,
        silentLog(),
        {
          begin: (head) => beginRestore(head, config, say),
          settle: async (client) => {
            bodies = await settleRestoredBodies(client, storeId, { takesOver })
          },
        },
      )
      if (head.master_key !== null && keys === null) writeMasterKeyText(dataDir, head.master_key)
      const fits = await new Vault(database.pool, dataDir, keys).fits()
      const count = (table: string) => rows[table] ?? 0
      const words = [
        `Restored the backup of ${head.made_at}: ${count('account')} accounts, ${count('domain')} domains, ${count('page')} pages.`,
        'The tables of pages are divided by domain.',
      ]
      if (!fits) {
        words.push(
          `Private keys in it are encrypted with a master key (fingerprint ${head.master_key_id}) that is missing here: before you ` +
            `start a node, set PREPAINT_SECRET_KEY to the content of the old node's secret-key, or copy that file to ${dataDir}/secret-key.`,
        )
      }
      if (bodies.kept > 0)
        words.push(`${bodies.kept} page bodies stay in the object store of PREPAINT_BODIES.`)
      if (bodies.foreign > 0) {
        words.push(
          `${bodies.foreign} of them may belong to the database of the backup: they are read, and never deleted. If that database is gone, ` +
            `run "prepaint bodies adopt", or restore with --take-over the next time.`,
        )
      }
      if (bodies.dropped > 0) {
        words.push(
          `${bodies.dropped} pages were dropped and will be rendered again: their bodies are in an object store that PREPAINT_BODIES does not name.`,
        )
      }
      const shape = await readShape(database.pool, SCHEMA.divided)
      const json = { made_at: head.made_at, rows, master_key_fits: fits, divided: shape?.isDivided === true }
      return {
        json: { ...json, bodies_kept: bodies.kept, pages_dropped: bodies.dropped },
        text: words.join('\n'),
      }
    } finally {
      await database.close()
    }
  },
})

/** Says what a restore takes, and whether the disk of the private PostgreSQL may have no room: the tables may have been larger than their rows. */
function beginRestore(
  { estimate }: BackupHead,
  { databaseUrl, dataDir }: Config,
  say: (line: string) => void,
) {
  if (estimate === undefined) return
  const missing = databaseUrl === null ? missingSpace(estimate, dataDir) : null
  say(
    `This takes ${restoreCost(estimate)}${missing === null ? '' : `, and ${missing}: if it is not enough, nothing is restored`}.`,
  )
}

/** Returns null if PREPAINT_BODIES is not set, or if no Prepaint has used the store yet. */
async function readIdOfStore({ bodies }: Config): Promise<string | null> {
  if (bodies === null) return null
  const client = new S3Client(bodies)
  try {
    return await readStoreId(client)
  } catch (error) {
    const reason = (error as Error).message
    const advice =
      error instanceof StoreUnreachable
        ? 'start it first, or unset PREPAINT_BODIES to drop the pages whose bodies it has'
        : 'check PREPAINT_BODIES'
    throw new CommandError(`The object store at ${hostOf(bodies)} cannot be asked (${reason}): ${advice}`, {
      cause: error,
    })
  } finally {
    client.close()
  }
}

/** Owner-only file, under a temporary name until complete and on disk. Returns the uncompressed bytes. */
async function writeBackupFile(file: string, pieces: AsyncIterable<Buffer>): Promise<number> {
  const draft = `${file}.unfinished`
  const packed = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } })
  try {
    await pipeline(pieces, packed, createWriteStream(draft, { mode: 0o600, flags: 'wx', flush: true }))
    await rename(draft, file)
    const dir = await open(path.dirname(path.resolve(file)))
    await dir.sync()
    await dir.close()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST')
      throw new CommandError(
        `${draft} exists: another backup is running, or was interrupted; then remove the file`,
      )
    await rm(draft, { force: true })
    if (code !== undefined && /^E[A-Z]+$/.test(code))
      throw new CommandError(`${file} cannot be written: ${(error as Error).message}`)
    throw error
  }
  return packed.bytesWritten
}

/** Throws CommandError if the file is damaged or cannot be read. */
async function* readBackupFile(file: string): AsyncGenerator<Buffer> {
  const unpacked = createZstdDecompress()
  const fed = pipeline(createReadStream(file), unpacked)
  fed.catch(() => {})
  try {
    yield* unpacked as AsyncIterable<Buffer>
    await fed
  } catch (cause) {
    throw new CommandError(`${file} cannot be read as a backup: ${(cause as Error).message}`, { cause })
  }
}

export const commands: Commands = {
  backup: backup,
  restore: restore,
}

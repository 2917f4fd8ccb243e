import { createReadStream, createWriteStream } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib'

import { CommandError } from './command.ts'

/**
 * Writes the pieces to a file that only its owner may read; under another name
 * until it is whole and on disk, so that what has the name is a backup. Gives its bytes.
 */
export async function writeBackupFile(file: string, pieces: AsyncIterable<string>): Promise<number> {
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
      throw new CommandError(`${draft} is there: another backup writes it, or was cut off; remove it`)
    await rm(draft, { force: true })
    if (code !== undefined && /^E[A-Z]+$/.test(code))
      throw new CommandError(`${file} cannot be written: ${(error as Error).message}`)
    throw error
  }
  return packed.bytesWritten
}

/** The lines of a backup. Throws CommandError for a file that cannot be read or is damaged. */
export async function* readBackupFile(file: string): AsyncGenerator<string> {
  const unpacked = createZstdDecompress()
  const fed = pipeline(createReadStream(file), unpacked)
  // Told below; whoever reads the lines has to hear of it, not the process.
  fed.catch(() => {})
  try {
    yield* createInterface({ input: unpacked, crlfDelay: Number.POSITIVE_INFINITY })
    await fed
  } catch (cause) {
    throw new CommandError(`${file} cannot be read as a backup: ${(cause as Error).message}`, { cause })
  }
}

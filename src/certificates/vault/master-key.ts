import { createHash, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { chmodSync, linkSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'

import { makeDir } from '../../system-user.ts'

/**
 * Encrypts what must be kept and not be read by whoever has the database.
 * A KeyObject, so that it shows nothing of itself when it is printed.
 */
type MasterKey = {
  /** Tells keys apart and nothing about them; stands before all that is sealed with it. */
  id: string
  key: KeyObject
}

/** The first one seals; all of them open. More than one while a key is being replaced. */
export type MasterKeys = readonly [MasterKey, ...MasterKey[]]

const KEY_BYTES = 32
const ID_BYTES = 8
const FILE = 'secret-key'

/** Reads keys of 32 bytes in base64, with commas or line breaks between; null: that is not what it is. */
export function parseMasterKeys(text: string): MasterKeys | null {
  const keys = text
    .split(/[\s,]+/)
    .filter((part) => part !== '')
    .map((part) => (/^[A-Za-z0-9+/]{43}=$/.test(part) ? masterKey(Buffer.from(part, 'base64')) : null))
  if (keys.some((key) => key === null)) return null
  const [first, ...others] = keys as MasterKey[]
  return first === undefined ? null : [first, ...others]
}

/** The keys of the file in the data directory; null: there is none. Throws when it is unreadable or open to others. */
export function readMasterKeyFile(dataDir: string): MasterKeys | null {
  const file = path.join(dataDir, FILE)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  if ((statSync(file).mode & 0o077) !== 0) {
    throw new MasterKeyError(`${file} can be read by others than its owner: chmod 600 it`)
  }
  const keys = parseMasterKeys(text)
  if (keys === null) throw new MasterKeyError(`${file} does not hold 32 bytes in base64 on each line`)
  return keys
}

/** Makes the file with a new key and gives that; of two processes at once, both get the same. */
export function createMasterKeyFile(dataDir: string): MasterKeys {
  makeDir(dataDir, 0o711)
  const file = path.join(dataDir, FILE)
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  writeFileSync(draft, `${randomBytes(KEY_BYTES).toString('base64')}\n`, {
    mode: 0o600,
    flag: 'wx',
    flush: true,
  })
  chmodSync(draft, 0o600)
  try {
    // Never half of it, and never over one that is there.
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft)
  }
  const keys = readMasterKeyFile(dataDir)
  if (keys === null) throw new MasterKeyError(`${file} was removed while it was being made`)
  return keys
}

/** The file as it is, for a backup; null: there is none. Throws as reading it does. */
export function readMasterKeyText(dataDir: string): string | null {
  return readMasterKeyFile(dataDir) === null ? null : readFileSync(path.join(dataDir, FILE), 'utf8')
}

/** The file of a backup, where there is none yet. Throws where there is another. */
export function writeMasterKeyText(dataDir: string, text: string): void {
  if (parseMasterKeys(text) === null) throw new MasterKeyError('the master key of the backup is none')
  if (readMasterKeyText(dataDir) === text) return
  makeDir(dataDir, 0o711)
  try {
    writeFileSync(path.join(dataDir, FILE), text, { mode: 0o600, flag: 'wx', flush: true })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
    throw new MasterKeyError(`${path.join(dataDir, FILE)} holds another master key than the backup`, {
      cause,
    })
  }
}

/** For the person who starts a node: the message says what to do. */
export class MasterKeyError extends Error {
  override name = 'MasterKeyError'
}

function masterKey(bytes: Buffer): MasterKey {
  const id = createHash('sha256').update('prepaint master key').update(bytes).digest()
  return { id: id.subarray(0, ID_BYTES).toString('hex'), key: createSecretKey(bytes) }
}

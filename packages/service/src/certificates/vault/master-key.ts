import { createHash, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { chmodSync, linkSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'

import { makeDir } from '@prepaint/runtime/system-user.ts'

/** Encrypts secrets in the database. A KeyObject, so that printing it reveals nothing. */
type MasterKey = {
  /** Prefix of everything encrypted with this key; reveals nothing about it. */
  id: string
  key: KeyObject
}

/** The first encrypts, all decrypt. Several exist only while a key is being replaced. */
export type MasterKeys = readonly [MasterKey, ...MasterKey[]]

const KEY_BYTES = 32
const ID_BYTES = 8
const FILE = 'secret-key'

/** Reads base64 keys of 32 bytes, separated by commas or line breaks. Returns null if they are malformed. */
export function parseMasterKeys(text: string): MasterKeys | null {
  const keys = text
    .split(/[\s,]+/)
    .filter((part) => part !== '')
    .map((part) => (/^[A-Za-z0-9+/]{43}=$/.test(part) ? masterKey(Buffer.from(part, 'base64')) : null))
  if (keys.some((key) => key === null)) return null
  const [first, ...others] = keys as MasterKey[]
  return first === undefined ? null : [first, ...others]
}

/** Returns null if there is no file. Throws if it is malformed or others can read it. */
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
    throw new MasterKeyError(`${file} can be read by other users: run chmod 600 on it`)
  }
  const keys = parseMasterKeys(text)
  if (keys === null) throw new MasterKeyError(`${file} must contain 32 bytes in base64 on each line`)
  return keys
}

/** Creates the file with a new key. Concurrent processes get the same key. */
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
    // Atomic, and never replaces an existing file.
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft)
  }
  const keys = readMasterKeyFile(dataDir)
  if (keys === null) throw new MasterKeyError(`${file} was removed while it was created`)
  return keys
}

export function readMasterKeyText(dataDir: string): string | null {
  return readMasterKeyFile(dataDir) === null ? null : readFileSync(path.join(dataDir, FILE), 'utf8')
}

/** Restores the file from a backup. Throws if a different one exists. */
export function writeMasterKeyText(dataDir: string, text: string): void {
  if (parseMasterKeys(text) === null) throw new MasterKeyError('the master key in the backup is malformed')
  if (readMasterKeyText(dataDir) === text) return
  makeDir(dataDir, 0o711)
  try {
    writeFileSync(path.join(dataDir, FILE), text, { mode: 0o600, flag: 'wx', flush: true })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
    throw new MasterKeyError(`${path.join(dataDir, FILE)} contains another master key than the backup`, {
      cause,
    })
  }
}

export class MasterKeyError extends Error {
  override name = 'MasterKeyError'
}

function masterKey(bytes: Buffer): MasterKey {
  const id = createHash('sha256').update('prepaint master key').update(bytes).digest()
  return { id: id.subarray(0, ID_BYTES).toString('hex'), key: createSecretKey(bytes) }
}

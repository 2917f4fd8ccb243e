import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { createMasterKeyFile, MasterKeyError, type MasterKeys, readMasterKeyFile } from './master-key.ts'

const SEALED_COLUMNS = [
  { table: 'certificate', id: 'domain_id', purposeOf: (id: string) => certificatePurpose(Number(id)) },
  { table: 'acme_account', id: 'directory', purposeOf: (id: string) => accountPurpose(id) },
  { table: 'channel', id: 'id', purposeOf: (id: string) => channelPurpose(Number(id)) },
  { table: 'origin_header', id: 'domain_id', purposeOf: (id: string) => originHeadersPurpose(Number(id)) },
  { table: 'second_factor', id: 'person_id', purposeOf: (id: string) => secondFactorPurpose(Number(id)) },
] as const

/** Encrypts (seals) and decrypts (opens) secrets. The key id in the database detects a wrong master key first. */
export class Vault {
  readonly #pool: pg.Pool
  readonly #dataDir: string
  /** Null until the file in the data directory is read or made. */
  #keys: MasterKeys | null
  #admitted: Promise<MasterKeys> | null = null

  /** `keys` are those of the settings. Without them the key is in the data directory, where it is created when needed. */
  constructor(pool: pg.Pool, dataDir: string, keys: MasterKeys | null) {
    this.#pool = pool
    this.#dataDir = dataDir
    this.#keys = keys
  }

  /** Throws MasterKeyError if this node does not have the database's master key. */
  async seal(purpose: string, secret: Buffer): Promise<Buffer> {
    return seal(await this.#admittedKeys(), purpose, secret)
  }

  /** Throws SealError or MasterKeyError. */
  open(purpose: string, sealed: Buffer): Buffer {
    const keys = this.#findKeys()
    if (keys === null) throw new MasterKeyError(mismatch(null))
    return unseal(keys, purpose, sealed)
  }

  /** Creates and registers keys if missing; re-encrypts everything after a key change. Throws as `seal` does. */
  async admit(): Promise<void> {
    await this.#admittedKeys()
  }

  /** The ids of this node's keys, the one that seals first; null if it has none yet. They reveal nothing about the keys. */
  keyIds(): string[] | null {
    return this.#findKeys()?.map(({ id }) => id) ?? null
  }

  /** Whether this node can decrypt the secrets. Creates and registers nothing. */
  async fits(): Promise<boolean> {
    const id = await registeredId(this.#pool)
    if (id === null) return true
    return this.#findKeys()?.some((key) => key.id === id) ?? false
  }

  /** Remembers keys that were read from the file. */
  #findKeys(): MasterKeys | null {
    this.#keys ??= readMasterKeyFile(this.#dataDir)
    return this.#keys
  }

  /** Tried again at the next call if it failed. */
  #admittedKeys(): Promise<MasterKeys> {
    this.#admitted ??= this.#register().catch((error: unknown) => {
      this.#admitted = null
      throw error
    })
    return this.#admitted
  }

  #register(): Promise<MasterKeys> {
    return transaction(this.#pool, async (client) => {
      const registered = await registeredId(client)
      if (this.#findKeys() === null && registered !== null) throw new MasterKeyError(mismatch(registered))
      this.#keys ??= createMasterKeyFile(this.#dataDir)
      const own = this.#keys
      await client.query('insert into master_key (id) values ($1) on conflict do nothing', [own[0].id])
      const { rows } = await client.query<{ id: string }>('select id from master_key for update')
      const id = rows[0]?.id ?? ''
      if (!own.some((key) => key.id === id)) throw new MasterKeyError(mismatch(id))
      if (id !== own[0].id) await reseal(client, own)
      return own
    })
  }
}

export function certificatePurpose(domain: number): string {
  return `certificate of domain ${domain}`
}

export function originHeadersPurpose(domain: number): string {
  return `origin headers of domain ${domain}`
}

export function accountPurpose(directory: string): string {
  return `account at ${directory}`
}

export function channelPurpose(channel: number): string {
  return `channel ${channel}`
}

export function secondFactorPurpose(person: number): string {
  return `second factor of person ${person}`
}

/** Key rotation. The row of master_key is locked. */
async function reseal(client: Queryable, keys: MasterKeys): Promise<void> {
  for (const { table, id, purposeOf } of SEALED_COLUMNS) {
    const { rows } = await client.query<{ id: string; key_sealed: Buffer }>(
      `select ${id}::text as id, key_sealed from ${table} where key_sealed is not null for update`,
    )
    for (const row of rows) {
      const purpose = purposeOf(row.id)
      const sealed = seal(keys, purpose, unseal(keys, purpose, row.key_sealed))
      await client.query(`update ${table} set key_sealed = $2 where ${id}::text = $1`, [row.id, sealed])
    }
  }
  await client.query('update master_key set id = $1', [keys[0].id])
}

async function registeredId(db: Queryable): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>('select id from master_key')
  return rows[0]?.id ?? null
}

function mismatch(id: string | null): string {
  return (
    `The private keys in this database are encrypted with a master key${id === null ? '' : ` (fingerprint ${id})`} that this node does not have. ` +
    'Use the same key on all nodes: set PREPAINT_SECRET_KEY to the content of the file secret-key in the data directory of the first node.'
  )
}

/** Version (1 byte), key id (8), nonce (12), tag (16), AES-256-GCM secret. Authenticates `purpose`, the row. */
const VERSION = 1
const HEAD_BYTES = 9
const NONCE_BYTES = 12
const TAG_BYTES = 16

export function seal(keys: MasterKeys, purpose: string, secret: Buffer): Buffer {
  const [{ id, key }] = keys
  const head = Buffer.concat([Buffer.of(VERSION), Buffer.from(id, 'hex')])
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(bound(head, purpose))
  const body = Buffer.concat([cipher.update(secret), cipher.final()])
  return Buffer.concat([head, nonce, cipher.getAuthTag(), body])
}

/** Throws SealError for an unknown key, a different purpose, or a changed value. */
export function unseal(keys: MasterKeys, purpose: string, sealed: Buffer): Buffer {
  if (sealed.length < HEAD_BYTES + NONCE_BYTES + TAG_BYTES || sealed[0] !== VERSION) {
    throw new SealError('unknown format of a sealed value')
  }
  const head = sealed.subarray(0, HEAD_BYTES)
  const id = head.subarray(1).toString('hex')
  const known = keys.find((each) => each.id === id)
  if (known === undefined) throw new SealError(`it is sealed with another master key (${id})`)
  const [nonce, tag, body] = parts(sealed.subarray(HEAD_BYTES))
  const cipher = createDecipheriv('aes-256-gcm', known.key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(bound(head, purpose)).setAuthTag(tag)
  try {
    return Buffer.concat([cipher.update(body), cipher.final()])
  } catch (cause) {
    throw new SealError('it was changed, or sealed for another purpose', { cause })
  }
}

export class SealError extends Error {
  override name = 'SealError'
}

function parts(rest: Buffer): [nonce: Buffer, tag: Buffer, body: Buffer] {
  const bodyAt = NONCE_BYTES + TAG_BYTES
  return [rest.subarray(0, NONCE_BYTES), rest.subarray(NONCE_BYTES, bodyAt), rest.subarray(bodyAt)]
}

function bound(head: Buffer, purpose: string): Buffer {
  return Buffer.concat([head, Buffer.from(purpose)])
}

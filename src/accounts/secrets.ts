import { createHash, randomBytes } from 'node:crypto'
import type { Queryable } from '../db/transaction.ts'
import { AppError } from '../errors.ts'
import type { AccountId, DomainId, DomainName } from '../ids.ts'

/** 32 bytes, 256 bits, in 43 characters of the URL-safe alphabet. */
const RANDOM_BYTES = 32

/** Characters of the random part that lists may show, so that people can tell their keys apart. */
const HINT_CHARS = 4

type SecretPrefix = 'pp_live_' | 'pp_wh_' | 'pp_in_'

type NewSecret = {
  /** In clear: goes into the one answer that creates it, and nowhere else. */
  raw: string
  hash: Buffer
  hint: string
}

/** A new API key or webhook token. */
export function createSecret(prefix: SecretPrefix): NewSecret {
  const raw = prefix + randomBytes(RANDOM_BYTES).toString('base64url')
  return { raw, hash: hashSecret(raw), hint: raw.slice(0, prefix.length + HINT_CHARS) }
}

/** What is stored and looked up. No salt and no slowness are needed: nobody guesses 256 random bits. */
export function hashSecret(raw: string): Buffer {
  return createHash('sha256').update(raw).digest()
}

const SECRET_NAME_LIMIT_CHARS = 100

const CONTROL = /[\x00-\x1f\x7f]/

/**
 * The name that its creator gives to a key or token, without blanks around it.
 * Throws `invalid_field` for an empty one, one of more than 100 characters, or
 * one with control characters.
 */
export function parseSecretName(raw: string): string {
  const name = raw.trim()
  if (name === '') throw new AppError('invalid_field', { word: 'name is required' })
  if (CONTROL.test(name) || !name.isWellFormed()) {
    throw new AppError('invalid_field', { word: 'name must not hold control characters' })
  }
  if ([...name].length > SECRET_NAME_LIMIT_CHARS) {
    throw new AppError('invalid_field', {
      word: `name must have at most ${SECRET_NAME_LIMIT_CHARS} characters`,
    })
  }
  return name
}

/** Nothing that we made is longer; what is, is not even hashed. */
const RAW_LIMIT_CHARS = 200

type KeyOwner = {
  keyId: number
  account: AccountId
  plan: string
  suspended: boolean
  lastUsedAt: Date | null
}

export type TokenOwner = {
  tokenId: number
  account: AccountId
  plan: string
  suspended: boolean
  domain: DomainId
  name: DomainName
  isActive: boolean
  settings: unknown
  lastUsedAt: Date | null
}

/**
 * Whose API key that is; null when it is unknown, revoked or expired. It is
 * looked up each time, by its hash, in one prepared statement: whatever a node
 * remembered would outlive a revocation on another.
 */
export async function findKeyOwner(db: Queryable, raw: string, nowMs: number): Promise<KeyOwner | null> {
  if (!raw.startsWith('pp_live_') || raw.length > RAW_LIMIT_CHARS) return null
  const { rows } = await db.query<{
    id: number
    account_id: AccountId
    plan: string
    suspended: boolean
    last_used_at: Date | null
  }>({
    name: 'find-key-owner',
    text: `select k.id, k.account_id, a.plan, a.suspended_at is not null as suspended, k.last_used_at
           from api_key k join account a on a.id = k.account_id
           where k.key_hash = $1 and k.revoked_at is null and (k.expires_at is null or k.expires_at > $2)`,
    values: [hashSecret(raw), new Date(nowMs)],
  })
  const row = rows[0]
  if (row === undefined) return null
  return {
    keyId: row.id,
    account: row.account_id,
    plan: row.plan,
    suspended: row.suspended,
    lastUsedAt: row.last_used_at,
  }
}

/** Whose webhook token that is, and of which domain; null when it is unknown or revoked. */
export async function findTokenOwner(db: Queryable, raw: string): Promise<TokenOwner | null> {
  if (!raw.startsWith('pp_wh_') || raw.length > RAW_LIMIT_CHARS) return null
  const { rows } = await db.query<TokenOwnerRow>({
    name: 'find-token-owner',
    text: `select t.id, t.last_used_at, d.id as domain_id, d.custom_domain, d.is_active, d.settings,
                  d.account_id, a.plan, a.suspended_at is not null as suspended
           from webhook_token t join domain d on d.id = t.domain_id join account a on a.id = d.account_id
           where t.token_hash = $1 and t.revoked_at is null`,
    values: [hashSecret(raw)],
  })
  const row = rows[0]
  if (row === undefined) return null
  return {
    tokenId: row.id,
    account: row.account_id,
    plan: row.plan,
    suspended: row.suspended,
    domain: row.domain_id,
    name: row.custom_domain,
    isActive: row.is_active,
    settings: row.settings,
    lastUsedAt: row.last_used_at,
  }
}

type TokenOwnerRow = {
  id: number
  last_used_at: Date | null
  domain_id: DomainId
  custom_domain: DomainName
  is_active: boolean
  settings: unknown
  account_id: AccountId
  plan: string
  suspended: boolean
}

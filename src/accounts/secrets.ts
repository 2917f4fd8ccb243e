import { createHash, randomBytes } from 'node:crypto'
import { AppError } from '../errors.ts'

/** 32 bytes, 256 bits, in 43 characters of the URL-safe alphabet. */
const RANDOM_BYTES = 32

/** Characters of the random part that lists may show, so that people can tell their keys apart. */
const HINT_CHARS = 4

type SecretPrefix = 'pp_live_' | 'pp_wh_' | 'pp_in_' | 'pp_se_'

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

/** Nothing that we made is longer; longer texts are not even hashed. */
const RAW_LIMIT_CHARS = 200

/** Whether this may be a secret of that kind. */
export function isSecret(prefix: SecretPrefix, raw: string): boolean {
  return raw.startsWith(prefix) && raw.length <= RAW_LIMIT_CHARS
}

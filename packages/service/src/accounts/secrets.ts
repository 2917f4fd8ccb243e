import { createHash, randomBytes } from 'node:crypto'
import { invalidField } from '@prepaint/contract/errors.ts'

/** A secret has 256 random bits, written as 43 URL-safe characters. */
const RANDOM_BYTES = 32

const HINT_CHARS = 4

type SecretPrefix =
  | 'pp_live_'
  | 'pp_wh_'
  | 'pp_site_'
  | 'pp_in_'
  | 'pp_se_'
  | 'pp_sh_'
  | 'pp_sf_'
  | 'pp_pk_'
  | 'pp_em_'
  | 'pp_so_'

type NewSecret = {
  raw: string
  hash: Buffer
  hint: string
}

/** `hint` is the beginning of the secret, which its owner sees later. */
export function createSecret(prefix: SecretPrefix): NewSecret {
  const raw = prefix + randomBytes(RANDOM_BYTES).toString('base64url')
  return { raw, hash: hashSecret(raw), hint: raw.slice(0, prefix.length + HINT_CHARS) }
}

/** 256 random bits need no salt and no slow hash. */
export function hashSecret(raw: string): Buffer {
  return createHash('sha256').update(raw).digest()
}

const SECRET_NAME_LIMIT_CHARS = 100

const CONTROL = /[\x00-\x1f\x7f]/

/** Trims the name. Throws `invalid_field` if it is empty, too long, or has control characters. */
export function parseSecretName(raw: string): string {
  const name = raw.trim()
  if (name === '') throw invalidField(['name'], 'is required')
  if (CONTROL.test(name) || !name.isWellFormed()) {
    throw invalidField(['name'], 'must not contain control characters')
  }
  if ([...name].length > SECRET_NAME_LIMIT_CHARS) {
    throw invalidField(['name'], `must have at most ${SECRET_NAME_LIMIT_CHARS} characters`)
  }
  return name
}

/** Longer texts are never ours and are not hashed. */
const RAW_LIMIT_CHARS = 200

export function isSecret(prefix: SecretPrefix, raw: string): boolean {
  return raw.startsWith(prefix) && raw.length <= RAW_LIMIT_CHARS
}

import { createHash, randomBytes } from 'node:crypto'

/** 32 bytes, 256 bits, in 43 characters of the URL-safe alphabet. */
const RANDOM_BYTES = 32

/** Characters of the random part that lists may show, so that people can tell their keys apart. */
const HINT_CHARS = 4

export type SecretPrefix = 'pp_live_' | 'pp_wh_' | 'pp_in_'

export type NewSecret = {
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

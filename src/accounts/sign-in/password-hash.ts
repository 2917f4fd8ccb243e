import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'

export const PASSWORD_MIN_CHARS = 8
export const PASSWORD_MAX_CHARS = 128

// 32 MiB a hash, and the form in which better-auth, which signs people in, would write it itself.
const COST = { N: 16_384, r: 16, p: 1 }
const KEY_BYTES = 64

/**
 * `hex(salt of 16 bytes):hex(scrypt key of 64 bytes)`; the salt goes into
 * scrypt as its hex text. The password is hashed in its NFKC form, so that the
 * same letters typed on another keyboard are the same password.
 */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16).toString('hex')
  return `${salt}:${(await derive(password, salt)).toString('hex')}`
}

/** Whether `password` made `hash`; takes the same time whatever the difference. */
export async function verifyPassword(password: string, hash: string): Promise<boolean> {
  const [salt, key] = hash.split(':')
  if (salt === undefined || key === undefined || !/^[0-9a-f]{128}$/.test(key)) return false
  return timingSafeEqual(await derive(password, salt), Buffer.from(key, 'hex'))
}

function derive(password: string, salt: string): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const maxmem = 128 * COST.N * COST.r * 2
  scrypt(password.normalize('NFKC'), salt, KEY_BYTES, { ...COST, maxmem }, (error, key) => {
    if (error === null) resolve(key)
    else reject(error)
  })
  return promise
}

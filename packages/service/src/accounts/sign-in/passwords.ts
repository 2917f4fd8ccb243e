import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { AppError, invalidField } from '@prepaint/contract/errors.ts'
import type { AccountId } from '@prepaint/contract/ids.ts'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { parseEmail } from '../email.ts'
import { endSessions, replaceSession, type Session, type SessionClient, startSession } from './sessions.ts'

const PASSWORD_MIN_CHARS = 8
const PASSWORD_MAX_CHARS = 128

// 32 MiB per hash. Parameters and format come from better-auth, which earlier versions used.
const COST = { N: 16_384, r: 16, p: 1 }
const KEY_BYTES = 64

/** Matches no password. Verified for unknown accounts, so that they take equally long. */
const NO_HASH = `${'0'.repeat(32)}:${'0'.repeat(2 * KEY_BYTES)}`

/** Throws `wrong_credentials` in constant time, or `account_suspended` if the password is right. */
export async function signIn(
  pool: pg.Pool,
  { email, password }: { email: string; password: string },
  client: SessionClient,
  nowMs: number,
): Promise<{ session: Session; token: string }> {
  const { rows } = await pool.query<{ id: AccountId; hash: string | null; suspended: boolean }>(
    'select id, password_hash as hash, suspended_at is not null as suspended from account where email = $1',
    [parseEmail(email) ?? ''],
  )
  const account = rows[0]
  const isRight = await verifyPassword(password, account?.hash ?? NO_HASH)
  if (account === undefined || !isRight) throw new AppError('wrong_credentials')
  if (account.suspended) throw new AppError('account_suspended')
  const started = await startSession(pool, account.id, client, nowMs, account.hash)
  // The password changed or the account was suspended meanwhile.
  if (started === null) throw new AppError('wrong_credentials')
  return started
}

/** Ends all other sessions, renews the token of this one and returns it. Throws `wrong_password` or `invalid_field`. */
export async function changePassword(
  pool: pg.Pool,
  session: Session,
  { current, next }: { current: string; next: string },
  nowMs: number,
): Promise<string> {
  const { rows } = await pool.query<{ hash: string | null }>(
    'select password_hash as hash from account where id = $1',
    [session.account],
  )
  const hash = rows[0]?.hash ?? NO_HASH
  checkPassword(next, 'new_password')
  if (!(await verifyPassword(current, hash))) throw new AppError('wrong_password')
  const nextHash = await hashPassword(next)
  return transaction(pool, async (client) => {
    const { rowCount } = await client.query(
      'update account set password_hash = $3 where id = $1 and password_hash = $2',
      [session.account, hash, nextHash],
    )
    // The password changed meanwhile.
    if (rowCount === 0) throw new AppError('wrong_password')
    return replaceSession(client, session, nowMs)
  })
}

/** Ends all sessions. Call in a transaction. Throws `invalid_field`. */
export async function setPassword(client: Queryable, account: AccountId, password: string): Promise<void> {
  const hash = await hashPassword(password)
  // Lock the account's row first, so that the second statement sees concurrent sessions.
  await client.query('update account set password_hash = $2 where id = $1', [account, hash])
  await endSessions(client, account)
}

/** Counts characters of the NFKC form. Throws `invalid_field`. */
function checkPassword(password: string, field = 'password'): void {
  const chars = [...password.normalize('NFKC')].length
  if (PASSWORD_MIN_CHARS <= chars && chars <= PASSWORD_MAX_CHARS) return
  throw invalidField([field], `must have ${PASSWORD_MIN_CHARS} to ${PASSWORD_MAX_CHARS} characters`)
}

/**
 * `hex(16-byte salt):hex(64-byte scrypt key)`. scrypt gets the salt as hex text, and the password in NFKC, so
 * keyboards do not matter. Throws `invalid_field`.
 */
export async function hashPassword(password: string): Promise<string> {
  checkPassword(password)
  const salt = randomBytes(16).toString('hex')
  return `${salt}:${(await derive(password, salt)).toString('hex')}`
}

/** Compares in constant time. */
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

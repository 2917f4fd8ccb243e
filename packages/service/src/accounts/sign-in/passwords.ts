import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { AppError, invalidField } from '@prepaint/contract/errors.ts'
import type { PersonId } from '@prepaint/contract/ids.ts'
import {
  PASSWORD_LEAST_SCORE,
  PASSWORD_MAX_CHARS,
  PASSWORD_MIN_CHARS,
  passwordChars,
  passwordScore,
} from '@prepaint/contract/passwords.ts'
import { recordEach } from '@prepaint/postgres/audit'
import { asPerson } from '@prepaint/postgres/audit/acting.ts'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { parseEmail } from '../email.ts'
import { endSessions, isSuspended, recordOfPerson, replaceSession, type Session } from './sessions.ts'

/** scrypt takes 128 * N * r bytes. */
type Cost = { N: number; r: number; p: number }

/** 32 MiB per hash. A password that is stored at another cost is hashed anew when its person signs in. */
const COST: Cost = { N: 16_384, r: 16, p: 1 }
const KEY_BYTES = 64

/** Of hashes of 0.2.0, which do not name theirs. */
const COST_UNNAMED: Cost = { N: 16_384, r: 16, p: 1 }

/** Matches no password. Verified for unknown accounts, so that they take equally long. */
const NO_HASH = storedHash('0'.repeat(32), '0'.repeat(2 * KEY_BYTES))

/** Why `startSession` refused a person whose password was right: its accounts are suspended, or the password has changed. */
export async function whyNoSession(db: Queryable, person: PersonId): Promise<AppError> {
  return new AppError((await isSuspended(db, person)) ? 'account_suspended' : 'wrong_credentials')
}

/**
 * Returns whose password it is, and its hash, which is at the present cost from then on. Throws `wrong_credentials` in constant
 * time.
 */
export async function checkCredentials(
  db: Queryable,
  { email, password }: { email: string; password: string },
  log: Log,
): Promise<{ id: PersonId; hash: string }> {
  const { rows } = await db.query<{ id: PersonId; hash: string | null }>(
    'select id, password_hash as hash from person where email = $1',
    [parseEmail(email) ?? ''],
  )
  const person = rows[0]
  const isRight = await verifyPassword(password, person?.hash ?? NO_HASH)
  if (person === undefined || person.hash === null || !isRight) {
    // Not awaited: how long it takes, and whether it fails, would tell who is a member.
    void recordFailure(db, email).catch((err: unknown) => {
      log.warn({ err }, 'a wrong password could not be recorded in the audit log')
    })
    throw new AppError('wrong_credentials')
  }
  return { id: person.id, hash: await raiseCost(db, person.id, password, person.hash) }
}

/** Throws `wrong_password` unless it is the person's. A wrong one is recorded. */
export async function checkOwnPassword(db: Queryable, person: PersonId, password: string): Promise<void> {
  const { rows } = await db.query<{ hash: string | null }>(
    'select password_hash as hash from person where id = $1',
    [person],
  )
  if (await verifyPassword(password, rows[0]?.hash ?? NO_HASH)) return
  await recordOfPerson(db, person, { action: 'sign_in.failed', details: { at: 'confirmation' } })
  throw new AppError('wrong_password')
}

/** Returns the hash that is stored from now on. Of several sign-ins at once, one raises the cost. */
async function raiseCost(db: Queryable, person: PersonId, password: string, hash: string): Promise<string> {
  if (hash.startsWith(COST_PREFIX)) return hash
  await db.query('update person set password_hash = $3 where id = $1 and password_hash = $2', [
    person,
    hash,
    await hashPassword(password),
  ])
  const { rows } = await db.query<{ hash: string | null }>(
    'select password_hash as hash from person where id = $1',
    [person],
  )
  const now = rows[0]?.hash ?? NO_HASH
  // Meanwhile another sign-in raised it, or the password was changed.
  if (now === hash || !(await verifyPassword(password, now))) throw new AppError('wrong_credentials')
  return now
}

/** Records a wrong password in each account of the person. Asks the same of the database for an address that nobody has. */
async function recordFailure(db: Queryable, raw: string): Promise<void> {
  const email = parseEmail(raw) ?? ''
  const { rows } = await db.query<{ id: PersonId }>('select id from person where email = $1', [email])
  const id = rows[0]?.id ?? (0 as PersonId)
  await recordEach(
    db,
    { action: 'sign_in.failed', target: email, acting: asPerson({ id, email }), share: `person ${id}` },
    'select account_id, null::text as domain from member where person_id = $1',
    [id],
  )
}

/** Ends all other sessions, renews the token of this one and returns it. Throws `wrong_password`, which is recorded, or `invalid_field`. */
export async function changePassword(
  pool: pg.Pool,
  session: Session,
  { current, next }: { current: string; next: string },
  nowMs: number,
): Promise<string> {
  const { rows } = await pool.query<{ hash: string | null }>(
    'select password_hash as hash from person where id = $1',
    [session.person],
  )
  const hash = rows[0]?.hash ?? NO_HASH
  await checkNewPassword(next, { field: 'new_password', words: await wordsOf(pool, session.person) })
  if (!(await verifyPassword(current, hash))) {
    const details = { at: 'change of the password' }
    await recordOfPerson(pool, session.person, { action: 'sign_in.failed', details })
    throw new AppError('wrong_password')
  }
  const nextHash = await hashPassword(next)
  return transaction(pool, async (client) => {
    const { rowCount } = await client.query(
      'update person set password_hash = $3 where id = $1 and password_hash = $2',
      [session.person, hash, nextHash],
    )
    // The password changed meanwhile.
    if (rowCount === 0) throw new AppError('wrong_password')
    await endWaitingChanges(client, session.person)
    await recordOfPerson(client, session.person, { action: 'person.password_changed' })
    return replaceSession(client, session, nowMs)
  })
}

/** Sets any password and ends all sessions. Call in a transaction. */
export async function setPassword(client: Queryable, person: PersonId, password: string): Promise<void> {
  await setPasswordHash(client, person, await hashPassword(password))
}

/** As `setPassword`, with the hash of the password. */
export async function setPasswordHash(client: Queryable, person: PersonId, hash: string): Promise<void> {
  // Lock the person's row first, so that the second statement sees concurrent sessions.
  await client.query('update person set password_hash = $2 where id = $1', [person, hash])
  await endWaitingChanges(client, person)
  await recordOfPerson(client, person, { action: 'person.password_changed' })
  await endSessions(client, person)
}

/** Who chooses a new password may have lost the old one to somebody who has asked for another address, or for a link. */
async function endWaitingChanges(client: Queryable, person: PersonId): Promise<void> {
  await client.query('delete from email_change where person_id = $1 and done_at is null', [person])
  // One that is used just now is locked before the person.
  await client.query(
    `delete from link where id in (
       select id from link where kind = 'reset' and person_id = $1 for update skip locked)`,
    [person],
  )
}

/**
 * Hashes a password that a person chooses. `words` are what a guesser knows of the person: the address, names of accounts.
 * Throws `invalid_field`.
 */
export async function hashNewPassword(password: string, words: readonly string[]): Promise<string> {
  await checkNewPassword(password, { field: 'password', words })
  return hashPassword(password)
}

/** The address of a person and the names of its accounts. */
export async function wordsOf(db: Queryable, person: PersonId): Promise<string[]> {
  const { rows } = await db.query<{ word: string }>(
    `select email as word from person where id = $1
     union select coalesce(a.name, a.email) from member m join account a on a.id = m.account_id where m.person_id = $1`,
    [person],
  )
  return rows.map(({ word }) => word)
}

/** Throws `invalid_field`. */
async function checkNewPassword(
  password: string,
  { field, words }: { field: string; words: readonly string[] },
): Promise<void> {
  const chars = passwordChars(password)
  if (chars < PASSWORD_MIN_CHARS || chars > PASSWORD_MAX_CHARS) {
    throw invalidField([field], `must have ${PASSWORD_MIN_CHARS} to ${PASSWORD_MAX_CHARS} characters`)
  }
  if ((await passwordScore(password, words)) < PASSWORD_LEAST_SCORE) {
    throw invalidField([field], 'is too easy to guess')
  }
}

/** Beginning of a stored hash at the present cost. */
const COST_PREFIX = costPrefix(COST)

function costPrefix({ N, r, p }: Cost): string {
  return `scrypt:${Math.log2(N)}:${r}:${p}:`
}

/**
 * `scrypt:<log2 N>:<r>:<p>:<hex of a 16-byte salt>:<hex of a 64-byte key>`. Hashes of 0.2.0 have only the last two parts. scrypt
 * gets the salt as hex text, and the password in NFKC, so keyboards do not matter. Any password is hashed.
 */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16).toString('hex')
  return storedHash(salt, (await derive(password, salt, COST)).toString('hex'))
}

function storedHash(salt: string, key: string): string {
  return `${costPrefix(COST)}${salt}:${key}`
}

const STORED =
  /^(?:scrypt:(?<n>\d{1,2}):(?<r>\d{1,2}):(?<p>\d{1,2}):)?(?<salt>[0-9a-f]{32}):(?<key>[0-9a-f]{128})$/

/** Compares in constant time. */
export async function verifyPassword(password: string, hash: string): Promise<boolean> {
  const { n, r, p, salt = '', key = '' } = STORED.exec(hash)?.groups ?? {}
  if (key === '') return false
  const cost = n === undefined ? COST_UNNAMED : { N: 2 ** Number(n), r: Number(r), p: Number(p) }
  return timingSafeEqual(await derive(password, salt, cost), Buffer.from(key, 'hex'))
}

function derive(password: string, salt: string, cost: Cost): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const maxmem = 128 * cost.N * cost.r * 2
  scrypt(password.normalize('NFKC'), salt, KEY_BYTES, { ...cost, maxmem }, (error, key) => {
    if (error === null) resolve(key)
    else reject(error)
  })
  return promise
}

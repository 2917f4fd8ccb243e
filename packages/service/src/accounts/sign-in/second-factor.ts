/** Codes of an authenticator app (TOTP, RFC 6238) and the recovery codes that replace a lost one. */
import { createHash, randomBytes } from 'node:crypto'
import { AppError } from '@prepaint/contract/errors.ts'
import type { PersonId } from '@prepaint/contract/ids.ts'
import { actAsPerson } from '@prepaint/postgres/audit/acting.ts'
import { Rate } from '@prepaint/postgres/rates'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import { Secret, TOTP } from 'otpauth'
import type pg from 'pg'
import { MasterKeyError } from '../../certificates/vault/master-key.ts'
import { SealError, secondFactorPurpose, type Vault } from '../../certificates/vault/vault.ts'
import { lockPerson } from '../persons.ts'
import {
  endOtherSessions,
  endSessions,
  type Factors,
  HAS_PASSKEY,
  HAS_TOTP,
  recordOfPerson,
  type Session,
} from './sessions.ts'

const STEP_SECONDS = 30
/** A code is good one step before and after its own: clocks differ. */
const STEPS_EITHER_WAY = 1
/** As RFC 4226 recommends for SHA-1. */
const SECRET_BYTES = 20
const ISSUER = 'Prepaint'

const RECOVERY_CODES = 10
const RECOVERY_ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'
const RECOVERY_CHARS = 10

/** The most wrong codes of a person. */
const MOST_CODES = { quarterHour: 10, day: 30 } as const
const CODES = [
  new Rate({ what: 'code person', most: MOST_CODES.quarterHour, withinMs: 15 * 60_000, window: 'fixed' }),
  new Rate({ what: 'code person day', most: MOST_CODES.day, withinMs: 86_400_000, window: 'sliding' }),
] as const

/**
 * Counts a wrong code before it is looked at; a right one takes its own count back. Returns whether `isRight` said so. Throws
 * `too_many_failures`.
 */
export async function countedCode(
  pool: pg.Pool,
  person: PersonId,
  nowMs: number,
  isRight: () => Promise<boolean>,
): Promise<boolean> {
  const subject = `person ${person}`
  // Roll back refused tries: they are not counted and do not extend the window.
  await transaction(pool, async (client) => {
    for (const rate of CODES) {
      const refusal = await rate.take(client, subject, { nowMs })
      if (refusal !== null) throw new AppError('too_many_failures', { headers: refusal.headers })
    }
  })
  const giveBack = async () => {
    for (const rate of CODES) await rate.giveBack(pool, subject)
  }
  try {
    const right = await isRight()
    if (right) await giveBack()
    return right
  } catch (error) {
    await giveBack()
    throw error
  }
}

/** What a person has set up. */
export async function readFactors(db: Queryable, person: PersonId): Promise<Factors> {
  const { rows } = await db.query<Factors>(
    `select ${HAS_TOTP} as totp, ${HAS_PASSKEY} as passkey from person p where p.id = $1`,
    [person],
  )
  return rows[0] ?? { totp: false, passkey: false }
}

export function hasSecondFactor({ totp, passkey }: Factors): boolean {
  return totp || passkey
}

export async function countRecoveryCodes(db: Queryable, person: PersonId): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*)::int as count from recovery_code where person_id = $1',
    [person],
  )
  return rows[0]!.count
}

/** Names of the person's accounts that require a second factor. */
export async function accountsThatRequire(db: Queryable, person: PersonId): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    `select coalesce(a.name, a.email) as name from member m join account a on a.id = m.account_id
      where m.person_id = $1 and a.second_factor_required order by 1`,
    [person],
  )
  return rows.map(({ name }) => name)
}

/**
 * Makes the secret of an authenticator app, which counts once `confirmTotp` has seen a code. Throws `second_factor_exists`, and
 * `secrets_unavailable` if this node cannot seal secrets.
 */
export async function startTotp(
  pool: pg.Pool,
  vault: Vault,
  { person, email }: Session,
  nowMs: number,
): Promise<{ secret: string; uri: string }> {
  const secret = new Secret({ buffer: Uint8Array.from(randomBytes(SECRET_BYTES)).buffer })
  const sealed = await vault
    .seal(secondFactorPurpose(person), Buffer.from(secret.bytes))
    .catch((cause: unknown) => {
      throw cause instanceof MasterKeyError ? new AppError('secrets_unavailable', { cause }) : cause
    })
  const { rowCount } = await pool.query(
    `insert into second_factor as f (person_id, key_sealed, created_at) values ($1, $2, $3)
     on conflict (person_id) do update set key_sealed = $2, created_at = $3 where f.confirmed_at is null`,
    [person, sealed, new Date(nowMs)],
  )
  if (rowCount === 0) throw new AppError('second_factor_exists')
  return { secret: secret.base32, uri: totpOf(secret, email).toString() }
}

function totpOf(secret: Secret, label = ''): TOTP {
  return new TOTP({ issuer: ISSUER, label, algorithm: 'SHA1', digits: 6, period: STEP_SECONDS, secret })
}

/**
 * The app makes the right codes: from now on they are asked for. Ends all other sessions, and returns new recovery codes. Throws
 * `wrong_new_code`, `second_factor_exists` and `too_many_failures`.
 */
export async function confirmTotp(
  pool: pg.Pool,
  vault: Vault,
  session: Session,
  code: string,
  nowMs: number,
): Promise<string[]> {
  const { person } = session
  const { rows } = await pool.query('select confirmed_at from second_factor where person_id = $1', [person])
  if (rows[0]?.confirmed_at != null) throw new AppError('second_factor_exists')
  let sealed: Buffer | null = null
  const isRight = await countedCode(pool, person, nowMs, async () => {
    sealed = await takeCode(pool, vault, person, code, nowMs)
    return sealed !== null
  })
  if (!isRight) throw new AppError('wrong_new_code')
  return transaction(pool, async (client) => {
    await lockPerson(client, person)
    const { rowCount } = await client.query(
      // Another window may have made another secret meanwhile, whose codes nobody has shown.
      'update second_factor set confirmed_at = $2 where person_id = $1 and confirmed_at is null and key_sealed = $3',
      [person, new Date(nowMs), sealed],
    )
    if (rowCount === 0) {
      throw new AppError((await readFactors(client, person)).totp ? 'second_factor_exists' : 'wrong_new_code')
    }
    await recordOfPerson(client, person, { action: 'person.second_factor_added', details: { kind: 'totp' } })
    await endOtherSessions(client, session)
    return replaceRecoveryCodes(client, person)
  })
}

/** Returns the sealed secret, if it is a code of now that was not used yet, and uses it up. Null also if the secret cannot be opened here. */
async function takeCode(
  db: Queryable,
  vault: Vault,
  person: PersonId,
  code: string,
  nowMs: number,
): Promise<Buffer | null> {
  const { rows } = await db.query<{ key_sealed: Buffer | null }>(
    'select key_sealed from second_factor where person_id = $1',
    [person],
  )
  const sealed = rows[0]?.key_sealed ?? null
  const secret = openSecret(vault, person, sealed)
  const digits = code.replaceAll(/\s/g, '')
  if (secret === null || !/^\d{6}$/.test(digits)) return null
  const delta = totpOf(secret).validate({ token: digits, timestamp: nowMs, window: STEPS_EITHER_WAY })
  if (delta === null) return null
  const step = Math.floor(nowMs / 1_000 / STEP_SECONDS) + delta
  const { rowCount } = await db.query(
    `update second_factor
        set used_steps = array(select used from unnest(used_steps) used where used >= $2::bigint - 2 * $3::integer) || $2::bigint
      where person_id = $1 and not $2::bigint = any (used_steps)`,
    [person, step, STEPS_EITHER_WAY],
  )
  return rowCount === 0 ? null : sealed
}

/** Null if there is none, or if it was sealed with a master key that is lost. */
function openSecret(vault: Vault, person: PersonId, sealed: Buffer | null): Secret | null {
  if (sealed === null) return null
  try {
    const bytes = vault.open(secondFactorPurpose(person), sealed)
    return new Secret({ buffer: Uint8Array.from(bytes).buffer })
  } catch (error) {
    if (error instanceof SealError || error instanceof MasterKeyError) return null
    throw error
  }
}

/** Tells whether an active authenticator app made the code just now. */
export async function takeTotp(
  db: Queryable,
  vault: Vault,
  person: PersonId,
  code: string,
  nowMs: number,
): Promise<boolean> {
  if (!(await readFactors(db, person)).totp) return false
  return (await takeCode(db, vault, person, code, nowMs)) !== null
}

/** Removes the authenticator app, and the recovery codes if no passkey is left. Returns whether there was one. */
export async function removeTotp(pool: pg.Pool, person: PersonId): Promise<boolean> {
  return transaction(pool, async (client) => {
    await lockPerson(client, person)
    const { rowCount } = await client.query(
      'delete from second_factor where person_id = $1 and confirmed_at is not null',
      [person],
    )
    if (rowCount === 0) return false
    await dropUnneededCodes(client, person)
    await recordOfPerson(client, person, {
      action: 'person.second_factor_removed',
      details: { kind: 'totp' },
    })
    return true
  })
}

/** Recovery codes stay as long as a factor does. The caller has locked the person. */
export async function dropUnneededCodes(client: Queryable, person: PersonId): Promise<void> {
  if (hasSecondFactor(await readFactors(client, person))) return
  await client.query('delete from recovery_code where person_id = $1', [person])
}

/** Returns ten new recovery codes; those of before are gone. Throws `no_second_factor`. */
export async function renewRecoveryCodes(pool: pg.Pool, person: PersonId): Promise<string[]> {
  return transaction(pool, async (client) => {
    await lockPerson(client, person)
    if (!hasSecondFactor(await readFactors(client, person))) throw new AppError('no_second_factor')
    return replaceRecoveryCodes(client, person)
  })
}

/** The caller has locked the person. */
export async function replaceRecoveryCodes(client: Queryable, person: PersonId): Promise<string[]> {
  const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode)
  await client.query('delete from recovery_code where person_id = $1', [person])
  await client.query('insert into recovery_code (person_id, code_hash) select $1, unnest($2::bytea[])', [
    person,
    codes.map(hashRecoveryCode),
  ])
  return codes
}

/** 50 random bits, as `xxxxx-xxxxx`. */
function newRecoveryCode(): string {
  // 256 is a multiple of 32, so each character is as likely as another.
  const chars = [...randomBytes(RECOVERY_CHARS)].map((byte) => RECOVERY_ALPHABET[byte % 32])
  return `${chars.slice(0, RECOVERY_CHARS / 2).join('')}-${chars.slice(RECOVERY_CHARS / 2).join('')}`
}

const ALIKE: Readonly<Record<string, string>> = { '0': 'o', '1': 'l', '8': 'b' }

/** Forgives capital letters, spaces, dashes and digits that look like a letter. */
function hashRecoveryCode(code: string): Buffer {
  const plain = code.toLowerCase().replaceAll(/[\s\p{Pd}]/gu, '')
  const spelled = plain.replaceAll(/[018]/g, (char) => ALIKE[char] ?? char)
  return createHash('sha256').update(spelled).digest()
}

/** Tells whether it is a recovery code that is left, and uses it up. */
export async function takeRecoveryCode(pool: pg.Pool, person: PersonId, code: string): Promise<boolean> {
  return transaction(pool, async (client) => {
    const { rows } = await client.query<{ email: string }>(
      `delete from recovery_code c using person p
        where c.person_id = $1 and c.code_hash = $2 and p.id = c.person_id returning p.email`,
      [person, hashRecoveryCode(code)],
    )
    if (rows[0] === undefined) return false
    const { email } = rows[0]
    await actAsPerson({ id: person, email }, () =>
      recordOfPerson(client, person, { action: 'person.recovery_code_used' }),
    )
    return true
  })
}

/** For a person who lost all of them: removes every factor and ends all sessions. For operators only. */
export async function resetSecondFactor(pool: pg.Pool, person: PersonId): Promise<void> {
  await transaction(pool, async (client) => {
    await lockPerson(client, person)
    await dropFactors(client, person)
    await recordOfPerson(client, person, { action: 'person.second_factor_removed', details: { kind: 'all' } })
    await endSessions(client, person)
  })
}

/** The caller has locked the person. */
export async function dropFactors(client: Queryable, person: PersonId): Promise<void> {
  await client.query('delete from second_factor where person_id = $1', [person])
  await client.query('delete from passkey where person_id = $1', [person])
  await client.query('delete from recovery_code where person_id = $1', [person])
  await client.query('delete from sign_in_step where person_id = $1', [person])
}

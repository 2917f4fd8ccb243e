/** A sign-in whose password was right, and whose second factor is awaited. */
import { AppError } from '@prepaint/contract/errors.ts'
import type { PersonId } from '@prepaint/contract/ids.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { createSecret, hashSecret, isSecret } from '../secrets.ts'
import { countRecoveryCodes, readFactors } from './second-factor.ts'

const STEP_MS = 5 * 60_000
const MOST_TRIES = 5

export type Method = 'totp' | 'passkey' | 'recovery'

export type Step = { token: string; methods: Method[]; expires_at: string }

type Awaited = {
  person: PersonId
  passwordHash: string
  /** Of the invitation that is accepted with the second factor. */
  linkHash: Buffer | null
}

export async function beginStep(
  db: Queryable,
  { person, passwordHash, linkHash }: Awaited,
  nowMs: number,
): Promise<Step> {
  const { raw, hash } = createSecret('pp_sf_')
  const expiresAt = new Date(nowMs + STEP_MS)
  await db.query(
    `insert into sign_in_step (token_hash, person_id, password_hash, link_hash, expires_at) values ($1, $2, $3, $4, $5)`,
    [hash, person, passwordHash, linkHash, expiresAt],
  )
  const { totp, passkey } = await readFactors(db, person)
  const methods: Method[] = []
  if (totp) methods.push('totp')
  if (passkey) methods.push('passkey')
  if ((await countRecoveryCodes(db, person)) > 0) methods.push('recovery')
  return { token: raw, methods, expires_at: expiresAt.toISOString() }
}

/** Counts a try, of which there are five. Throws `sign_in_again` if the token is unknown, too old or was tried too often. */
export async function takeStep(db: Queryable, token: string, nowMs: number): Promise<Awaited> {
  if (!isSecret('pp_sf_', token)) throw new AppError('sign_in_again')
  const { rows } = await db.query<Awaited>(
    `update sign_in_step set tries = tries + 1 where token_hash = $1 and expires_at > $2 and tries < $3
     returning person_id as person, password_hash as "passwordHash", link_hash as "linkHash"`,
    [hashSecret(token), new Date(nowMs), MOST_TRIES],
  )
  if (rows[0] === undefined) throw new AppError('sign_in_again')
  return rows[0]
}

/** The second factor was right. Of two at once, one goes on: throws `sign_in_again`. */
export async function endStep(db: Queryable, token: string): Promise<void> {
  const { rowCount } = await db.query('delete from sign_in_step where token_hash = $1', [hashSecret(token)])
  if (rowCount === 0) throw new AppError('sign_in_again')
}

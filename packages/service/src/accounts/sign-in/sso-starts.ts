/** Sign-ins at the provider of single sign-on that are under way. */
import { AppError } from '@prepaint/contract/errors.ts'
import type { PersonId } from '@prepaint/contract/ids.ts'
import { Rate } from '@prepaint/postgres/rates'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { createSecret, hashSecret, isSecret } from '../secrets.ts'
import { FAILURE_WINDOW_MS } from './attempts.ts'
import type { SsoSecrets } from './single-sign-on.ts'

/** How long a person may take at the provider. */
export const SSO_START_MS = 10 * 60_000

/** Starts of an IP address that did not end in a sign-in, in 15 minutes. */
const MOST_STARTS = 30

const STARTS = new Rate({
  what: 'sso address',
  most: MOST_STARTS,
  withinMs: FAILURE_WINDOW_MS,
  window: 'fixed',
})

export type SsoStart = SsoSecrets & {
  /** The screen that follows. */
  next: string
  /** The client's, whose limit the start counts for. */
  address: string
  /** The session whose person proves again who it is. Null: somebody signs in. */
  session: { id: number; person: PersonId } | null
}

/** Throws `too_many_failures`. */
export async function countSsoStart(db: Queryable, address: string, nowMs: number): Promise<void> {
  const refusal = await STARTS.take(db, address, { nowMs })
  if (refusal !== null) throw new AppError('too_many_failures', { headers: refusal.headers })
}

/** The start ended well, so it counts no more. */
export async function giveBackSsoStart(db: Queryable, { address }: Pick<SsoStart, 'address'>): Promise<void> {
  await STARTS.giveBack(db, address)
}

/** Returns the token for the cookie of the browser that started. */
export async function keepSsoStart(
  db: Queryable,
  { state, nonce, verifier, next, address, session }: SsoStart,
  nowMs: number,
): Promise<string> {
  const { raw, hash } = createSecret('pp_so_')
  await db.query(
    `insert into sso_start (token_hash, state, nonce, verifier, next, address, session_id, started_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      hash,
      state,
      nonce,
      verifier,
      next,
      address,
      session?.id ?? null,
      new Date(nowMs),
      new Date(nowMs + SSO_START_MS),
    ],
  )
  return raw
}

type Row = Omit<SsoStart, 'session'> & { sessionId: number | null; person: PersonId | null; startedAt: Date }

/**
 * Takes the start of the browser with this token, once. Returns null if there is none with that state: a return to another browser
 * than the one that started is nobody's.
 */
export async function takeSsoStart(
  db: Queryable,
  { token, state }: { token: string; state: string },
  nowMs: number,
): Promise<(SsoStart & { startedAtMs: number }) | null> {
  if (!isSecret('pp_so_', token)) return null
  const { rows } = await db.query<Row>(
    `delete from sso_start o where token_hash = $1 and state = $2 and expires_at > $3
     returning state, nonce, verifier, next, address, session_id as "sessionId", started_at as "startedAt",
       (select s.person_id from session s where s.id = o.session_id) as person`,
    [hashSecret(token), state, new Date(nowMs)],
  )
  if (rows[0] === undefined) return null
  const { sessionId, person, startedAt, ...start } = rows[0]
  const startedAtMs = startedAt.getTime()
  if (sessionId === null) return { ...start, session: null, startedAtMs }
  // The session has just ended.
  if (person === null) return null
  return { ...start, session: { id: sessionId, person }, startedAtMs }
}

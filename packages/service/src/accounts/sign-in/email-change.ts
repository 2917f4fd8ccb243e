/** A person changes its address: the new one must be confirmed, and the old one can undo it. */
import { AppError } from '@prepaint/contract/errors.ts'
import type { PersonId } from '@prepaint/contract/ids.ts'
import { actAsPerson } from '@prepaint/postgres/audit/acting.ts'
import { Rate } from '@prepaint/postgres/rates'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { emailOf } from '../email.ts'
import { lockPerson } from '../persons.ts'
import { createSecret, hashSecret, isSecret } from '../secrets.ts'
import { endSessions, recordOfPerson } from './sessions.ts'

const HOUR_MS = 3_600_000
const CONFIRM_MS = 24 * HOUR_MS
const UNDO_MS = 72 * HOUR_MS

const UNIQUE_VIOLATION = '23505'

/** Letters go to addresses that anybody may name. */
const RATE = new Rate({ what: 'email change', most: 5, withinMs: 24 * HOUR_MS, window: 'sliding' })

export type EmailChange = {
  /** `token` confirms the new address until `confirmEndsAt`. */
  next: { email: string; token: string; endsAt: string }
  /** `token` undoes the change until `undoEndsAt`. */
  before: { email: string; token: string; endsAt: string }
}

/** Begins a change; one that waits ends. Throws `invalid_field` and `too_many_email_changes`. */
export async function beginEmailChange(
  pool: pg.Pool,
  person: PersonId,
  rawEmail: string,
  nowMs: number,
): Promise<EmailChange> {
  const email = emailOf(rawEmail)
  const refusal = await RATE.take(pool, `person ${person}`, { nowMs })
  if (refusal !== null) throw new AppError('too_many_email_changes', { headers: refusal.headers })
  const confirm = createSecret('pp_em_')
  const undo = createSecret('pp_em_')
  const confirmEndsAt = new Date(nowMs + CONFIRM_MS)
  const undoEndsAt = new Date(nowMs + UNDO_MS)
  return transaction(pool, async (client) => {
    const { rows } = await client.query<{ email: string }>(
      'select email from person where id = $1 for no key update',
      [person],
    )
    const before = rows[0]!.email
    await client.query('delete from email_change where person_id = $1 and done_at is null', [person])
    await client.query(
      `insert into email_change (person_id, old_email, new_email, confirm_hash, undo_hash, confirm_ends_at, undo_ends_at)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [person, before, email, confirm.hash, undo.hash, confirmEndsAt, undoEndsAt],
    )
    return {
      next: { email, token: confirm.raw, endsAt: confirmEndsAt.toISOString() },
      before: { email: before, token: undo.raw, endsAt: undoEndsAt.toISOString() },
    }
  })
}

type Row = {
  id: number
  person: PersonId
  old_email: string
  new_email: string
  is_undo: boolean
  is_done: boolean
}

/**
 * Uses the link of the new address, which takes the change into effect, or that of the old one, which undoes it and ends all
 * sessions. Returns the address that counts now. Throws `link_not_found`, and `email_taken` if another person has it meanwhile.
 */
export async function useEmailLink(
  pool: pg.Pool,
  token: string,
  nowMs: number,
): Promise<{ email: string; undone: boolean }> {
  if (!isSecret('pp_em_', token)) throw new AppError('link_not_found')
  const hash = hashSecret(token)
  return transaction(pool, async (client) => {
    // The person first, as everywhere.
    await client.query(
      'select from person where id in (select person_id from email_change where confirm_hash = $1 or undo_hash = $1) for no key update',
      [hash],
    )
    const { rows } = await client.query<Row>(
      `select id, person_id as person, old_email, new_email, undo_hash = $1 as is_undo, done_at is not null as is_done
         from email_change
        where (confirm_hash = $1 and confirm_ends_at > $2 and done_at is null) or (undo_hash = $1 and undo_ends_at > $2)
          for update`,
      [hash, new Date(nowMs)],
    )
    const change = rows[0]
    if (change === undefined) throw new AppError('link_not_found')
    if (!change.is_undo) {
      await actAsPerson({ id: change.person, email: change.old_email }, () =>
        setEmail(client, change.person, change.new_email),
      )
      await client.query('update email_change set done_at = $2, confirm_hash = null where id = $1', [
        change.id,
        new Date(nowMs),
      ])
      return { email: change.new_email, undone: false }
    }
    await actAsPerson({ id: change.person, email: change.old_email }, async () => {
      if (change.is_done) await setEmail(client, change.person, change.old_email)
      await endSessions(client, change.person)
    })
    // Later changes were made by whoever this undoes.
    await client.query('delete from email_change where person_id = $1 and id >= $2', [
      change.person,
      change.id,
    ])
    return { email: change.old_email, undone: true }
  })
}

/** Links that were sent to the address before end. Throws `email_taken`. */
async function setEmail(client: Queryable, person: PersonId, email: string): Promise<void> {
  const { rows } = await client.query<{ email: string }>('select email from person where id = $1', [person])
  const before = rows[0]?.email
  try {
    await client.query('update person set email = $2 where id = $1', [person, email])
  } catch (cause) {
    if ((cause as { code?: unknown }).code === UNIQUE_VIOLATION) throw new AppError('email_taken', { cause })
    throw cause
  }
  await client.query(`delete from link where kind = 'reset' and person_id = $1`, [person])
  // What the person has sent ends with its membership, by this address.
  for (const [table, author] of [
    ['invitation', 'invited_by'],
    ['share_link', 'created_by'],
  ]) {
    await client.query(
      `update ${table} set ${author} = $3 where ${author} = $2
          and account_id in (select account_id from member where person_id = $1)`,
      [person, before, email],
    )
  }
  if (before !== undefined && before !== email) {
    const details = { email: { old: before, new: email } }
    await recordOfPerson(client, person, { action: 'person.email_changed', details })
  }
}

/** Changes the address of a person at once, ends all its sessions, and changes that wait. For operators only. Throws as above. */
export async function setEmailByOperator(pool: pg.Pool, person: PersonId, rawEmail: string): Promise<void> {
  const email = emailOf(rawEmail)
  await transaction(pool, async (client) => {
    await lockPerson(client, person)
    await setEmail(client, person, email)
    await client.query('delete from email_change where person_id = $1', [person])
    await endSessions(client, person)
  })
}

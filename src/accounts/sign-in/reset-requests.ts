import type { Queryable } from '../../db/transaction.ts'
import { AppError } from '../../errors.ts'
import type { AccountId } from '../../ids.ts'
import { parseEmail } from '../accounts.ts'

const RESET_WINDOW_MS = 15 * 60_000
/** Requests of one address, whatever e-mails they name; and mails to one account, whoever asks for them. */
export const MOST_RESETS = { address: 10, account: 3 } as const

/**
 * Counts a request for a new password by mail, over all nodes. Throws
 * `too_many_resets` for an address that asks too often: whether there is such
 * an account does not count. False: the account has had enough mails for now.
 */
export async function countResetRequest(
  db: Queryable,
  asked: { email: string; address: string },
  nowMs: number,
): Promise<boolean> {
  const byAddress = `reset address ${asked.address}`
  const byAccount = `reset account ${parseEmail(asked.email) ?? ''}`
  const { rows } = await db.query<{ subject: string; started_at: Date; failures: number }>(
    `insert into sign_in_failure as f (subject, started_at, failures)
     select subject, $2, 1 from unnest($1::text[]) as subject
     on conflict (subject) do update set
       started_at = case when f.started_at <= $3 then $2 else f.started_at end,
       failures = case when f.started_at <= $3 then 1 else f.failures + 1 end
     returning subject, started_at, failures`,
    [[byAccount, byAddress].toSorted(), new Date(nowMs), new Date(nowMs - RESET_WINDOW_MS)],
  )
  const count = (subject: string) => rows.find((row) => row.subject === subject)!
  const { failures, started_at } = count(byAddress)
  if (failures > MOST_RESETS.address) {
    const waitMs = started_at.getTime() + RESET_WINDOW_MS - nowMs
    throw new AppError('too_many_resets', {
      headers: { 'Retry-After': String(Math.max(1, Math.ceil(waitMs / 1_000))) },
    })
  }
  return count(byAccount).failures <= MOST_RESETS.account
}

/** Whom to send a link for a new password; null: nobody has that e-mail, or his account is suspended. */
export async function findResetAccount(
  db: Queryable,
  email: string,
): Promise<{ id: AccountId; email: string } | null> {
  const { rows } = await db.query<{ id: AccountId; email: string }>(
    'select id, email from account where email = $1 and suspended_at is null',
    [parseEmail(email) ?? ''],
  )
  return rows[0] ?? null
}

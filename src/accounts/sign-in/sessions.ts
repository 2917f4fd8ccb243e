import type { Queryable } from '../../db/transaction.ts'
import { AppError } from '../../errors.ts'
import type { AccountId } from '../../ids.ts'

/** A session as its owner sees it. Times are ISO 8601 UTC. */
type SessionView = {
  id: number
  current: boolean
  created_at: string
  /** To the day: it is not written more often. */
  used_at: string
  address: string
  user_agent: string
}

/** Sessions of the account that have not ended, the newest first. `current`: the id of the one that asks. */
export async function listSessions(
  db: Queryable,
  account: AccountId,
  current: number,
  nowMs: number,
): Promise<SessionView[]> {
  const { rows } = await db.query<{
    id: number
    created_at: Date
    updated_at: Date
    ip_address: string | null
    user_agent: string | null
  }>(
    `select id, created_at, updated_at, ip_address, user_agent from sign_in_session
      where account_id = $1 and expires_at > $2 order by id desc`,
    [account, new Date(nowMs)],
  )
  return rows.map((row) => ({
    id: row.id,
    current: row.id === current,
    created_at: row.created_at.toISOString(),
    used_at: row.updated_at.toISOString(),
    address: row.ip_address ?? '',
    user_agent: row.user_agent ?? '',
  }))
}

/** Ends one session; throws `session_not_found` for one that is none of this account's. */
export async function endSession(db: Queryable, account: AccountId, id: number): Promise<void> {
  const { rowCount } = await db.query(
    'delete from sign_in_session where account_id = $1 and id = $2::bigint',
    [account, id],
  )
  if (rowCount === 0) throw new AppError('session_not_found')
}

/** Ends all sessions of the account, this one too. Gives how many. */
export async function endSessions(db: Queryable, account: AccountId): Promise<number> {
  const { rowCount } = await db.query('delete from sign_in_session where account_id = $1', [account])
  return rowCount ?? 0
}

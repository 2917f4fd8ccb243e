import type pg from 'pg'

import { retriedTransaction } from '../db/transaction.ts'
import { AppError } from '../errors.ts'
import type { AccountId, DomainId } from '../ids.ts'
import { cancelJobs } from '../queue/jobs/cancel.ts'
import { cancelWarm } from '../queue/warm/warm-control.ts'
import { announceAccount } from '../store/invalidation.ts'

/**
 * Suspends an account, or lets it go on. While it is suspended nobody signs in
 * to it, its keys and tokens are refused, and crawlers get the origin of its
 * domains, as people do: no site goes down for it. What is stored stays, what
 * waits in the queue is cancelled, all sessions end. Throws `account_not_found`.
 */
export async function setSuspended(
  pool: pg.Pool,
  account: AccountId,
  suspended: boolean,
  nowMs: number,
): Promise<void> {
  await retriedTransaction(pool, async (client) => {
    const { rowCount } = await client.query(
      `update account set suspended_at = case when $2 then coalesce(suspended_at, $3) end where id = $1::bigint`,
      [account, suspended, new Date(nowMs)],
    )
    if (rowCount === 0) throw new AppError('account_not_found')
    if (suspended) await client.query('delete from sign_in_session where account_id = $1', [account])
    await announceAccount(client, account)
  })
  if (suspended) await cancelWork(pool, account)
}

/** Nothing is added any more by now. One transaction each: an account may have thousands of domains. */
async function cancelWork(pool: pg.Pool, account: AccountId): Promise<void> {
  const { rows } = await pool.query<{ id: DomainId }>(
    `select id from domain d
      where account_id = $1
        and (exists (select from job j where j.domain_id = d.id and j.state in ('queued', 'running'))
             or exists (select from warm w where w.domain_id = d.id and w.ended_at is null))
      order by id`,
    [account],
  )
  for (const { id } of rows) {
    await retriedTransaction(pool, async (client) => {
      await cancelWarm(client, id, 'the account is suspended')
      await cancelJobs(client, id)
    })
  }
}

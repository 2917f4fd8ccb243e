import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId } from '@prepaint/contract/ids.ts'
import { changedFields, record } from '@prepaint/postgres/audit'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { roleNow } from './actor.ts'
import { lockAccount } from './members.ts'
import { hasSecondFactor } from './sign-in/second-factor.ts'
import type { Session } from './sign-in/sessions.ts'

/** What an account asks of its members. `session_hours`: how old their sessions may be; null: as old as sessions get. */
export type Policy = { second_factor: 'optional' | 'required'; session_hours: number | null }

const FIELDS = `case when second_factor_required then 'required' else 'optional' end as second_factor, session_hours`

/** Throws `account_not_found`. */
export async function readPolicy(db: Queryable, account: AccountId): Promise<Policy> {
  const { rows } = await db.query<Policy>(`select ${FIELDS} from account where id = $1`, [account])
  if (rows[0] === undefined) throw new AppError('account_not_found')
  return rows[0]
}

/**
 * What is undefined stays. In effect from the next request of each member on. Throws `own_factor_missing` if an owner requires
 * what it lacks.
 */
export async function updatePolicy(
  pool: pg.Pool,
  account: AccountId,
  { member, session: { factors, way } }: { member: number; session: Session },
  change: { second_factor?: Policy['second_factor'] | undefined; session_hours?: number | null | undefined },
): Promise<Policy> {
  const isMissing = way !== 'sso' && !hasSecondFactor(factors)
  if (change.second_factor === 'required' && isMissing) throw new AppError('own_factor_missing')
  return transaction(pool, async (client) => {
    await lockAccount(client, account)
    await roleNow(client, account, member, 'updatePolicy')
    const before = await readPolicy(client, account)
    const isRequired = (change.second_factor ?? before.second_factor) === 'required'
    const hours = change.session_hours === undefined ? before.session_hours : change.session_hours
    await client.query('update account set second_factor_required = $2, session_hours = $3 where id = $1', [
      account,
      isRequired,
      hours,
    ])
    const after = await readPolicy(client, account)
    const details = changedFields(before, after)
    if (Object.keys(details).length > 0) {
      await record(client, { account, action: 'account.policy_changed', details })
    }
    return after
  })
}

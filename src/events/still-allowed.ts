import { type PlanCatalogue, planNamed } from '../accounts/plans.ts'
import { IDLE_DAYS, SESSION_DAYS } from '../accounts/sign-in.ts'
import type { Queryable } from '../db/transaction.ts'
import type { Subscriber } from './streams.ts'

type Access = { plan: string; role: string }

/**
 * Says of each subscriber whether what let him in still would: the session
 * stands, the key is good, the account is not suspended, an operator is one
 * still. Two statements for all of them.
 */
export async function stillAllowed(
  db: Queryable,
  plans: PlanCatalogue,
  subscribers: readonly Subscriber[],
  nowMs: number,
): Promise<(subscriber: Subscriber) => boolean> {
  const sessions = subscribers.flatMap(({ by }) => ('session' in by ? [by.session] : []))
  const keys = subscribers.flatMap(({ by }) => ('key' in by ? [by.key] : []))
  const now = new Date(nowMs)
  const signedIn =
    sessions.length === 0
      ? new Map<number, Access>()
      : await read(
          `select s.id, a.plan, a.role from sign_in_session s join account a on a.id = s.account_id
            where s.id = any ($1::integer[]) and s.expires_at > $2 and a.suspended_at is null
              and s.expires_at - s.created_at <= make_interval(days => $3)`,
          [sessions, now, IDLE_DAYS + SESSION_DAYS],
        )
  const good =
    keys.length === 0
      ? new Map<number, Access>()
      : await read(
          `select k.id, a.plan, a.role from api_key k join account a on a.id = k.account_id
            where k.id = any ($1::integer[]) and k.revoked_at is null and a.suspended_at is null
              and (k.expires_at is null or k.expires_at > $2)`,
          [keys, now],
        )

  return ({ by, fleet }) => {
    if ('session' in by) {
      const access = signedIn.get(by.session)
      return access !== undefined && (!fleet || access.role === 'operator')
    }
    const access = good.get(by.key)
    return access !== undefined && planNamed(plans, access.plan).api_keys
  }

  async function read(sql: string, values: unknown[]): Promise<Map<number, Access>> {
    const { rows } = await db.query<Access & { id: number }>(sql, values)
    return new Map(rows.map(({ id, ...access }) => [id, access]))
  }
}

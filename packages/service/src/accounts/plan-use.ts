import { utcMonth } from '@prepaint/contract/dates.ts'
import type { Scope } from '@prepaint/contract/ids.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'

/** What an account uses of its plan. Domains, `renders` (of one UTC month) and tokens are those within the scope; keys and tokens are the active ones. */
type PlanUse = { plan: string; domains: number; renders: number; keys: number; tokens: number }

/** Throws if the account is gone. */
export async function readUse(db: Queryable, { account, domains }: Scope, nowMs: number): Promise<PlanUse> {
  const { rows } = await db.query<PlanUse>(
    `select a.plan,
            (select count(*)::int from domain d where d.account_id = a.id and ($4::integer[] is null or d.id = any ($4))) as domains,
            (select coalesce(sum(c.renders), 0)::int from render_count c join domain d on d.id = c.domain_id
              where d.account_id = a.id and ($4::integer[] is null or d.id = any ($4)) and c.month = $2) as renders,
            (select count(*)::int from api_key
              where account_id = a.id and revoked_at is null and (expires_at is null or expires_at > $3)) as keys,
            (select count(*)::int from webhook_token t join domain d on d.id = t.domain_id
              where d.account_id = a.id and ($4::integer[] is null or d.id = any ($4)) and t.revoked_at is null) as tokens
       from account a where a.id = $1`,
    [account, utcMonth(nowMs), new Date(nowMs), domains],
  )
  if (rows[0] === undefined) throw new Error('the account of this request is gone')
  return rows[0]
}

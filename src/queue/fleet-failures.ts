import type { Queryable } from '../db/transaction.ts'
import type { DomainName } from '../ids.ts'
import { withoutQuery } from './without-query.ts'

/** So many renders are looked at, the last ones: a look must stay cheap in a large fleet. */
export const RENDERS_LOOKED_AT = 20_000
const GROUPS_SHOWN = 100
const LAST_SHOWN = 50
const REASON_CHARS = 200

const GOOD = ['rendered', 'redirect', 'probed']

export type FleetFailures = {
  /** Since when; null: there was no render. */
  since: string | null
  renders: number
  failed: number
  groups: { outcome: string; domain: DomainName; account: string; failed: number; last_at: string }[]
  /** The newest first. Nothing of what the pages hold. */
  last: { outcome: string; reason: string | null; domain: DomainName; path: string; ended_at: string }[]
}

/** What went wrong lately, over all accounts: by outcome and domain, and the last ones. For the operator only. */
export async function readFleetFailures(db: Queryable): Promise<FleetFailures> {
  const { rows: sums } = await db.query<{ since: Date | null; renders: number; failed: number }>(
    `select min(ended_at) as since, count(*)::int as renders, count(*) filter (where outcome <> all ($2))::int as failed
       from (select ended_at, outcome from render_record order by ended_at desc limit $1) looked_at`,
    [RENDERS_LOOKED_AT, GOOD],
  )
  const { since = null, renders = 0, failed = 0 } = sums[0] ?? {}
  const { rows: groups } = await db.query<{
    outcome: string
    custom_domain: DomainName
    email: string
    failed: number
    last_at: Date
  }>(
    `select r.outcome, d.custom_domain, a.email, count(*)::int as failed, max(r.ended_at) as last_at
       from (select domain_id, outcome, ended_at from render_record order by ended_at desc limit $1) r
       join domain d on d.id = r.domain_id
       join account a on a.id = d.account_id
      where r.outcome <> all ($2)
      group by 1, 2, 3 order by failed desc, last_at desc limit $3`,
    [RENDERS_LOOKED_AT, GOOD, GROUPS_SHOWN],
  )
  const { rows: last } = await db.query<{
    outcome: string
    detail: string | null
    custom_domain: DomainName
    path: string
    ended_at: Date
  }>(
    `select r.outcome, r.detail, d.custom_domain, r.path, r.ended_at
       from (select id, domain_id, outcome, detail, path, ended_at from render_record order by ended_at desc limit $1) r
       join domain d on d.id = r.domain_id
      where r.outcome <> all ($2) order by r.ended_at desc, r.id desc limit $3`,
    [RENDERS_LOOKED_AT, GOOD, LAST_SHOWN],
  )
  return {
    since: since?.toISOString() ?? null,
    renders,
    failed,
    groups: groups.map(({ custom_domain, email, last_at, ...group }) => ({
      ...group,
      domain: custom_domain,
      account: email,
      last_at: last_at.toISOString(),
    })),
    last: last.map(({ custom_domain, detail, path, ended_at, outcome }) => ({
      outcome,
      reason: detail === null ? null : withoutQuery(detail).slice(0, REASON_CHARS),
      domain: custom_domain,
      path: withoutQuery(path),
      ended_at: ended_at.toISOString(),
    })),
  }
}

import { CHECKLIST_ITEMS, type checklistSchema } from '@prepaint/contract/api/checklist.ts'
import type { AccountId, DomainId } from '@prepaint/contract/ids.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { z } from 'zod'

type Item = (typeof CHECKLIST_ITEMS)[number]
export type Checklist = z.infer<typeof checklistSchema>

type Row = { done: Partial<Record<Item, string>>; isHidden: boolean } & Record<Item, boolean>

// Each fact is looked up by an index. `rendered`: counted renders outlive the pages. `notified`: e-mails need a mail server.
const FACTS = `
  select coalesce(c.done, '{}') as done, c.hidden_at is not null as "isHidden",
         exists (select from page where domain_id = d.id)
           or exists (select from render_count where domain_id = d.id and renders > 0) as rendered,
         exists (select from integration_way where domain_id = d.id)
           or exists (select from health where domain_id = d.id and live_at is not null) as requests,
         exists (select from traffic_last where domain_id = d.id) as crawler,
         exists (select from channel where account_id = $1 and state = 'confirmed' and (format <> 'mail' or $3)) as notified,
         exists (select from invitation where account_id = $1)
           or (select count(*) from member where account_id = $1) > 1 as team
    from domain d left join domain_checklist c on c.domain_id = d.id
   where d.account_id = $1 and d.id = $2`

/** Looks which first steps of a domain are done, and notes those that were not before: they stay done. */
export async function checkOffSteps(
  db: Queryable,
  {
    account,
    domain,
    isByMail,
    nowMs,
  }: { account: AccountId; domain: DomainId; isByMail: boolean; nowMs: number },
): Promise<Checklist> {
  const { rows } = await db.query<Row>(FACTS, [account, domain, isByMail])
  const [facts] = rows
  const done = { ...facts?.done }
  const newly = CHECKLIST_ITEMS.filter((item) => facts?.[item] === true && done[item] === undefined)
  for (const item of newly) done[item] = new Date(nowMs).toISOString()
  if (newly.length > 0) {
    await db.query(
      `insert into domain_checklist as c (domain_id, done) select id, $3::jsonb from domain where account_id = $1 and id = $2
       on conflict (domain_id) do update set done = excluded.done || c.done`,
      [account, domain, JSON.stringify(done)],
    )
  }
  return {
    items: CHECKLIST_ITEMS.map((item) => ({ item, done_at: done[item] ?? null })),
    is_hidden: facts?.isHidden === true,
  }
}

/** Hides the list of a domain for all members, or shows it again. */
export async function hideChecklist(
  db: Queryable,
  { account, domain, isHidden }: { account: AccountId; domain: DomainId; isHidden: boolean },
): Promise<void> {
  await db.query(
    `insert into domain_checklist (domain_id, hidden_at)
     select id, case when $3 then now() end from domain where account_id = $1 and id = $2
     on conflict (domain_id) do update set hidden_at = excluded.hidden_at`,
    [account, domain, isHidden],
  )
}

import type { AccountId, DomainId } from '@prepaint/contract/ids.ts'
import type { JobOutcome } from '@prepaint/contract/outcome/job.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import { DEFAULT_DOMAIN_SETTINGS, MAX_RETRY_SECONDS } from '@prepaint/contract/settings/domain-settings.ts'
import { deleteInSteps, type Steps } from '@prepaint/postgres/remove-old.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'

/**
 * The outcomes of renders that say that there is no page to store. True: the same outcome again lasts twice as long. What
 * the origin or a guard in front of it causes is asked again after the same time, because it may end at any moment.
 */
const REFUSALS: Partial<Record<JobOutcome, boolean>> = {
  'soft-404': true,
  blank: true,
  'error-page': true,
  'not-html': true,
  'too-large': true,
  'timed-out': true,
  'redirect-loop': true,
  'origin-error': false,
  'origin-unreachable': false,
  challenge: false,
}

/** Refused pages that are remembered of an account. The oldest beyond are forgotten: they cost a render again. */
const REFUSALS_OF_ACCOUNT = 10_000

/** `effect` names what the path's rule did to the render. */
export type RefusedPage = { account: AccountId; page: PageId; effect: string }

/**
 * Remembers that a render was refused, for `settings.retry_seconds` or longer. Forgets the page if the outcome is none
 * that is remembered. Call it in the transaction that ends the job.
 */
export async function noteOutcome(
  client: Queryable,
  { account, page, effect }: RefusedPage,
  outcome: JobOutcome,
  nowMs: number,
  limit = REFUSALS_OF_ACCOUNT,
): Promise<void> {
  const grows = REFUSALS[outcome]
  const key = [page.domain, page.path, page.variant, effect]
  if (grows === undefined) {
    await client.query({ name: 'store-forget-refusal', text: FORGET, values: key })
    return
  }
  await client.query({
    name: 'store-note-refusal',
    text: NOTE,
    values: [
      ...key, // $1 to $4
      outcome, // $5
      new Date(nowMs), // $6
      grows, // $7
      DEFAULT_DOMAIN_SETTINGS.retry_seconds, // $8
      MAX_RETRY_SECONDS, // $9
      account, // $10
      limit, // $11
    ],
  })
}

const FORGET = `delete from refused_page where domain_id = $1 and path = $2 and variant = $3 and rule_effect = $4`

const NOTE = `
  with setting as (
    select case when jsonb_typeof(settings -> 'retry_seconds') = 'number'
                then (settings ->> 'retry_seconds')::integer else $8::integer end as first_seconds
      from domain where id = $1
  ), many as (
    -- All but the newest of the account, without this page.
    select domain_id, path, variant, rule_effect from refused_page
     where account_id = $10 and (domain_id, path, variant, rule_effect) <> ($1, $2, $3, $4)
     order by refused_at desc offset $11::integer - 1 limit 100 for update skip locked
  ), forgotten as (
    delete from refused_page r using many
     where (r.domain_id, r.path, r.variant, r.rule_effect) = (many.domain_id, many.path, many.variant, many.rule_effect)
  )
  insert into refused_page as known (domain_id, account_id, path, variant, rule_effect, outcome, refused_at, wait_seconds)
  select $1, $10, $2, $3, $4, $5, $6, first_seconds from setting where first_seconds > 0
  on conflict (domain_id, path, variant, rule_effect) do update set
    outcome = excluded.outcome, refused_at = excluded.refused_at,
    wait_seconds = case when $7 and known.outcome = excluded.outcome then least(2 * known.wait_seconds, $9)
                        else excluded.wait_seconds end`

/** Returns why the last render of the page was refused, or null if it may be rendered. */
export async function readRefusal(
  db: Queryable,
  page: PageId,
  effect: string,
  nowMs: number,
): Promise<JobOutcome | null> {
  const { rows } = await db.query<{ outcome: JobOutcome }>({
    name: 'store-read-refusal',
    text: `select outcome from refused_page
            where domain_id = $1 and path = $2 and variant = $3 and rule_effect = $4
              and refused_at + make_interval(secs => wait_seconds) > $5`,
    values: [page.domain, page.path, page.variant, effect, new Date(nowMs)],
  })
  return rows[0]?.outcome ?? null
}

/** Forgets what was refused of a domain: its settings have changed, or its site has. */
export async function forgetRefusals(client: Queryable, domain: DomainId): Promise<void> {
  await client.query('delete from refused_page where domain_id = $1', [domain])
}

/** A day longer than the longest wait: until then the next refusal may last twice as long. */
const KEPT_DAYS = 2

/** Returns how many rows were removed. */
export function removeOldRefusals(pool: pg.Pool, steps?: Steps): Promise<number> {
  const old = `
    with old as materialized (
      select found.* from domain cross join lateral (
        select domain_id, path, variant, rule_effect from refused_page
         where domain_id = domain.id and refused_at < now() - make_interval(days => $2)
         limit $1 for update skip locked) found
       limit $1)
    delete from refused_page r using old
     where (r.domain_id, r.path, r.variant, r.rule_effect) = (old.domain_id, old.path, old.variant, old.rule_effect)`
  return deleteInSteps(pool, old, [KEPT_DAYS], steps)
}

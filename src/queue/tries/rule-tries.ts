import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { removeOld, type Steps } from '../../db/remove-old.ts'
import { type Queryable, transaction } from '../../db/transaction.ts'
import { AppError } from '../../errors.ts'
import type { DomainId, DomainName, JobId, PagePath } from '../../ids.ts'
import { ownBlockProblem, type Rule } from '../../rules/schema.ts'
import type { DomainSettings } from '../../sites/domain-settings.ts'
import { storableJson } from '../../sites/inspection/side.ts'
import type { PageVariant } from '../../store/page-id.ts'
import { enqueue } from '../jobs/enqueue.ts'
import type { JobState } from '../jobs/job.ts'
import type { Tried, TriedResult } from './try-rules.ts'
import { pathsToTry, type TryVisitor, visitorsToTry } from './what-to-try.ts'

export const TRIED_AT_ONCE = 20
/** Of a domain. */
export const TRIED_A_DAY = 200
const KEPT_DAYS = 1

export const TRY_SIDES = ['before', 'after'] as const
type TrySide = (typeof TRY_SIDES)[number]
const LOCK = 7231

/** Of the jobs that try: no page of a site. */
const PATH_PREFIX = '/prepaint-try-'

export type WantedTry = {
  rules: readonly Rule[]
  /** All different. null: those that crawlers asked for most, and one for each new rule beside them. */
  paths: readonly PagePath[] | null
  /** Absent: a visitor whose rule changes, for each path. */
  category?: TryVisitor['category'] | undefined
  variant?: PageVariant | undefined
}

/** Returns its id. Throws `invalid_field`, `rule_try_limit`, `queue_full` and `domain_not_found`. */
export async function requestTry(
  pool: pg.Pool,
  domain: { id: DomainId; name: DomainName; settings: Pick<DomainSettings, 'rules' | 'query'> },
  { rules, paths: given, ...visitor }: WantedTry,
  mostAsked: (db: Queryable, count: number) => Promise<PagePath[]>,
): Promise<string> {
  const blocked = ownBlockProblem(rules, domain.name)
  if (blocked !== null) throw new AppError('invalid_field', { word: blocked })
  return transaction(pool, async (client) => {
    // One at a time for a domain, so that its limit is exact.
    await client.query('select pg_advisory_xact_lock($1, $2)', [LOCK, domain.id])
    // Before all that takes long for hostile rules.
    await checkLimit(client, domain.id, given?.length ?? 1)
    const usual = async () => pathsToTry(domain.settings, rules, await mostAsked(client, TRIED_AT_ONCE))
    const paths = given ?? (await usual()).slice(0, TRIED_AT_ONCE)
    if (given === null) await checkLimit(client, domain.id, paths.length)
    const tried = await visitorsToTry(domain.settings.rules, rules, paths, visitor)
    // The last try of a domain has pictures.
    await client.query(
      `update rule_try_page p set before_picture = null, after_picture = null from rule_try t
        where t.id = p.try_id and t.domain_id = $1 and coalesce(before_picture, after_picture) is not null`,
      [domain.id],
    )
    const prefix = `${PATH_PREFIX}${randomBytes(12).toString('hex')}-`
    const own = paths.map((_path, place) => `${prefix}${place}` as PagePath)
    const jobs = await enqueue(client, domain.id, own, 'refresh', { variant: 'desktop' })
    const pages = tried.map((page, place) => ({ place, job_id: jobs[place]?.jobId, ...page }))
    const { rows } = await client.query<{ try_id: string }>(
      `with made as (insert into rule_try (domain_id) values ($1) returning id)
       insert into rule_try_page (try_id, place, job_id, path, category, variant, before, after)
       select id, place, job_id, path, category, variant, nullif(before, 'null'), nullif(after, 'null')
         from made, jsonb_to_recordset($2) as p (place smallint, job_id uuid, path text, category text, variant text,
              before jsonb, after jsonb)
       returning try_id`,
      [domain.id, JSON.stringify(pages)],
    )
    return rows[0]!.try_id
  })
}

async function checkLimit(client: Queryable, domain: DomainId, more: number): Promise<void> {
  const { rows } = await client.query<{ tried: number; seconds: number | null }>(
    `select count(*)::integer as tried,
            ceil(extract(epoch from min(t.requested_at) + interval '1 day' - now()))::integer as seconds
       from rule_try t join rule_try_page p on p.try_id = t.id
      where t.domain_id = $1 and t.requested_at > now() - interval '1 day'`,
    [domain],
  )
  const { tried, seconds } = rows[0]!
  if (tried + more <= TRIED_A_DAY) return
  throw new AppError('rule_try_limit', { headers: { 'Retry-After': String(Math.max(1, seconds ?? 1)) } })
}

type Row = {
  path: PagePath
  category: string
  variant: PageVariant
  pictures: TrySide[]
  /** Counting from 0; null: none. */
  rule_before: number | null
  rule_after: number | null
  result: TriedResult | null
  state: JobState | null
  outcome: string | null
}

export type RuleTry = NonNullable<Awaited<ReturnType<typeof findTry>>>

/** null: unknown, another account's, or removed. */
export async function findTry(db: Queryable, domain: DomainId, id: string) {
  const { rows } = await db.query<Row>(
    `select p.path, p.category, p.variant,
            array_remove(array[case when p.before_picture is not null then 'before' end,
                               case when p.after_picture is not null then 'after' end], null) as pictures,
            (p.before ->> 'index')::integer as rule_before, (p.after ->> 'index')::integer as rule_after,
            p.result, j.state, j.outcome
       from rule_try t join rule_try_page p on p.try_id = t.id left join job j on j.id = p.job_id
      where t.domain_id = $1 and t.id = $2 and t.requested_at > now() - make_interval(days => $3)
      order by p.place`,
    [domain, id, KEPT_DAYS],
  )
  if (rows.length === 0) return null
  const isOver = ({ result, state }: Row) => result !== null || !(state === 'queued' || state === 'running')
  const hasBegun = rows.some((row) => isOver(row) || row.state === 'running')
  return {
    /** Of the whole. */
    state: rows.every(isOver) ? ('done' as const) : hasBegun ? ('running' as const) : ('queued' as const),
    pages: rows.map((row) => {
      const { result, outcome, state: _, ...page } = row
      // null: not rendered yet. A job that was cancelled or crashed has no result.
      const ended = isOver(row) ? (outcome ?? 'cancelled') : null
      return { ...page, ...(result ?? { outcome: ended, ms: null, differences: [] }) }
    }),
  }
}

/** WebP. null: unknown, of another domain, or removed. */
export async function findTryPicture(
  db: Queryable,
  domain: DomainId,
  { id, place, side }: { id: string; place: number; side: TrySide },
): Promise<Buffer | null> {
  const { rows } = await db.query<{ picture: Buffer | null }>(
    `select case $4 when 'before' then p.before_picture else p.after_picture end as picture
       from rule_try t join rule_try_page p on p.try_id = t.id
      where t.domain_id = $1 and t.id = $2 and p.place = $3
        and t.requested_at > now() - make_interval(days => $5)`,
    [domain, id, place, side, KEPT_DAYS],
  )
  return rows[0]?.picture ?? null
}

export async function keepTried(client: Queryable, job: JobId, { result, pictures }: Tried): Promise<void> {
  await client.query(
    'update rule_try_page set result = $2, before_picture = $3, after_picture = $4 where job_id = $1',
    [job, storableJson(result), pictures.before, pictures.after],
  )
}

export function removeOldTries(pool: pg.Pool, steps?: Steps): Promise<number> {
  return removeOld(pool, { table: 'rule_try', at: 'requested_at', keptDays: KEPT_DAYS }, steps)
}

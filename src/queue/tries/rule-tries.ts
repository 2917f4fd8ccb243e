import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { removeOld, type Steps } from '../../db/remove-old.ts'
import { type Queryable, transaction } from '../../db/transaction.ts'
import { AppError } from '../../errors.ts'
import type { AccountId, DomainId, DomainName, JobId, PagePath } from '../../ids.ts'
import { ownBlockProblem, type Rule } from '../../rules/schema.ts'
import { readDevices } from '../../sites/devices.ts'
import { storableJson } from '../../sites/inspection/side.ts'
import type { PageVariant } from '../../store/page-id.ts'
import { enqueue } from '../jobs/enqueue.ts'
import type { JobState } from '../jobs/job.ts'
import type { Tried, TriedResult } from './try-rules.ts'
import { createVisitorChoice, type TryVisitor } from './what-to-try.ts'

export const TRIED_AT_ONCE = 20
/** Of a domain. */
export const TRIED_A_DAY = 200
const KEPT_DAYS = 1

export const TRY_SIDES = ['before', 'after'] as const
type TrySide = (typeof TRY_SIDES)[number]
const LOCK = 7231

/** Of the jobs that try: no page of a site. */
const PATH_PREFIX = '/prepaint-try-'

/** `state` is that of the whole. Rules count from 0; null: the path has none. */
export type RuleTry = {
  state: 'queued' | 'running' | 'done'
  pages: (Pick<TriedResult, 'ms' | 'differences'> & {
    path: PagePath
    category: string
    variant: PageVariant
    /** False: phones get the desktop page of this path. */
    is_served: boolean
    pictures: TrySide[]
    rule_before: number | null
    rule_after: number | null
    /** null: not rendered yet. */
    outcome: string | null
  })[]
}

export type WantedTry = {
  rules: readonly Rule[]
  /** All different. */
  paths: readonly PagePath[]
  /** Absent: a visitor whose rule changes, for each path. */
  category?: TryVisitor['category'] | undefined
  variant?: PageVariant | undefined
}

/** Returns its id. Throws `invalid_field`, `rule_try_limit`, `queue_full` and `domain_not_found`. */
export async function requestTry(
  pool: pg.Pool,
  domain: { id: DomainId; name: DomainName; settings: { rules: Rule[] } },
  { rules, paths, ...visitor }: WantedTry,
): Promise<string> {
  const blocked = ownBlockProblem(rules, domain.name)
  if (blocked !== null) throw new AppError('invalid_field', { word: blocked })
  const choose = createVisitorChoice(domain.settings.rules, rules, visitor)
  return transaction(pool, async (client) => {
    // One at a time for a domain, so that its limit is exact.
    await client.query('select pg_advisory_xact_lock($1, $2)', [LOCK, domain.id])
    await checkLimit(client, domain.id, paths.length)
    // The last try of a domain has pictures.
    await client.query(
      `update rule_try_page p set before_picture = null, after_picture = null from rule_try t
        where t.id = p.try_id and t.domain_id = $1 and coalesce(before_picture, after_picture) is not null`,
      [domain.id],
    )
    const prefix = `${PATH_PREFIX}${randomBytes(12).toString('hex')}-`
    const jobs = await enqueue(
      client,
      domain.id,
      paths.map((_path, place) => `${prefix}${place}` as PagePath),
      'refresh',
      { variant: 'desktop' },
    )
    const { rows } = await client.query<{ id: string }>(
      'insert into rule_try (domain_id) values ($1) returning id',
      [domain.id],
    )
    const devices = await readDevices(client, domain.id)
    const pages = paths.map((path, place) => {
      const chosen = choose(path)
      const isServed = chosen.variant === 'desktop' || devices.tellsApart(path)
      return { place, path, job_id: jobs[place]?.jobId, ...chosen, is_served: isServed }
    })
    await client.query(
      `insert into rule_try_page (try_id, place, job_id, path, category, variant, is_served, before, after)
       select $1, place, job_id, path, category, variant, is_served, nullif(before, 'null'), nullif(after, 'null')
         from jsonb_to_recordset($2) as p (place smallint, job_id uuid, path text, category text, variant text,
              is_served boolean, before jsonb, after jsonb)`,
      [rows[0]!.id, JSON.stringify(pages)],
    )
    return rows[0]!.id
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

type Row = Pick<RuleTry['pages'][number], 'path' | 'category' | 'variant' | 'is_served' | 'pictures'> & {
  rule_before: number | null
  rule_after: number | null
  result: TriedResult | null
  state: JobState | null
  outcome: string | null
}

/** null: unknown, another account's, or removed. */
export async function findTry(
  db: Queryable,
  account: AccountId,
  domain: DomainName,
  id: string,
): Promise<RuleTry | null> {
  const { rows } = await db.query<Row>(
    `select p.path, p.category, p.variant, p.is_served,
            array_remove(array[case when p.before_picture is not null then 'before' end,
                               case when p.after_picture is not null then 'after' end], null) as pictures,
            (p.before ->> 'index')::integer as rule_before, (p.after ->> 'index')::integer as rule_after,
            p.result, j.state, j.outcome
       from rule_try t join domain d on d.id = t.domain_id join rule_try_page p on p.try_id = t.id
       left join job j on j.id = p.job_id
      where d.account_id = $1 and d.custom_domain = $2 and t.id = $3
        and t.requested_at > now() - make_interval(days => $4)
      order by p.place`,
    [account, domain, id, KEPT_DAYS],
  )
  if (rows.length === 0) return null
  const isOver = ({ result, state }: Row) => result !== null || !(state === 'queued' || state === 'running')
  const hasBegun = rows.some((row) => isOver(row) || row.state === 'running')
  return {
    state: rows.every(isOver) ? 'done' : hasBegun ? 'running' : 'queued',
    pages: rows.map((row) => {
      const { result, outcome, state: _, ...page } = row
      // A job that was cancelled or crashed has no result.
      const ended = isOver(row) ? (outcome ?? 'cancelled') : null
      return { ...page, ...(result ?? { outcome: ended, ms: null, differences: [] }) }
    }),
  }
}

/** WebP. null: unknown, another account's, or removed. */
export async function findTryPicture(
  db: Queryable,
  account: AccountId,
  domain: DomainName,
  { id, place, side }: { id: string; place: number; side: TrySide },
): Promise<Buffer | null> {
  const { rows } = await db.query<{ picture: Buffer | null }>(
    `select case $5 when 'before' then p.before_picture else p.after_picture end as picture
       from rule_try t join domain d on d.id = t.domain_id join rule_try_page p on p.try_id = t.id
      where d.account_id = $1 and d.custom_domain = $2 and t.id = $3 and p.place = $4
        and t.requested_at > now() - make_interval(days => $6)`,
    [account, domain, id, place, side, KEPT_DAYS],
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

import { randomUUID } from 'node:crypto'
import { setImmediate as breathe } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { TRY_SIDES } from '@prepaint/contract/api/rule-tries.ts'
import { AppError, invalidField } from '@prepaint/contract/errors.ts'
import type { DomainId, DomainName, JobId, PagePath } from '@prepaint/contract/ids.ts'
import type { JobState } from '@prepaint/contract/outcome/job.ts'
import { PAGE_VARIANTS } from '@prepaint/contract/page/page-id.ts'
import { ownBlockProblem, RULE_CATEGORIES, type Rule } from '@prepaint/contract/rules/schema.ts'
import { Rate } from '@prepaint/postgres/rates'
import { removeOld, type Steps } from '@prepaint/postgres/remove-old.ts'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import { RuleBook } from '@prepaint/runtime/rule-book.ts'
import type pg from 'pg'
import { storableJson } from '../../inspection/side.ts'
import type { TriedRules } from '../jobs/claim.ts'
import { enqueue } from '../jobs/enqueue.ts'
import type { Tried, TriedResult } from './try-rules.ts'

/** The most pages of a domain. */
export const TRIED_A_DAY = 200
const RATE = new Rate({ what: 'rule try', most: TRIED_A_DAY, withinMs: 86_400_000, window: 'sliding' })
const IS_KEPT = `requested_at > now() - interval '1 day'`

type TrySide = (typeof TRY_SIDES)[number]

/** The paths of jobs that try rules begin with it: they are no pages of a site. */
const PATH_PREFIX = '/prepaint-try-'

/** `paths`: all different. Returns its id. Throws `invalid_field`, `rule_try_limit`, `queue_full` and `domain_not_found`. */
export async function requestTry(
  pool: pg.Pool,
  domain: { id: DomainId; name: DomainName; settings: { rules: readonly Rule[] } },
  rules: readonly Rule[],
  paths: readonly PagePath[],
): Promise<string> {
  const blocked = ownBlockProblem(rules, domain.name)
  if (blocked !== null) throw invalidField(blocked.path, blocked.message)
  return transaction(pool, async (client) => {
    // Before all that takes long for hostile rules. Other tries of the domain wait here for the end of this transaction.
    const refusal = await RATE.take(client, `domain ${domain.id}`, { count: paths.length })
    if (refusal !== null) throw new AppError('rule_try_limit', { headers: refusal.headers })
    const tried = await visitorsToTry(domain.settings.rules, rules, paths)
    // The last try of a domain has pictures.
    await client.query(
      `update rule_try set before_picture = null, after_picture = null
        where domain_id = $1 and coalesce(before_picture, after_picture) is not null`,
      [domain.id],
    )
    const id = randomUUID()
    const own = paths.map((_path, place) => `${PATH_PREFIX}${id}-${place}` as PagePath)
    const jobs = await enqueue(client, domain.id, own, 'refresh', { variant: 'desktop' })
    await client.query(
      `insert into rule_try (id, domain_id, place, job_id, tried)
       select $1, $2, nr - 1, job, page from unnest($3::uuid[], $4::jsonb[]) with ordinality each (job, page, nr)`,
      [id, domain.id, jobs.map(({ jobId }) => jobId), tried.map((page) => JSON.stringify(page))],
    )
    return id
  })
}

/**
 * Finds for each path the first visitor for whom it has another rule afterwards, search crawlers and desktops before others.
 * Others have their turn between paths: hostile rules take 15 ms for one.
 */
export async function visitorsToTry(
  before: readonly Rule[],
  after: readonly Rule[],
  paths: readonly PagePath[],
): Promise<TriedRules[]> {
  const present = new RuleBook(before)
  const wanted = new RuleBook(after)
  const visitors = PAGE_VARIANTS.flatMap((variant) =>
    RULE_CATEGORIES.map((category) => ({ category, variant })),
  )
  const found: TriedRules[] = []
  for (const path of paths) {
    await breathe()
    const was = present.ofPath(path)
    const is = wanted.ofPath(path)
    const seen = visitors.map(({ category, variant }) => {
      return { path, category, variant, before: was(category, variant), after: is(category, variant) }
    })
    found.push(seen.find((one) => !isDeepStrictEqual(one.before?.rule, one.after?.rule)) ?? seen[0]!)
  }
  return found
}

type Row = {
  tried: TriedRules
  pictures: TrySide[]
  result: TriedResult | null
  state: JobState | null
  outcome: string | null
}

export type RuleTry = NonNullable<Awaited<ReturnType<typeof findTry>>>

/** Returns null if there is no such try, if it belongs to another domain, or if it was removed. */
export async function findTry(db: Queryable, domain: DomainId, id: string) {
  const { rows } = await db.query<Row>(
    `select p.tried, p.result, j.state, j.outcome,
            array_remove(array[case when p.before_picture is not null then 'before' end,
                               case when p.after_picture is not null then 'after' end], null) as pictures
       from rule_try p left join every_job j on j.id = p.job_id
      where p.domain_id = $1 and p.id = $2 and ${IS_KEPT}
      order by p.place`,
    [domain, id],
  )
  if (rows.length === 0) return null
  return {
    state: stateOf(rows),
    pages: rows.map((row) => {
      const { before, after, ...page } = row.tried
      // Rules count from 0. Null means that no rule applies.
      const rule_before = before?.index ?? null
      const rule_after = after?.index ?? null
      // The outcome is null before the render. A job that was cancelled or crashed has no result.
      const outcome = isOver(row) ? (row.outcome ?? 'cancelled') : null
      const result = row.result ?? { outcome, ms: null, differences: [] }
      return { ...page, pictures: row.pictures, rule_before, rule_after, ...result }
    }),
  }
}

/** The state of a whole try. */
function stateOf(rows: readonly Row[]): 'queued' | 'running' | 'done' {
  if (rows.every(isOver)) return 'done'
  return rows.some((row) => isOver(row) || row.state === 'running') ? 'running' : 'queued'
}

function isOver({ result, state }: Row): boolean {
  return result !== null || !(state === 'queued' || state === 'running')
}

/** Returns a picture as WebP, or null if there is none, if it belongs to another domain, or if it was removed. */
export async function findTryPicture(
  db: Queryable,
  domain: DomainId,
  { id, place, side }: { id: string; place: number; side: TrySide },
): Promise<Buffer | null> {
  const { rows } = await db.query<{ picture: Buffer | null }>(
    `select case $4 when 'before' then before_picture else after_picture end as picture from rule_try
      where domain_id = $1 and id = $2 and place = $3 and ${IS_KEPT}`,
    [domain, id, place, side],
  )
  return rows[0]?.picture ?? null
}

export async function keepTried(client: Queryable, job: JobId, { result, pictures }: Tried): Promise<void> {
  await client.query(
    'update rule_try set result = $2, before_picture = $3, after_picture = $4 where job_id = $1',
    [job, storableJson(result), pictures.before, pictures.after],
  )
}

export function removeOldTries(pool: pg.Pool, steps?: Steps): Promise<number> {
  return removeOld(pool, { table: 'rule_try', at: 'requested_at', keptDays: 1 }, steps)
}

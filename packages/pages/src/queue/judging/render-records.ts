import type { DomainId, JobId, PagePath } from '@prepaint/contract/ids.ts'
import { pageOf } from '@prepaint/contract/notifications/lists.ts'
import { type Priority, priorityNumber } from '@prepaint/contract/outcome/job.ts'
import type { RenderRecord } from '@prepaint/contract/outcome/record.ts'
import type { PageId, PageVariant } from '@prepaint/contract/page/page-id.ts'
import { type DailyTable, keepDays } from '@prepaint/postgres/day-partitions.ts'
import { joined } from '@prepaint/postgres/joined.ts'
import { deleteInSteps, type Steps } from '@prepaint/postgres/remove-old.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import type { ClaimedJob } from '../jobs/claim.ts'
import { readStatement } from '../statement.ts'

export const RECORDS_A_PAGE = 20
const RECORDS_KEPT_DAYS = 7

/** `claimedMs`: when the node claimed it; `storedMs`: the duration since then. */
type Explained = {
  outcome: string
  detail: string | null
  claimedMs: number
  storedMs: number
  record: RenderRecord
}

type Ended = Explained & { job: ClaimedJob }

/** Stores the records of renders. Jobs that end together share a statement. */
export class RecordKeeper {
  readonly #pool: pg.Pool
  readonly #statement = readStatement('keep-record')
  readonly #store

  constructor(pool: pg.Pool) {
    this.#pool = pool
    this.#store = joined<Ended, void>((ended) => this.#storeAll(ended), { most: 50, underWay: 1 })
  }

  keep(job: ClaimedJob, explained: Explained): Promise<void> {
    return this.#store({ ...explained, job })
  }

  async #storeAll(ended: readonly Ended[]): Promise<undefined> {
    await this.#pool.query({
      ...this.#statement,
      values: [
        ended.map(({ job }) => job.id),
        ended.map(({ outcome }) => outcome),
        ended.map(({ detail }) => detail),
        ended.map(({ claimedMs }) => new Date(claimedMs)),
        ended.map(({ storedMs }) => Math.round(storedMs)),
        ended.map(({ record }) => JSON.stringify(record)),
        ended.map(({ job }) => job.page.variant),
        RECORDS_A_PAGE,
      ],
    })
  }
}

/** What the owner sees of a render. Times are ISO 8601 in UTC with milliseconds. */
export type RenderView = {
  jobId: JobId
  path: PagePath
  variant: PageVariant
  outcome: string
  detail: string | null
  /** Of its job; null: no longer known. */
  priority: Priority | null
  ended_at: string
  queued_ms: number
  stored_ms: number
  record: RenderRecord
  /** `X-Request-Id` of the crawler's request that queued it, or null if no request did. */
  requestId: string | null
}

/** Which renders are listed. `path` is part of the path; `after` the id of the last render of the part before. */
export type RenderFilter = {
  outcome?: readonly string[] | undefined
  path?: string | undefined
  priority?: Priority | undefined
  since?: string | undefined
  after?: number | undefined
  limit: number
}

/** Lists renders of a domain, newest first. `next` is for `after`; null: these are the last. */
export async function listRenders(
  db: Queryable,
  domain: DomainId,
  { outcome, path, priority, since, after, limit }: RenderFilter,
): Promise<{ renders: RenderView[]; next: number | null }> {
  const rows = await rendersWhere(
    db,
    `and ($3::text[] is null or r.outcome = any ($3)) and ($4::text is null or strpos(r.path, $4) > 0)
     and ($5::integer is null or j.priority = $5) and ($6::timestamptz is null or r.ended_at >= $6)
     and ($7::bigint is null or r.id < $7)`,
    [
      domain,
      limit + 1,
      outcome ?? null, // $3
      path ?? null, // $4
      priority === undefined ? null : priorityNumber(priority), // $5
      since ?? null, // $6
      after ?? null, // $7
    ],
  )
  const { page, next } = pageOf(rows, limit)
  return { renders: page.map(({ id: _, ...render }) => render), next }
}

/** Lists the last renders of a page, newest first. */
export async function rendersOfPage(db: Queryable, page: PageId): Promise<RenderView[]> {
  const values = [page.domain, RECORDS_A_PAGE, page.path, page.variant]
  const rows = await rendersWhere(db, 'and r.path = $3 and r.variant = $4', values)
  return rows.map(({ id: _, ...render }) => render)
}

async function rendersWhere(
  db: Queryable,
  where: string,
  values: unknown[],
): Promise<(RenderView & { id: number })[]> {
  const { rows } = await db.query<Omit<RenderView, 'ended_at'> & { id: number; ended_at: Date }>(
    `select r.id::float8 as id, r.job_id as "jobId", r.path, r.variant, r.outcome, r.detail, r.ended_at, r.queued_ms,
            r.stored_ms, r.record, r.request_id as "requestId",
            (array['live', 'refresh', 'warm'])[j.priority + 1] as priority
       from render_record r
       left join lateral (
         select priority from job where id = r.job_id
         union all
         -- A render and its job end together: other days are not searched.
         select priority from job_ended
          where id = r.job_id and finished_at between r.ended_at - interval '1 hour' and r.ended_at + interval '1 hour'
         limit 1) j on true
      where r.domain_id = $1 and is_page_path(r.path) ${where} order by r.id desc limit $2`,
    values,
  )
  return rows.map((row) => ({ ...row, ended_at: row.ended_at.toISOString() }))
}

/** Counts pages whose last render stored them. `complete` ones needed no browser; `folders` need none but for those rendered first. */
export type CompletePages = { stored: number; complete: number; folders: string[] }

const PAGES_READ = 20_000
const FOLDER_PAGES = 10
/** Rendered to learn that the others need no browser: packages/engine/src/render/static-pages.ts. */
const RENDERED_FIRST = 3
const FOLDERS_SHOWN = 10

export async function completePages(db: Queryable, domain: DomainId): Promise<CompletePages> {
  const { rows } = await db.query<CompletePages>(
    `with read as materialized (
       select split_part(split_part(r.path, '?', 1), '/', 2) as top, r.path like '/%/%' as is_below, r.outcome = 'static' as complete
         from last_render r where r.domain_id = $1 and r.outcome in ('rendered', 'static') limit $2)
     select (select count(*)::integer from read) as stored, (select count(*)::integer from read where complete) as complete,
            array(select '/' || top || '/*' from read where is_below group by top
                   having count(*) filter (where complete) >= $3 and count(*) filter (where not complete) <= $5 order by count(*) desc, top limit $4) as folders`,
    [domain, PAGES_READ, FOLDER_PAGES, FOLDERS_SHOWN, RENDERED_FIRST],
  )
  return rows[0]!
}

const RECORDS: DailyTable = {
  table: 'render_record',
  at: 'ended_at',
  storage: 'autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02',
}

/** Makes the partitions of the next days, and drops those whose records are all a week old. Returns how many days and rows were removed. */
export async function removeOldRecords(pool: pg.Pool, nowMs: number, steps?: Steps): Promise<number> {
  const records = await keepDays(pool, RECORDS, { keptDays: RECORDS_KEPT_DAYS, nowMs }, steps)
  const counts = await deleteInSteps(pool, OLD_COUNTS, [], steps)
  return records + counts
}

// Goes through the domains, to use the primary key.
const OLD_COUNTS = `
  with old as materialized (
    select o.* from domain d cross join lateral (
      select domain_id, day, outcome from render_outcome_day t
       where t.domain_id = d.id and t.day < (now() at time zone 'UTC')::date - 9 limit $1 for update skip locked) o
     limit $1)
  delete from render_outcome_day t using old where (t.domain_id, t.day, t.outcome) = (old.domain_id, old.day, old.outcome)`

import type { DomainId, JobId, PagePath } from '@prepaint/contract/ids.ts'
import type { RenderRecord } from '@prepaint/contract/outcome/record.ts'
import type { PageId, PageVariant } from '@prepaint/contract/page/page-id.ts'
import { joined } from '@prepaint/postgres/joined.ts'
import { deleteInSteps, removeOld, type Steps } from '@prepaint/postgres/remove-old.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import type { ClaimedJob } from '../jobs/claim.ts'
import { readStatement } from '../statement.ts'

export const RECORDS_A_PAGE = 20
const RECORDS_KEPT_DAYS = 7
/** The most records that are shown of a domain. */
export const RECORDS_SHOWN = 50

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
  ended_at: string
  queued_ms: number
  stored_ms: number
  record: RenderRecord
  /** `X-Request-Id` of the crawler's request that queued it, or null if no request did. */
  requestId: string | null
}

/** Lists the last renders of a domain, newest first. */
export async function lastRenders(db: Queryable, domain: DomainId): Promise<RenderView[]> {
  return rendersWhere(db, '', [domain, RECORDS_SHOWN])
}

/** Lists the last renders of a page, newest first. */
export async function rendersOfPage(db: Queryable, page: PageId): Promise<RenderView[]> {
  const values = [page.domain, RECORDS_A_PAGE, page.path, page.variant]
  return rendersWhere(db, 'and path = $3 and variant = $4', values)
}

async function rendersWhere(db: Queryable, where: string, values: unknown[]): Promise<RenderView[]> {
  const { rows } = await db.query<Omit<RenderView, 'ended_at'> & { ended_at: Date }>(
    `select job_id as "jobId", path, variant, outcome, detail, ended_at, queued_ms, stored_ms, record,
            request_id as "requestId"
       from render_record where domain_id = $1 ${where} order by id desc limit $2`,
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

/** Returns how many rows. */
export async function removeOldRecords(pool: pg.Pool, steps?: Steps): Promise<number> {
  const age = { table: 'render_record', at: 'ended_at', keptDays: RECORDS_KEPT_DAYS }
  const records = await removeOld(pool, age, steps)
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

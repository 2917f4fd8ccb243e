import type { PICTURES } from '@prepaint/contract/api/inspection.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainId, PagePath } from '@prepaint/contract/ids.ts'
import type { PageId, PageVariant } from '@prepaint/contract/page/page-id.ts'
import { Rate } from '@prepaint/postgres/rates'
import { removeOld, type Steps } from '@prepaint/postgres/remove-old.ts'
import { askTask } from '@prepaint/postgres/tasks'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import type { NoSide, Side } from './side.ts'

export const INSPECTION_TASK = 'inspection'

/** Per account. Each inspection is two page loads, one of them from the origin. */
export const INSPECTIONS_AN_HOUR = 60
export const INSPECTIONS_OPEN = 5
export const INSPECTIONS_WITH_FINDINGS = 20
const KEPT_DAYS = 1
const RATE = new Rate({
  what: 'inspection',
  most: INSPECTIONS_AN_HOUR,
  withinMs: 3_600_000,
  window: 'sliding',
})

type InspectionState = 'queued' | 'running' | 'done' | 'failed'

export type Inspection = {
  id: string
  path: PagePath
  variant: PageVariant
  state: InspectionState
  reason: string | null
  requestedAt: Date
  finishedAt: Date | null
  /** Null if nothing is stored, if it is not done yet, or if it is no longer kept. */
  crawler: Side | NoSide | null
  person: Side | NoSide | null
}

type PictureOf = (typeof PICTURES)[number]

type Row = {
  id: string
  path: PagePath
  variant: PageVariant
  state: InspectionState
  reason: string | null
  requested_at: Date
  finished_at: Date | null
  crawler: Side | NoSide | null
  person: Side | NoSide | null
}

const COLUMNS = `i.id, i.path, i.variant, i.state, i.reason, i.requested_at, i.finished_at, i.crawler - 'card' as crawler, i.person`
const LOCK = 7229

/** Joins the page's open inspection if there is one. Throws `too_many_inspections` and `inspection_rate`. */
export async function requestInspection(
  pool: pg.Pool,
  account: AccountId,
  page: PageId,
): Promise<Inspection> {
  const of = [page.domain, page.path, page.variant]
  return transaction(pool, async (client) => {
    // One at a time per account, so that its limits are exact.
    await client.query('select pg_advisory_xact_lock($1, $2)', [LOCK, account])
    const open = await client.query<Row>(
      `select ${COLUMNS} from inspection i
        where i.domain_id = $1 and i.path = $2 and i.variant = $3 and i.state in ('queued', 'running')`,
      of,
    )
    const joined = open.rows[0]
    if (joined !== undefined) return toInspection(joined)

    const { rows } = await client.query<{ open: number }>(
      `select count(*)::integer as open from inspection i join domain d on d.id = i.domain_id
        where d.account_id = $1 and i.state in ('queued', 'running')`,
      [account],
    )
    if ((rows[0]?.open ?? 0) >= INSPECTIONS_OPEN) throw new AppError('too_many_inspections')
    // Counted separately, because a purge deletes the page's inspections.
    const refusal = await RATE.take(client, `account ${account}`)
    if (refusal !== null) throw new AppError('inspection_rate', { headers: refusal.headers })
    const made = await client.query<Row>(
      `insert into inspection as i (domain_id, path, variant) values ($1, $2, $3) returning ${COLUMNS}`,
      of,
    )
    await client.query(
      `update inspection set crawler = null, person = null, crawler_picture = null, person_picture = null
        where (crawler is not null or person is not null) and id in (
          select i.id from inspection i join domain d on d.id = i.domain_id
           where d.account_id = $1 and i.state = 'done' order by i.requested_at desc offset $2)`,
      [account, INSPECTIONS_WITH_FINDINGS - 1],
    )
    const row = made.rows[0] as Row
    await askTask(client, { kind: INSPECTION_TASK, key: row.id, accountId: account })
    return toInspection(row)
  })
}

/** Returns null if there is no such inspection, if it belongs to another domain, or if it was removed. */
export async function findInspection(
  db: Queryable,
  domain: DomainId,
  id: string,
): Promise<Inspection | null> {
  const { rows } = await db.query<Row>(
    `select ${COLUMNS} from inspection i where i.domain_id = $1 and i.id = $2`,
    [domain, id],
  )
  return rows[0] === undefined ? null : toInspection(rows[0])
}

export async function lastInspection(db: Queryable, page: PageId): Promise<Inspection | null> {
  const { rows } = await db.query<Row>(
    `select ${COLUMNS} from inspection i where i.domain_id = $1 and i.path = $2 and i.variant = $3
      order by i.requested_at desc limit 1`,
    [page.domain, page.path, page.variant],
  )
  return rows[0] === undefined ? null : toInspection(rows[0])
}

const PICTURE_COLUMNS: Record<PictureOf, string> = {
  crawler: 'crawler_picture',
  person: 'person_picture',
  card: `decode(crawler ->> 'card', 'base64')`,
}

/** WebP. */
export async function findPicture(
  db: Queryable,
  domain: DomainId,
  id: string,
  of: PictureOf,
): Promise<Buffer | null> {
  const { rows } = await db.query<{ picture: Buffer | null }>(
    `select ${PICTURE_COLUMNS[of]} as picture from inspection where domain_id = $1 and id = $2`,
    [domain, id],
  )
  return rows[0]?.picture ?? null
}

export function removeOldInspections(pool: pg.Pool, steps?: Steps): Promise<number> {
  return removeOld(pool, { table: 'inspection', at: 'requested_at', keptDays: KEPT_DAYS }, steps)
}

function toInspection(row: Row): Inspection {
  const { requested_at, finished_at, ...rest } = row
  return { ...rest, requestedAt: requested_at, finishedAt: finished_at }
}

import { AppError } from '@prepaint/contract/errors.ts'
import type { DomainId } from '@prepaint/contract/ids.ts'
import { readDomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { startWhileDue } from '@prepaint/runtime/while-due.ts'
import type pg from 'pg'
import { readQuota } from '../../quota.ts'
import { redirectMapOf } from '../../site-files/stored-redirects.ts'
import { createStaleFinder, type FindStale } from '../../store/last-visits.ts'
import { enqueue } from '../jobs/enqueue.ts'

/** Queued refreshes per domain, so that crawler requests are never far behind them. */
export const AHEAD_AT_ONCE = 20
const DAYS = 30
const SOON_SECONDS = 60
const LATER_SECONDS = 600
const POLL_MS = 5_000

type RefreshAhead = { close(): Promise<void> }

/**
 * Renders stale pages before crawlers request them again, last requested first, up to 30 days back.
 * At most a thirtieth of the owner's share a day, and never above 100 % of the quota.
 */
export function startRefreshAhead(deps: {
  pool: pg.Pool
  plans: PlanCatalogue
  clock: Clock
  log: Log
}): RefreshAhead {
  const stalest = createStaleFinder()
  return startWhileDue(
    POLL_MS,
    () => refreshAhead({ ...deps, stalest }),
    (error) => deps.log.warn({ err: error }, 'stale pages could not be refreshed ahead; it is tried again'),
  )
}

type Deps = { pool: pg.Pool; plans: PlanCatalogue; clock: Clock; stalest: FindStale }

/** False: no domain is due. */
export async function refreshAhead(deps: Deps): Promise<boolean> {
  return (await refreshDue(deps)) || ((await admitNew(deps.pool)) && refreshDue(deps))
}

const NOTHING = { paths: [], isMore: false }

async function refreshDue({ pool, plans, clock, stalest }: Deps): Promise<boolean> {
  const nowMs = clock.nowMs()
  const today = new Date(nowMs).toISOString().slice(0, 10)
  let taken: DomainId | null = null
  try {
    return await retriedTransaction(pool, async (client) => {
      const due = await takeDue(client, today)
      if (due === null) return false
      taken = due.domain
      const room = await roomOf(client, { plans, nowMs }, due)
      const { domain, freshSeconds } = due
      const { paths, isMore } =
        room <= 0 ? NOTHING : await stalest(client, { domain, freshSeconds, limit: room, nowMs })
      const redirects = paths.length === 0 ? null : await redirectMapOf(client, domain)
      const wanted = paths.filter((path) => !redirects?.covers(path))
      if (wanted.length > 0) await enqueue(client, domain, wanted, 'refresh')
      await client.query(
        `update freshness set day = $2, ahead = $3, next_at = now() + make_interval(secs => $4)
          where domain_id = $1`,
        [domain, today, due.ahead + wanted.length, paths.length > 0 || isMore ? SOON_SECONDS : LATER_SECONDS],
      )
      return true
    })
  } catch (error) {
    if (taken === null) throw error
    // The domain has enough queued, or its query failed.
    const later = await pool
      .query('update freshness set next_at = now() + make_interval(secs => $2) where domain_id = $1', [
        taken,
        LATER_SECONDS,
      ])
      .catch(() => null)
    if (!(error instanceof AppError) || error.code !== 'queue_full') throw error
    return later?.rowCount === 1
  }
}

/** Runs only when no domain is due, because it reads all domains. */
async function admitNew(pool: pg.Pool): Promise<boolean> {
  const { rowCount } = await pool.query(
    `insert into freshness (domain_id)
     select id from domain where not exists (select from freshness where domain_id = domain.id) limit 1000
     on conflict do nothing`,
  )
  return rowCount !== 0
}

type Due = {
  domain: DomainId
  isActive: boolean
  plan: string
  freshSeconds: number
  percent: number
  ahead: number
}

async function takeDue(client: Queryable, today: string): Promise<Due | null> {
  const { rows } = await client.query<{
    domain_id: DomainId
    is_active: boolean
    plan: string
    settings: unknown
    ahead: number
  }>(
    `select f.domain_id, d.is_active and a.suspended_at is null as is_active, a.plan, d.settings,
            case when f.day = $1 then f.ahead else 0 end as ahead
       from freshness f join domain d on d.id = f.domain_id join account a on a.id = d.account_id
      where f.next_at <= now() order by f.next_at limit 1 for update of f skip locked`,
    [today],
  )
  const row = rows[0]
  if (row === undefined) return null
  const settings = readDomainSettings(row.settings)
  return {
    domain: row.domain_id,
    isActive: row.is_active,
    plan: row.plan,
    freshSeconds: settings.fresh_seconds,
    percent: settings.refresh_ahead_percent,
    ahead: row.ahead,
  }
}

async function roomOf(
  client: Queryable,
  { plans, nowMs }: { plans: PlanCatalogue; nowMs: number },
  { domain, isActive, plan, percent, ahead }: Due,
): Promise<number> {
  if (!isActive || percent === 0) return 0
  const quota = await readQuota(client, plans, domain, nowMs)
  if (quota === null) return 0
  const today = Math.floor((planNamed(plans, plan).monthly_render_limit * percent) / 100 / DAYS)
  const { rows } = await client.query<{ open: number }>(
    `select count(*)::int as open from job
      where domain_id = $1 and state in ('queued', 'running') and priority = 1`,
    [domain],
  )
  return Math.min(today - ahead, quota.limit - quota.used, AHEAD_AT_ONCE - (rows[0]?.open ?? 0))
}

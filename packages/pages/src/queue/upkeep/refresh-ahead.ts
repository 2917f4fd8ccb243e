import { AppError } from '@prepaint/contract/errors.ts'
import type { DomainId } from '@prepaint/contract/ids.ts'
import { readDomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import type { Task, TaskKind } from '@prepaint/postgres/tasks'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type pg from 'pg'
import { readQuota } from '../../quota.ts'
import { redirectMapOf } from '../../site-files/stored-redirects.ts'
import { StaleFinder } from '../../store/last-visits.ts'
import { enqueue } from '../jobs/enqueue.ts'

/** Queued refreshes per domain, so that crawler requests are never far behind them. */
export const AHEAD_AT_ONCE = 20
const DAYS = 30
const SOON_MS = 60_000
const LATER_MS = 600_000
export const REFRESH_AHEAD_TASK = 'refresh-ahead'

/**
 * Renders stale pages before crawlers request them again, last requested first, up to 30 days back.
 * At most a thirtieth of the owner's share a day, and never above 100 % of the quota. A task for each domain.
 *
 * A node of version 0.2.0 takes domains by `freshness.next_at`, which only such nodes move. Both lock the row, and both fill
 * the same room, so that nothing is queued twice.
 */
export class RefreshAhead implements TaskKind {
  readonly name = REFRESH_AHEAD_TASK
  readonly slots = 1
  readonly perAccount = 1
  readonly faultMessage = 'stale pages could not be refreshed ahead; it is tried again'
  readonly subjects = 'select id as key, account_id, now() as due_at from domain'
  readonly #pool: pg.Pool
  readonly #plans: PlanCatalogue
  readonly #clock: Clock
  readonly #stale = new StaleFinder()

  constructor(pool: pg.Pool, plans: PlanCatalogue, clock: Clock) {
    this.#pool = pool
    this.#plans = plans
    this.#clock = clock
  }

  async run({ key }: Task): Promise<number | null> {
    try {
      return await retriedTransaction(this.#pool, (client) => this.#refresh(client, Number(key) as DomainId))
    } catch (error) {
      if (error instanceof AppError && error.code === 'queue_full') return LATER_MS
      throw error
    }
  }

  async #refresh(client: Queryable, id: DomainId): Promise<number | null> {
    const nowMs = this.#clock.nowMs()
    const today = new Date(nowMs).toISOString().slice(0, 10)
    const site = await lockSite(client, id, today)
    if (site === null) return null
    const room = await roomOf(client, { plans: this.#plans, nowMs }, site)
    if (room <= 0) return LATER_MS
    const { domain, freshSeconds } = site
    const { paths, isMore } = await this.#stale.find(client, { domain, freshSeconds, limit: room, nowMs })
    const redirects = paths.length === 0 ? null : await redirectMapOf(client, domain)
    const wanted = paths.filter((path) => !redirects?.covers(path))
    if (wanted.length > 0) {
      await enqueue(client, domain, wanted, 'refresh')
      const values = [domain, today, site.ahead + wanted.length]
      await client.query('update freshness set day = $2, ahead = $3 where domain_id = $1', values)
    }
    return paths.length > 0 || isMore ? SOON_MS : LATER_MS
  }
}

type Site = {
  domain: DomainId
  isActive: boolean
  plan: string
  freshSeconds: number
  percent: number
  ahead: number
}

/** Returns null if the domain is gone. */
async function lockSite(client: Queryable, id: DomainId, today: string): Promise<Site | null> {
  await client.query(
    `insert into freshness (domain_id) select id from domain
      where id = $1 and not exists (select from freshness where domain_id = $1) on conflict do nothing`,
    [id],
  )
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
      where f.domain_id = $2 for update of f`,
    [today, id],
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
  { domain, isActive, plan, percent, ahead }: Site,
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

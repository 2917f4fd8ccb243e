import { AppError } from '@prepaint/contract/errors.ts'
import type { DomainId, JobId, PagePath } from '@prepaint/contract/ids.ts'
import type { Priority } from '@prepaint/contract/outcome/job.ts'
import { type DevicePage, firstSegment } from '@prepaint/contract/settings/devices.ts'
import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import type { Task, TaskKind } from '@prepaint/postgres/tasks'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type pg from 'pg'
import { readQuota } from '../../quota.ts'
import { listDevicePages, requestComparison } from '../../store/device-pages.ts'
import { lastRenderedPaths } from '../../store/keep-page.ts'
import { enqueue } from '../jobs/enqueue.ts'

/** So many pages with different first segments are compared, as often as `COMPARED_MS` says. */
export const COMPARED_PAGES = 5
const COMPARED_MS = 7 * 86_400_000
/** A page that could not be compared costs a render each time. */
const FAILED_MS = 86_400_000
const EVERY_MS = 5 * 60_000

/** Renders pages for desktops and phones, and compares them: packages/pages/src/queue/judging/compare-devices.ts. */
export async function checkDevices(
  client: Queryable,
  domain: DomainId,
  paths: readonly PagePath[],
  priority: Priority = 'refresh',
): Promise<{ path: PagePath; jobId: JobId }[]> {
  await requestComparison(client, domain, paths)
  return enqueue(client, domain, paths, priority, { variant: 'both' })
}

/**
 * Compares pages of domains with `devices: "auto"`: some soon after the first crawler, and every week. One task for all domains.
 * A node of version 0.2.0 does the same beside: the same paths join the same jobs.
 */
export class DeviceChecks implements TaskKind {
  readonly name = 'device-checks'
  readonly slots = 1
  readonly perAccount = 1
  readonly faultMessage = 'pages for desktops and phones could not be compared'
  readonly subjects = `select 'all' as key, 0 as account_id, now() as due_at`
  readonly #pool: pg.Pool
  readonly #plans: PlanCatalogue
  readonly #clock: Clock

  constructor(pool: pg.Pool, plans: PlanCatalogue, clock: Clock) {
    this.#pool = pool
    this.#plans = plans
    this.#clock = clock
  }

  async run(_task: Task, signal: AbortSignal): Promise<number> {
    const { rows } = await this.#pool.query<{ id: DomainId }>(
      `select d.id from domain d join account a on a.id = d.account_id
        where d.settings ->> 'devices' = 'auto' and d.is_active and a.suspended_at is null order by d.id`,
    )
    for (const { id } of rows) {
      signal.throwIfAborted()
      await this.#check(id)
    }
    return EVERY_MS
  }

  async #check(domain: DomainId): Promise<void> {
    const nowMs = this.#clock.nowMs()
    const paths = await duePaths(this.#pool, domain, nowMs)
    const quota = paths.length === 0 ? null : await readQuota(this.#pool, this.#plans, domain, nowMs)
    if (quota === null || quota.used + 2 * paths.length > quota.limit) return
    await transaction(this.#pool, (client) => checkDevices(client, domain, paths, 'warm')).catch((error) => {
      if (!(error instanceof AppError)) throw error
    })
  }
}

/** Larger pages are not compared. */
const HTML_LIMIT_BYTES = 4 * 1024 * 1024
const CANDIDATES = 500

async function duePaths(db: Queryable, domain: DomainId, nowMs: number): Promise<PagePath[]> {
  const compared = await listDevicePages(db, domain)
  const recent = compared.filter((page) => isRecent(page, nowMs))
  const room = COMPARED_PAGES - recent.length
  if (room <= 0) return []
  const stored = await lastRenderedPaths(db, domain, { htmlBytes: HTML_LIMIT_BYTES, limit: CANDIDATES })
  // First again what was compared before, so that its finding is renewed.
  const candidates = [...compared.map(({ path }) => path), '/' as PagePath, ...stored]
  const taken = new Set(recent.map(({ path }) => firstSegment(path)))
  const due: PagePath[] = []
  for (const path of candidates) {
    const segment = firstSegment(path)
    if (!taken.has(segment)) due.push(path)
    taken.add(segment)
  }
  // Nothing is rendered before the first crawler.
  return stored.length === 0 ? [] : due.slice(0, room)
}

function isRecent({ requestedAt, checkedAt }: DevicePage, nowMs: number): boolean {
  const hasFinding = checkedAt !== null && checkedAt >= requestedAt
  return nowMs - requestedAt.getTime() < (hasFinding ? COMPARED_MS : FAILED_MS)
}

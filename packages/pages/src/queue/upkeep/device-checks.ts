import { AppError } from '@prepaint/contract/errors.ts'
import type { DomainId, JobId, PagePath } from '@prepaint/contract/ids.ts'
import type { Priority } from '@prepaint/contract/outcome/job.ts'
import {
  type DevicePage,
  firstSegment,
  listDevicePages,
  requestComparison,
} from '@prepaint/contract/settings/devices.ts'
import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { startWhileDue } from '@prepaint/runtime/while-due.ts'
import type pg from 'pg'
import { readQuota } from '../../quota.ts'
import { lastRenderedPaths } from '../../store/keep-page.ts'
import { enqueue } from '../jobs/enqueue.ts'

/** With different first segments, and as often. */
export const COMPARED_PAGES = 5
const COMPARED_MS = 7 * 86_400_000
/** A page that could not be compared costs a render each time. */
const FAILED_MS = 86_400_000
const POLL_MS = 5 * 60_000

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

type Deps = { pool: pg.Pool; plans: PlanCatalogue; clock: Clock }

/** For domains with `devices: "auto"`: some pages soon after the first crawler, and every week. */
export function startDeviceChecks(deps: Deps & { log: Log }, pollMs = POLL_MS): { close(): Promise<void> } {
  return startWhileDue(
    pollMs,
    async () => {
      await checkDueDomains(deps)
      return false
    },
    (error) => deps.log.warn({ err: error }, 'pages for desktops and phones could not be compared'),
  )
}

export async function checkDueDomains({ pool, plans, clock }: Deps): Promise<void> {
  const { rows } = await pool.query<{ id: DomainId }>(
    `select d.id from domain d join account a on a.id = d.account_id
      where d.settings ->> 'devices' = 'auto' and d.is_active and a.suspended_at is null order by d.id`,
  )
  const nowMs = clock.nowMs()
  for (const { id } of rows) {
    const paths = await duePaths(pool, id, nowMs)
    const quota = paths.length === 0 ? null : await readQuota(pool, plans, id, nowMs)
    if (quota === null || quota.used + 2 * paths.length > quota.limit) continue
    // At two nodes at once they are the same paths, which join the same jobs.
    await transaction(pool, (client) => checkDevices(client, id, paths, 'warm')).catch((error) => {
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
  const due = candidates.filter((path) => {
    const segment = firstSegment(path)
    return !taken.has(segment) && taken.add(segment)
  })
  // Nothing is rendered before the first crawler.
  return stored.length === 0 ? [] : due.slice(0, room)
}

function isRecent({ requestedAt, checkedAt }: DevicePage, nowMs: number): boolean {
  const hasFinding = checkedAt !== null && checkedAt >= requestedAt
  return nowMs - requestedAt.getTime() < (hasFinding ? COMPARED_MS : FAILED_MS)
}

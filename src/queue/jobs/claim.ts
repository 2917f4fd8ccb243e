import type pg from 'pg'
import type { PlanCatalogue } from '../../accounts/plans.ts'
import { utcMonth } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import type { DomainId, DomainName, JobId, PagePath } from '../../ids.ts'
import type { Visitor } from '../../render/outcome.ts'
import { readDomainSettings } from '../../sites/domain-settings.ts'
import { type PageId, pageId } from '../../store/page-id.ts'
import type { QueryRule } from '../../store/path.ts'
import { readStatement } from '../statement.ts'
import { LIVE_BOUND } from './enqueue.ts'
import { PRIORITIES, type Priority } from './job.ts'

/** A job that this node runs, with all that its render needs. */
export type ClaimedJob = {
  id: JobId
  /** With `attempts` the fence: the name of this run of the node. */
  node: string
  attempts: number
  /** Crashes so far. */
  faults: number
  priority: Priority
  page: PageId
  customDomain: DomainName
  originUrl: string
  isActive: boolean
  /** Which parameters name a page, by the domain's settings. */
  query: QueryRule
  /** As the domain's settings want it. */
  visitor: Visitor
  /** Nothing is stored: it is to be seen how the site looks where there is no page. */
  isProbe: boolean
  /** What the origin forbids to store is not stored. */
  respectsNoStore: boolean
  /** The plan of the domain's account, and what the domain used of its month at the claim. */
  plan: string
  rendersUsed: number
}

type ClaimRules = {
  /** Renders of one domain at once, over all nodes. */
  domainCap: number
  /** At how many of them `refresh` and `warm` stop, so that a crawler still finds room. */
  domainBackgroundCap: number
  leaseMs: number
}

type ClaimedRow = {
  job_id: JobId
  domain_id: DomainId
  path: PagePath
  priority: number
  attempts: number
  faults: number
  custom_domain: DomainName
  origin_url: string
  is_active: boolean
  plan: string
  renders: number
  visitor: unknown
  query: unknown
  is_probe: boolean
  origin_cache_control: string | null
}

/** `slots`: jobs wanted at most; `backgroundSlots`: how many of them may be other than `live`. */
export type Slots = { slots: number; backgroundSlots: number }

type Claim = (want: Slots, nowMs: number) => Promise<ClaimedJob[]>

export function createClaim(pool: pg.Pool, node: string, rules: ClaimRules): Claim {
  const statement = readStatement('claim')
  return async ({ slots, backgroundSlots }, nowMs) => {
    const { rows } = await pool.query<ClaimedRow>({
      ...statement,
      values: [
        node,
        slots,
        backgroundSlots,
        rules.domainCap,
        rules.domainBackgroundCap,
        rules.leaseMs,
        utcMonth(nowMs),
      ],
    })
    return rows.map((row) => claimedJob(row, node))
  }
}

function claimedJob(row: ClaimedRow, node: string): ClaimedJob {
  return {
    id: row.job_id,
    node,
    attempts: row.attempts,
    faults: row.faults,
    priority: PRIORITIES[row.priority] ?? 'warm',
    page: pageId(row.domain_id, row.path),
    customDomain: row.custom_domain,
    originUrl: row.origin_url,
    isActive: row.is_active,
    plan: row.plan,
    rendersUsed: row.renders,
    query: readDomainSettings({ query: row.query }).query,
    visitor: visitorOf(row.visitor),
    isProbe: row.is_probe,
    respectsNoStore: row.origin_cache_control === 'respect',
  }
}

/** `stored`: what the settings of the domain have as `render`, null for nothing. */
function visitorOf(stored: unknown): Visitor {
  const {
    user_agent: userAgent,
    viewport,
    locale,
    time_zone: timeZone,
  } = readDomainSettings({ render: stored }).render
  return { userAgent, viewport, locale, timeZone }
}

/** A crawler's miss, as the edge has it. */
type Miss = { page: PageId; requestId: string }

/** `job`: what its crawler waits for. `claimed`: what this node has to render now. */
type ClaimedLive = { job: JobId | 'over-quota'; claimed: ClaimedJob[] }

type Row = { is_over: boolean; asked_id: JobId | null } & (ClaimedRow | { job_id: null })

/**
 * `enqueueLive` and `Claim` in one round trip, and whether the month has room. Throws `queue_full`, or
 * `domain_not_found` for a domain that is gone. The domain id was obtained through its host.
 */
export function createClaimLive(
  deps: { pool: pg.Pool; plans: PlanCatalogue },
  node: string,
  rules: ClaimRules,
): (miss: Miss, want: Slots, nowMs: number) => Promise<ClaimedLive> {
  const statement = readStatement('claim-live')
  const { domainCap, domainBackgroundCap, leaseMs } = rules
  const limits = JSON.stringify(
    Object.fromEntries(Object.entries(deps.plans).map(([name, plan]) => [name, plan.monthly_render_limit])),
  )
  return async ({ page, requestId }, { slots, backgroundSlots }, nowMs) => {
    const asked = [page.domain, page.path, LIVE_BOUND, requestId, limits, utcMonth(nowMs)]
    const { rows } = await deps.pool.query<Row>({
      ...statement,
      values: [...asked, node, slots, backgroundSlots, domainCap, domainBackgroundCap, leaseMs],
    })
    const first = rows[0]
    if (first === undefined) throw new AppError('domain_not_found')
    if (first.is_over) return { job: 'over-quota', claimed: [] }
    if (first.asked_id === null) throw new AppError('queue_full', { detail: 'no room for a live job' })
    const claimed = rows.flatMap((row) => (row.job_id === null ? [] : [claimedJob(row, node)]))
    return { job: first.asked_id, claimed }
  }
}

import type pg from 'pg'

import { readDomainSettings } from '../accounts/domain-settings.ts'
import { utcMonth } from '../accounts/month.ts'
import type { DomainId, DomainName, JobId, PagePath } from '../ids.ts'
import type { QueryRule } from '../pages/path.ts'
import type { Visitor } from '../render/outcome.ts'
import { PRIORITIES, type Priority } from './job.ts'
import { readStatement } from './statement.ts'

/** A job that this node runs, with all that its render needs. */
export type ClaimedJob = {
  id: JobId
  /** With `attempts` the fence: the name of this run of the node. */
  node: string
  attempts: number
  /** Crashes so far. */
  faults: number
  priority: Priority
  domain: DomainId
  customDomain: DomainName
  originUrl: string
  isActive: boolean
  path: PagePath
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

export type ClaimRules = {
  /** Renders of one domain at once, over all nodes. */
  domainCap: number
  /** At how many of them `refresh` and `warm` stop, so that a crawler still finds room. */
  domainBackgroundCap: number
  leaseMs: number
}

export type ClaimedRow = {
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

export type Claim = (want: Slots, nowMs: number) => Promise<ClaimedJob[]>

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

export function claimedJob(row: ClaimedRow, node: string): ClaimedJob {
  return {
    id: row.job_id,
    node,
    attempts: row.attempts,
    faults: row.faults,
    priority: PRIORITIES[row.priority] ?? 'warm',
    domain: row.domain_id,
    customDomain: row.custom_domain,
    originUrl: row.origin_url,
    isActive: row.is_active,
    path: row.path,
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

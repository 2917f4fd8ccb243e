import { utcMonth } from '@prepaint/contract/dates.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainId, DomainName, JobId, PagePath } from '@prepaint/contract/ids.ts'
import { PRIORITIES, type Priority } from '@prepaint/contract/outcome/job.ts'
import { type AskedPage, type PageId, type PageVariant, pageId } from '@prepaint/contract/page/page-id.ts'
import type { QueryRule } from '@prepaint/contract/page/path.ts'
import { type DomainSettings, readDomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import { type ChosenRule, RuleBook, USUAL_CATEGORY } from '@prepaint/runtime/rule-book.ts'
import type pg from 'pg'
import { readStatement } from '../statement.ts'
import { countedWaitMs, LIVE_BOUND } from './enqueue.ts'
import { rememberSpelling } from './spelling.ts'

export type ClaimedJob = {
  id: JobId
  /** The name of this run of the node. With `attempts` it proves that the job is still this node's. */
  node: string
  attempts: number
  faults: number
  priority: Priority
  /** When to capture for the crawler that waits, in milliseconds since the Unix epoch. Null if there is no hurry. */
  captureByMs: number | null
  page: PageId
  /** How the last crawler spelt the path. */
  spelling: PagePath
  account: AccountId
  customDomain: DomainName
  originUrl: string
  isActive: boolean
  query: QueryRule
  /** The domain's settings for desktops. */
  visitor: DomainSettings['render']
  /** The rule of the path. Null if there is none, or if no page is stored. */
  rule: ChosenRule | null
  /** Renders this path under two rules, for an owner who tries them. Nothing is stored. */
  tried: TriedRules | null
  /** The path is compared on desktops and phones: packages/pages/src/queue/judging/compare-devices.ts. */
  isCompared: boolean
  /** The rule of the path for desktops. */
  desktopRule: ChosenRule | null
  /** Headers that the origin gets, or null if there are none. */
  sealedHeaders: Buffer | null
  /** Finds out how the site responds where it has no page. Nothing is stored. */
  isProbe: boolean
  /** Whose slot it shares: its own, or that of another job of its domain. Then it may not ask for the browser. */
  lead: JobId
  respectsNoStore: boolean
  /** The id of the crawler's request that queued it, for the log. Null if no request did. */
  requestId: string | null
  plan: string
  rendersUsed: number
}

/** `category` and `variant`: as whom the page is rendered. */
export type TriedRules = {
  path: PagePath
  category: string
  variant: PageVariant
  before: ChosenRule | null
  after: ChosenRule | null
}

type ClaimRules = {
  /** Slots of this node that one account may hold, unless it is the only account. */
  accountCap: number
  /** Renders of a domain, over all nodes. */
  domainCap: number
  /** `refresh` and `warm` start only below this number, to leave room for a crawler. */
  domainBackgroundCap: number
  leaseMs: number
  liveWaitMs: number
}

type ClaimedRow = {
  job_id: JobId
  domain_id: DomainId
  account_id: AccountId
  path: PagePath
  priority: number
  attempts: number
  faults: number
  custom_domain: DomainName
  origin_url: string
  is_active: boolean
  plan: string
  renders: number
  lead: JobId
  visitor: unknown
  query: unknown
  is_probe: boolean
  origin_cache_control: string | null
  queued_ms: number
  wait_left_ms: number | null
  rules: unknown
  crawler: string | null
  tried: TriedRules | null
  /** Null if the domain of a probe was deleted. */
  variant: PageVariant | null
  is_compared: boolean
  sealed_headers: Buffer | null
  request_id: string | null
  spelling: PagePath | null
}

/**
 * `backgroundSlots`: for `refresh` and `warm`. `occupied`: accounts of the renders in this node's other slots. `plain`:
 * domains whose pages need no browser, as far as this node knows.
 */
export type FreeSlots = {
  slots: number
  backgroundSlots: number
  occupied: readonly AccountId[]
  plain?: readonly DomainId[]
}

/** Plain pages that share a slot with the first: as many requests at once as a browser makes for one page. */
export const BROUGHT = 7

/** Claims jobs for a node. */
export class Claims {
  readonly #pool: pg.Pool
  readonly #node: string
  readonly #rules: ClaimRules
  /** The renders of a month that each plan allows, for the statement. */
  readonly #limits: string
  readonly #claim = readStatement('claim')
  readonly #claimLive = readStatement('claim-live')

  constructor(pool: pg.Pool, plans: PlanCatalogue, node: string, rules: ClaimRules) {
    this.#pool = pool
    this.#node = node
    this.#rules = rules
    this.#limits = JSON.stringify(
      Object.fromEntries(Object.entries(plans).map(([name, plan]) => [name, plan.monthly_render_limit])),
    )
  }

  /** Claims in one transaction. What is claimed runs from now on: begin it before the next claim, which may wait or fail. */
  async claim({ slots, backgroundSlots, occupied, plain = [] }: FreeSlots, nowMs: number): Promise<Claimed> {
    const { accountCap, domainCap, domainBackgroundCap, leaseMs } = this.#rules
    const { rows } = await this.#pool.query<Row>({
      ...this.#claim,
      values: [
        this.#node,
        slots,
        backgroundSlots,
        occupied,
        accountCap,
        domainCap,
        domainBackgroundCap,
        leaseMs,
        utcMonth(nowMs),
        plain,
        BROUGHT,
      ],
    })
    return this.#claimed(rows, nowMs)
  }

  /** Queues a live job as `EnqueueLive` does, and claims, in one round trip. Throws `queue_full` or `domain_not_found`. */
  async claimLive(
    { page, requestId, crawler = null }: Miss,
    free: FreeSlots,
    nowMs: number,
  ): Promise<ClaimedLive> {
    const { slots, backgroundSlots, occupied } = free
    const { accountCap, domainCap, domainBackgroundCap, leaseMs, liveWaitMs } = this.#rules
    await rememberSpelling(this.#pool, page)
    const { rows } = await this.#pool.query<LiveRow>({
      ...this.#claimLive,
      values: [
        page.domain,
        page.path,
        LIVE_BOUND,
        requestId,
        this.#limits,
        utcMonth(nowMs),
        countedWaitMs(liveWaitMs),
        this.#node,
        slots,
        backgroundSlots,
        occupied,
        accountCap,
        domainCap,
        domainBackgroundCap,
        leaseMs,
        crawler,
        page.variant,
      ],
    })
    const first = rows[0]
    if (first === undefined) throw new AppError('domain_not_found')
    if (first.is_over) return { job: 'over-quota', claimed: [], isMore: false }
    if (first.asked_id === null) throw new AppError('queue_full', { detail: 'no room for a live job' })
    return { job: first.asked_id, ...this.#claimed(rows, nowMs) }
  }

  #claimed(rows: readonly Row[], nowMs: number): Claimed {
    const { liveWaitMs } = this.#rules
    const claimed = rows.flatMap((row) =>
      row.job_id === null ? [] : [claimedJob(row, this.#node, captureByMs(row, liveWaitMs, nowMs))],
    )
    return { claimed, isMore: rows[0]?.is_more === true }
  }
}

/** `isMore`: jobs may wait that another claim kept this one from: claim again. */
type Claimed = { claimed: ClaimedJob[]; isMore: boolean }

type Miss = { page: AskedPage; requestId: string; crawler?: string | null }

type ClaimedLive = Claimed & { job: JobId | 'over-quota' }

/** `is_more` is the same in all rows, and null if nothing was claimed. */
type Row = { is_more: boolean | null } & (ClaimedRow | { job_id: null })

type LiveRow = { is_over: boolean; asked_id: JobId | null } & Row

/** The snapshot, its judgement, and the way to the crawler take about this long. */
const ANSWER_MS = 1_000
/** With less time the crawler is lost: the page is rendered for the next one. */
const LEAST_MS = 1_500

/** Returns null if no crawler waits long enough. */
export function captureByMs(
  row: { priority: number; queued_ms: number; wait_left_ms: number | null },
  liveWaitMs: number,
  nowMs: number,
): number | null {
  if (row.priority !== 0 || row.wait_left_ms === null) return null
  // The crawler queued the job itself, or joined one that had waited long: then the last to join counts.
  const waitedMs = row.queued_ms < liveWaitMs ? row.queued_ms : countedWaitMs(liveWaitMs) - row.wait_left_ms
  const leftMs = liveWaitMs - waitedMs - ANSWER_MS
  return leftMs < LEAST_MS ? null : nowMs + leftMs
}

function claimedJob(row: ClaimedRow, node: string, captureByMs: number | null): ClaimedJob {
  const variant = row.variant ?? 'desktop'
  const storesNone = row.is_probe || row.tried !== null
  const ruleFor = (device: PageVariant) => (storesNone ? null : jobRule(row, device))
  return {
    captureByMs,
    id: row.job_id,
    node,
    attempts: row.attempts,
    faults: row.faults,
    priority: PRIORITIES[row.priority] ?? 'warm',
    page: pageId(row.domain_id, row.path, variant),
    spelling: row.spelling ?? row.path,
    isCompared: row.is_compared,
    account: row.account_id,
    customDomain: row.custom_domain,
    originUrl: row.origin_url,
    isActive: row.is_active,
    plan: row.plan,
    rendersUsed: row.renders,
    query: readDomainSettings({ query: row.query }).query,
    visitor: readDomainSettings({ render: row.visitor }).render,
    rule: ruleFor(variant),
    desktopRule: ruleFor('desktop'),
    tried: row.tried,
    sealedHeaders: row.sealed_headers,
    isProbe: row.is_probe,
    lead: row.lead,
    requestId: row.request_id,
    respectsNoStore: row.origin_cache_control === 'respect',
  }
}

function jobRule({ rules, path, crawler }: ClaimedRow, variant: PageVariant): ChosenRule | null {
  if (!Array.isArray(rules) || rules.length === 0) return null
  return new RuleBook(readDomainSettings({ rules }).rules).chosen(path, crawler ?? USUAL_CATEGORY, variant)
}

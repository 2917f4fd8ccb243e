import type { JobOutcome } from '@prepaint/contract/outcome/job.ts'
import type { PageId, PageVariant } from '@prepaint/contract/page/page-id.ts'
import type { StoredPage } from '@prepaint/contract/page/stored.ts'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import { joined } from '@prepaint/postgres/joined.ts'
import { retried } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type pg from 'pg'
import { type BodyStore, INLINE_BYTES, type NewBody } from '../../store/bodies/body-store.ts'
import {
  type Keeping,
  type KeepResult,
  type KnownOfPage,
  keepPages,
  type LastGood,
  type NewPage,
  readJudgements,
  type TellKept,
} from '../../store/keep-page.ts'
import type { ClaimedJob } from '../jobs/claim.ts'
import { type Finding, type Look, type Soft404, soft404Of } from './soft-404.ts'

type Judgement = {
  last: LastGood | null
  probe: string | null
  soft404: Soft404 | null
  /** A soft 404 is given with status 404. */
  answers404: boolean
}

export type Kept =
  /** The job has ended. `page` is null if it has the same content as before, with a longer life. */
  | { kept: 'stored'; outcome: NewPage['outcome']; page: StoredPage | null }
  /** The job has not ended yet. `isWorse`: the render is worse than the last good copy. */
  | { kept: 'refused'; outcome: JobOutcome; detail: string; isWorse: boolean }
  | { kept: 'nothing' }

/** A site is probed every few minutes at most, so a page is rarely judged twice. */
const TRIES = 5

/** Background pages of a domain share statements: half of the processor time of one for each. */
const MOST_AT_ONCE = 16
const UNDER_WAY = 2

/** Judges pages and stores the good ones. Takes two statements because a crawler waits; the first runs while the page is compressed. */
export class PageKeeper {
  readonly #pool: pg.Pool
  readonly #plans: PlanCatalogue
  readonly #clock: Clock
  readonly #tell: TellKept
  readonly #bodies: BodyStore
  readonly #readShared
  readonly #storeShared

  /** `tell` is called for each stored page after its commit. */
  constructor(pool: pg.Pool, plans: PlanCatalogue, clock: Clock, bodies: BodyStore, tell: TellKept) {
    this.#pool = pool
    this.#bodies = bodies
    this.#tell = tell
    this.#plans = plans
    this.#clock = clock
    this.#readShared = joined<PageId, KnownOfPage<Finding> | null>((pages) => this.#read(pages), {
      most: MOST_AT_ONCE,
      underWay: UNDER_WAY,
      groupOf: ({ domain }) => String(domain),
    })
    this.#storeShared = joined((pages: readonly Keeping[]) => this.#store(pages), {
      most: MOST_AT_ONCE,
      underWay: UNDER_WAY,
      groupOf: ({ domain, terms }) => `${domain} ${terms.limit} ${terms.probe}`,
    })
  }

  /** May be called before the page is compressed. Returns null if the domain was deleted. */
  async judge({ page, priority }: ClaimedJob, look: Look | null): Promise<Judgement | null> {
    const known = priority === 'live' ? (await this.#read([page]))[0] : await this.#readShared(page)
    if (known == null) return null
    const { finding, ...others } = known
    return { ...others, soft404: soft404Of(finding, look) }
  }

  async keep(
    job: ClaimedJob,
    rendered: NewPage & { look: Look | null; missing: string | null },
    first: Judgement | null,
  ): Promise<Kept> {
    const limit = planNamed(this.#plans, job.plan).monthly_render_limit
    let judgement = first
    let body: NewBody | null = null
    for (let tries = 1; tries <= TRIES && judgement !== null; tries++) {
      const nowMs = this.#clock.nowMs()
      const { last, probe, soft404, answers404 } = judgement
      if (soft404 !== null && !answers404) return { kept: 'refused', ...soft404, isWorse: false }
      const page = soft404 === null ? rendered : { ...rendered, status: 404 }
      const refusal = refusalOf(page, last, nowMs)
      if (refusal !== null) return { kept: 'refused', ...refusal, isWorse: true }
      body ??= await this.#putBody(job.page, page, last)
      const keeping = { job, domain: job.page.domain, page, body, terms: { probe, limit, nowMs } }
      const isLive = job.priority === 'live'
      const result = isLive ? (await this.#store([keeping]))[0] : await this.#storeShared(keeping)
      switch (result) {
        case 'taken-away':
          return { kept: 'nothing' }
        case 'over-quota':
          return { kept: 'refused', outcome: 'over-quota', detail: '', isWorse: false }
        case 'unchanged':
          return { kept: 'stored', outcome: page.outcome, page: null }
        case 'stored':
          return { kept: 'stored', outcome: page.outcome, page: storedPage(page, job.page.variant, nowMs) }
        case 'body-gone':
          // It took too long: the object may have been swept before it arrived.
          if (body.at === 'store') await this.#bodies.condemn(body.key)
          body = { at: 'late' }
          break
        case 'judge-again':
          judgement = await this.judge(job, rendered.look)
      }
    }
    if (judgement === null) return { kept: 'nothing' }
    throw new Error('a page could not be judged')
  }

  /** Does not put a body that the page has already: its row keeps that one. */
  #putBody({ domain }: PageId, { body }: NewPage, last: LastGood | null): NewBody | Promise<NewBody> {
    if (!this.#bodies.isOn || body.bodyBr.length <= INLINE_BYTES) return { at: 'row' }
    // If the page is purged meanwhile, it gets a row with this body, which is moved then.
    if (last?.etag === body.etag) return { at: 'late' }
    return this.#bodies.put(domain, body.bodyBr)
  }

  #read(pages: readonly PageId[]): Promise<(KnownOfPage<Finding> | null)[]> {
    return readJudgements<Finding>(this.#pool, pages)
  }

  #store(pages: readonly Keeping[]): Promise<KeepResult[]> {
    return retried(() => keepPages(this.#pool, pages, this.#tell))
  }
}

function storedPage(page: NewPage, variant: PageVariant, nowMs: number): StoredPage {
  const { status, headers, body, rule } = page
  const stored: StoredPage = {
    kind: 'page',
    variant,
    status,
    headers,
    ...body,
    renderedAtMs: nowMs,
    changedAtMs: nowMs,
    staleSinceMs: null,
  }
  if (rule !== undefined && rule.effect !== '') stored.ruleEffect = rule.effect
  return stored
}

type Refusal = { outcome: Extract<JobOutcome, 'shrunk' | 'origin-error' | 'incomplete'>; detail: string }

/** A render with less than a third of the text is refused ... */
const SHRINK = 3
/** ... unless the last good copy had little text itself. */
export const SHRINK_FROM_CHARS = 600
/** A refused page that persists this long has really changed: a deploy or an outage is over by then. */
export const REFUSED_FOR_MS = 5 * 60_000

/** Refuses a far worse render, as when only the back end is down. Accepts 404 and 410 at once. */
export function refusalOf(
  fresh: { status: number; textChars: number; missing?: string | null },
  last: LastGood | null,
  nowMs: number,
): Refusal | null {
  if (last === null || last.status >= 300 || nowMs - last.renderedAtMs >= last.keepMs) return null
  if (last.refusedAtMs !== null && nowMs - last.refusedAtMs >= REFUSED_FOR_MS) return null
  if (fresh.status === 404 || fresh.status === 410) return null
  if (fresh.status >= 400) {
    const detail = `status ${fresh.status}; the last good copy has ${last.status}`
    return { outcome: 'origin-error', detail }
  }
  const { textChars } = last
  if (fresh.missing && fresh.textChars < (textChars ?? 0))
    return { outcome: 'incomplete', detail: fresh.missing }
  if (textChars === null || textChars < SHRINK_FROM_CHARS || fresh.textChars * SHRINK >= textChars)
    return null
  const detail = `${fresh.textChars} characters of text; the last good copy has ${textChars}`
  return { outcome: 'shrunk', detail }
}

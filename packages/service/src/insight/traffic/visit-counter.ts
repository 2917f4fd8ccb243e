import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import type { Form } from '@prepaint/contract/outcome/form.ts'
import type { NoVerdict, Verdict } from '@prepaint/contract/outcome/verdict.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import { normalisePath, type QueryRule } from '@prepaint/contract/page/path.ts'
import { kindOfVerdict } from '@prepaint/contract/traffic/verdict-kind.ts'
import type { VisitedNotices } from '@prepaint/pages/store/visited-notices.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import pg from 'pg'
import { crawlerNumber, OTHER_CRAWLER } from './crawler-numbers.ts'
import { type CountLimits, type DomainMinute, keyOf, MINUTE_MS, PEOPLE, VisitCounts } from './visit-counts.ts'
import { CountsWriter } from './write-counts.ts'

type CountedRequest = {
  url?: string | undefined
  headers: { 'user-agent'?: string | undefined; via?: string | undefined }
}

type CountedVerdict = Verdict | NoVerdict | 'sitemap' | 'blocked' | 'payment'

type CountedAnswer = {
  verdict: Verdict | NoVerdict
  crawler: string | null
  seconds: number
  /** The status that was sent, or 0 if nothing was. */
  status: number
  domain: { id: DomainId; query: QueryRule } | null
  page: PageId | null
  /** The form of the page that Prepaint served. */
  form?: Form | undefined
}

const FLUSH_EVERY_MS = 5_000
/** While more domains have visits, counts are written once a minute: a row of a domain costs the same, however much it counts. */
export const FEW_DOMAINS = 500
const LAST_TRIES = 3
const LAST_RETRY_MS = 300

/** `number` increases with each flush. */
type Batch = { number: number; minutes: DomainMinute[] }

type CounterOptions = { flushEveryMs?: number; limits?: CountLimits }

/**
 * Counts visits in memory and writes them in one transaction, no batch twice: every five seconds while few domains have
 * visits, else when a minute ends, so that a domain has one row for it. While PostgreSQL cannot be reached, the limits of
 * `VisitCounts` apply.
 */
export class TrafficCounter {
  readonly #clock: Clock
  readonly #log: Log
  readonly #counts: VisitCounts
  readonly #writer: CountsWriter
  readonly #flushEveryMs: number
  #timer: NodeJS.Timeout | undefined
  #lastBatch = 0
  /** The minute in which counts were last taken. */
  #takenMinute: number
  /** The batch that is being written, or whose write failed. */
  #waiting: Batch | null = null
  #flushing: Promise<boolean> | null = null

  constructor(
    pool: pg.Pool,
    visited: VisitedNotices,
    clock: Clock,
    log: Log,
    { flushEveryMs = FLUSH_EVERY_MS, limits }: CounterOptions = {},
  ) {
    this.#clock = clock
    this.#log = log
    this.#counts = new VisitCounts(limits)
    this.#writer = new CountsWriter(pool, randomUUID(), this.#counts, visited)
    this.#flushEveryMs = flushEveryMs
    this.#takenMinute = minuteOf(clock.nowMs())
    this.#plan()
  }

  /** Returns whether it counted a visit of a crawler. Uses no SQL, does not wait and never throws. */
  count(request: CountedRequest, answer: CountedAnswer): boolean {
    const { verdict, crawler, seconds, status, domain, page, form } = answer
    const { headers } = request
    // The renderer's own requests come here if an origin is itself behind Prepaint.
    if (domain === null || (headers.via !== undefined && isOurs(headers.via))) return false
    const nowMs = this.#clock.nowMs()
    const counts = this.#counts
    const minute = counts.takeMinute(domain.id, nowMs)
    if (minute === null) return false
    // People are redirected and read site files too.
    const isOfPeople = crawler === null && (verdict === 'redirect' || verdict === 'site-file')
    if (verdict === 'pass; not-a-crawler' || isOfPeople) {
      counts.add(minute, keyOf(PEOPLE, OTHER_CRAWLER, counts.takeVerdictNumber(verdict)), status, seconds)
      return false
    }
    // A sitemap is not a page, however it was served.
    const isOfCache = verdict === 'hit' || verdict === 'stale'
    const isSitemap = verdict === 'pass; sitemap' || (isOfCache && page === null)
    const counted: CountedVerdict = isSitemap ? 'sitemap' : withoutCategory(verdict)
    const name = crawlerNumber(headers['user-agent'])
    const key = keyOf(crawler ?? 'other', name, counts.takeVerdictNumber(counted))
    const isServed = isOfCache || verdict === 'rendered'
    counts.add(minute, key, status, seconds, form, isServed ? page?.variant : undefined)
    // A tool that asks for Markdown counts as `other`, but is no crawler.
    if (crawler !== null) {
      minute.lastKey = key
      minute.lastMs = nowMs
    }
    const isOfPath = hasFailed(counted) || kindOfVerdict(counted) === 'soft_404'
    const path = page?.path ?? (isOfPath ? normalisePath(request.url ?? '/', domain.query) : null)
    if (path !== null) countPath(minute, path, counted, status, form)
    return true
  }

  /** Writes what was counted until now. Returns whether everything is written. */
  async flush(): Promise<boolean> {
    if (this.#flushing !== null) await this.#flushing
    this.#flushing ??= this.#writeAll().finally(() => {
      this.#flushing = null
    })
    return this.#flushing
  }

  /** Writes the last counts. Gives up after three tries. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    for (let tries = 1; !(await this.flush()); tries++) {
      if (tries === LAST_TRIES) {
        this.#log.error('the last traffic counts of this node are lost')
        return
      }
      await sleep(LAST_RETRY_MS)
    }
  }

  /** At whole multiples of the time between flushes, so that one is at the end of each minute. */
  #plan(): void {
    const nowMs = this.#clock.nowMs()
    const waitMs = this.#flushEveryMs - (nowMs % this.#flushEveryMs)
    this.#timer = setTimeout(() => {
      if (this.#isDue()) void this.flush()
      this.#plan()
    }, waitMs).unref()
  }

  #isDue(): boolean {
    // Another one would write a part of a minute as soon as this one ends.
    if (this.#flushing !== null) return false
    const counts = this.#counts
    if (counts.domains <= FEW_DOMAINS || counts.isNearlyFull || this.#waiting !== null) return true
    return minuteOf(this.#clock.nowMs()) !== this.#takenMinute
  }

  async #writeAll(): Promise<boolean> {
    try {
      if (this.#waiting !== null) await this.#write(this.#waiting)
      if (this.#counts.isEmpty) return true
      this.#takenMinute = minuteOf(this.#clock.nowMs())
      const { minutes, lost } = this.#counts.take()
      if (lost > 0) this.#log.warn({ lost }, 'more kinds of visits than the limit: some were not counted')
      this.#lastBatch++
      this.#waiting = { number: this.#lastBatch, minutes }
      await this.#write(this.#waiting)
      return true
    } catch (error) {
      this.#log.warn({ err: error }, 'traffic counts could not be written; trying again')
      return false
    }
  }

  async #write(batch: Batch): Promise<void> {
    try {
      await this.#writer.write(batch.number, batch.minutes, this.#clock.nowMs())
    } catch (error) {
      // Class 22 (data exception): a retry would fail as well.
      const isHopeless = error instanceof pg.DatabaseError && error.code?.startsWith('22') === true
      if (!isHopeless) throw error
      this.#log.error({ err: error }, 'traffic counts that cannot be stored were dropped')
    }
    this.#waiting = null
  }
}

function minuteOf(ms: number): number {
  return Math.floor(ms / MINUTE_MS)
}

function countPath(
  minute: DomainMinute,
  path: PagePath,
  verdict: CountedVerdict,
  status: number,
  form: Form | undefined,
): void {
  minute.top.add(path, verdict, status, form)
  if (hasFailed(verdict) || status >= 400) minute.failing.add(path, verdict, status, form)
}

/** The category has a column of its own. */
function withoutCategory(verdict: Verdict | NoVerdict): CountedVerdict {
  if (verdict.startsWith('blocked')) return 'blocked'
  return verdict.startsWith('payment') ? 'payment' : verdict
}

function hasFailed(verdict: CountedVerdict): boolean {
  return kindOfVerdict(verdict) === 'failed'
}

/** `Via` (RFC 9110, section 7.6.3), which the edge and the gateway add. */
function isOurs(via: string): boolean {
  return /(?:^|,)\s*\S+ prepaint\b/.test(via)
}

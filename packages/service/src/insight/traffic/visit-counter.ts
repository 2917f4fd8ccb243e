import { randomUUID } from 'node:crypto'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import type { Form } from '@prepaint/contract/outcome/form.ts'
import type { NoVerdict, Verdict } from '@prepaint/contract/outcome/verdict.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import { normalisePath, type QueryRule } from '@prepaint/contract/page/path.ts'
import { kindOfVerdict } from '@prepaint/contract/traffic/verdict-kind.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import pg from 'pg'
import { crawlerNumber, OTHER_CRAWLER } from './crawler-numbers.ts'
import { type CountLimits, type DomainHour, keyOf, PEOPLE, VisitCounts } from './visit-counts.ts'
import { createWriteCounts } from './write-counts.ts'

type CountedRequest = {
  url?: string | undefined
  headers: { 'user-agent'?: string | undefined; via?: string | undefined }
}

type CountedVerdict = Verdict | NoVerdict | 'sitemap' | 'blocked' | 'payment'

type CountedAnswer = {
  verdict: Verdict | NoVerdict
  crawler: string | null
  seconds: number
  /** 0: nothing was sent. */
  status: number
  domain: { id: DomainId; query: QueryRule } | null
  page: PageId | null
  /** Of a page that we served. */
  form?: Form | undefined
}

export type TrafficCounter = {
  /** No SQL, no waiting; never throws. Whether a crawler's visit was counted. */
  count(req: CountedRequest, answer: CountedAnswer): boolean
  flush(): Promise<void>
  close(): Promise<void>
}

const FLUSH_EVERY_MS = 5_000
const LAST_TRIES = 3
const LAST_RETRY_MS = 300

/** Writes every few seconds in one transaction, no batch twice. Without PostgreSQL, `VisitCounts` limits apply. */
export function createTraffic(deps: {
  pool: pg.Pool
  clock: Clock
  log: Log
  flushEveryMs?: number
  limits?: CountLimits
}): TrafficCounter {
  const { pool, clock, log, flushEveryMs = FLUSH_EVERY_MS } = deps
  const counts = new VisitCounts(deps.limits)
  const write = createWriteCounts({ pool, node: randomUUID(), named: counts.named })
  let batch = 0
  let waiting: { batch: number; hours: DomainHour[] } | null = null
  let flushing: Promise<boolean> | null = null
  const timer = setInterval(() => void flush(), flushEveryMs).unref()

  function count(req: CountedRequest, answer: CountedAnswer): boolean {
    const { verdict, crawler, seconds, status, domain, page, form } = answer
    const { headers } = req
    // Requests of the renderer, if an origin is itself behind Prepaint.
    if (domain === null || (headers.via !== undefined && isOurs(headers.via))) return false
    const nowMs = clock.nowMs()
    const of = counts.hourOf(domain.id, nowMs)
    if (of === null) return false
    // People are redirected and read site files too.
    const isOfPeople = crawler === null && (verdict === 'redirect' || verdict === 'site-file')
    if (verdict === 'pass; not-a-crawler' || isOfPeople) {
      counts.add(of, keyOf(PEOPLE, OTHER_CRAWLER, counts.verdictNumber(verdict)), status, seconds)
      return false
    }
    // A sitemap is not a page, however it was served.
    const isOfCache = verdict === 'hit' || verdict === 'stale'
    const isSitemap = verdict === 'pass; sitemap' || (isOfCache && page === null)
    const counted: CountedVerdict = isSitemap ? 'sitemap' : withoutCategory(verdict)
    const name = crawlerNumber(headers['user-agent'])
    const key = keyOf(crawler ?? 'other', name, counts.verdictNumber(counted))
    const isServed = isOfCache || verdict === 'rendered'
    counts.add(of, key, status, seconds, form, isServed ? page?.variant : undefined)
    // A tool that asks for Markdown counts as `other`, but is no crawler.
    if (crawler !== null) {
      of.lastKey = key
      of.lastMs = nowMs
    }
    const path = page?.path ?? (hasFailed(counted) ? normalisePath(req.url ?? '/', domain.query) : null)
    if (path !== null) countPath(of, path, counted, status, form)
    return true
  }

  return { count, flush: async () => void (await flush()), close }

  async function flush(): Promise<boolean> {
    if (flushing !== null) await flushing
    flushing ??= writeAll().finally(() => {
      flushing = null
    })
    return flushing
  }

  async function writeAll(): Promise<boolean> {
    try {
      if (waiting !== null) await writeWaiting(waiting)
      if (counts.isEmpty) return true
      const { hours, lost } = counts.take()
      if (lost > 0) log.warn({ lost }, 'more kinds of visits than the limit: some were not counted')
      waiting = { batch: ++batch, hours }
      await writeWaiting(waiting)
      return true
    } catch (error) {
      log.warn({ err: error }, 'traffic counts could not be written; trying again')
      return false
    }
  }

  async function writeWaiting(kept: { batch: number; hours: DomainHour[] }): Promise<void> {
    try {
      await write(kept.batch, kept.hours, clock.nowMs())
    } catch (error) {
      // Class 22 (data exception): a retry would fail as well.
      const isHopeless = error instanceof pg.DatabaseError && error.code?.startsWith('22') === true
      if (!isHopeless) throw error
      log.error({ err: error }, 'traffic counts that cannot be stored were dropped')
    }
    waiting = null
  }

  async function close(): Promise<void> {
    clearInterval(timer)
    for (let tries = 1; !(await flush()); tries++) {
      if (tries === LAST_TRIES) return void log.error('the last traffic counts of this node are lost')
      await new Promise((resolve) => setTimeout(resolve, LAST_RETRY_MS))
    }
  }
}

function countPath(
  of: DomainHour,
  path: PagePath,
  verdict: CountedVerdict,
  status: number,
  form: Form | undefined,
): void {
  of.top.add(path, verdict, status, form)
  if (hasFailed(verdict) || status >= 400) of.failing.add(path, verdict, status, form)
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

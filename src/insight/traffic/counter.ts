import { randomUUID } from 'node:crypto'

import pg from 'pg'

import type { Clock } from '../../clock.ts'
import type { DomainId, PagePath } from '../../ids.ts'
import type { Log } from '../../log.ts'
import type { PageId } from '../../store/page-id.ts'
import { normalisePath, type QueryRule } from '../../store/path.ts'
import { createCrawlerNames, OTHER_CRAWLER } from './crawler-numbers.ts'
import { kindOfVerdict } from './verdict-kind.ts'
import { createTally, type DomainHour, keyOf, PEOPLE, type TallyLimits } from './visit-counts.ts'
import { createWriteCounts } from './write-counts.ts'

/** A live request, as far as it is counted. */
type CountedRequest = {
  url?: string | undefined
  headers: { 'user-agent'?: string | undefined; via?: string | undefined }
  /** Absent: nobody's, and not counted. */
  askedOf?: { id: DomainId; query: QueryRule }
  /** The page of ours with which it was answered. */
  askedFor?: PageId
}

type CountedAnswer = { verdict: string; crawler: string | null; seconds: number }

export type Traffic = {
  /** Counts one live request. Called for each: no SQL, no waiting, never throws. */
  count(req: CountedRequest, answer: CountedAnswer, res: { headersSent: boolean; statusCode: number }): void
  /** Writes what was counted so far; never rejects. */
  flush(): Promise<void>
  /** Writes the rest and ends. */
  close(): Promise<void>
}

const FLUSH_EVERY_MS = 5_000
/** At the end: how often a database that does not answer is asked once more, and after how long. */
const LAST_TRIES = 3
const LAST_REST_MS = 300

/**
 * Counts live traffic in memory and adds it up in PostgreSQL every few seconds,
 * in one transaction. While PostgreSQL is away the counts go on and wait, up to
 * the bounds of `createTally`. A batch is written once, also when the answer to
 * its commit was lost.
 */
export function createTraffic(deps: {
  pool: pg.Pool
  clock: Clock
  log: Log
  flushEveryMs?: number
  limits?: TallyLimits
}): Traffic {
  const { pool, clock, log, flushEveryMs = FLUSH_EVERY_MS } = deps
  const tally = createTally(deps.limits)
  const crawlerNumber = createCrawlerNames()
  const write = createWriteCounts({ pool, node: randomUUID(), named: tally.named })
  let batch = 0
  let waiting: { batch: number; hours: DomainHour[] } | null = null
  let flushing: Promise<boolean> | null = null
  const timer = setInterval(() => void flush(), flushEveryMs).unref()

  function count(
    req: CountedRequest,
    { verdict, crawler, seconds }: CountedAnswer,
    res: { headersSent: boolean; statusCode: number },
  ): void {
    const { askedOf, headers } = req
    // Our own renderer, where an origin is itself behind us.
    if (askedOf === undefined || (headers.via !== undefined && isOurs(headers.via))) return
    const nowMs = clock.nowMs()
    const of = tally.hourOf(askedOf.id, nowMs)
    if (of === null) return
    const status = res.headersSent ? res.statusCode : 0
    if (verdict === 'pass; not-a-crawler') {
      tally.add(of, keyOf(PEOPLE, OTHER_CRAWLER, tally.verdictNumber(verdict)), status, seconds)
      return
    }
    const path = req.askedFor?.path
    // A sitemap has a cache of its own: it is no page, however it was answered.
    const isOfCache = verdict === 'hit' || verdict === 'stale'
    const said = verdict === 'pass; sitemap' || (isOfCache && path === undefined) ? 'sitemap' : verdict
    const name = crawlerNumber(headers['user-agent'])
    const key = keyOf(crawler ?? 'other', name, tally.verdictNumber(said))
    tally.add(of, key, status, seconds)
    of.lastKey = key
    of.lastMs = nowMs
    countPath(of, req, path, said, status)
  }

  return { count, flush: async () => void (await flush()), close }

  /** Resolves to whether everything is written that was counted when it was called. One at a time. */
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
      if (tally.isEmpty()) return true
      const { hours, lost } = tally.take()
      if (lost > 0)
        log.warn({ lost }, 'more kinds of visits than are counted at a time: some were not counted')
      waiting = { batch: ++batch, hours }
      await writeWaiting(waiting)
      return true
    } catch (error) {
      log.warn({ err: error }, 'traffic could not be counted up; it is tried again')
      return false
    }
  }

  async function writeWaiting(kept: { batch: number; hours: DomainHour[] }): Promise<void> {
    try {
      await write(kept.batch, kept.hours, clock.nowMs())
    } catch (error) {
      // Class 22 (data exception): what PostgreSQL cannot store it will not store the next time either.
      const isHopeless = error instanceof pg.DatabaseError && error.code?.startsWith('22') === true
      if (!isHopeless) throw error
      log.error({ err: error }, 'counts of traffic that cannot be stored were dropped')
    }
    waiting = null
  }

  async function close(): Promise<void> {
    clearInterval(timer)
    for (let tries = 1; !(await flush()); tries++) {
      if (tries === LAST_TRIES) return void log.error('counts of the last traffic of this node are lost')
      await new Promise((resolve) => setTimeout(resolve, LAST_REST_MS))
    }
  }
}

/** Pages only: of what passes by rule the path is of no interest. */
function countPath(
  of: DomainHour,
  req: CountedRequest,
  path: PagePath | undefined,
  verdict: string,
  status: number,
): void {
  const hasFailed = kindOfVerdict(verdict) === 'failed'
  const page = path ?? (hasFailed ? normalisePath(req.url ?? '/', req.askedOf?.query) : null)
  if (page === null) return
  of.top.add(page, verdict, status)
  if (hasFailed || status >= 400) of.failing.add(page, verdict, status)
}

/** RFC 9110, section 7.6.3; the edge and the gateway write it. */
function isOurs(via: string): boolean {
  return /(?:^|,)\s*\S+ prepaint\b/.test(via)
}

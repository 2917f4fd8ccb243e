import type { DomainId } from '@prepaint/contract/ids.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { UNDER_WAY, type WarmState, type WarmWhich } from './warm.ts'

/** Times are ISO 8601 in UTC with milliseconds. */
export type WarmProgress = {
  which: WarmWhich
  state: WarmState
  paused_at: string | null
  /** If it was not the owner: `over-quota`, `domain-inactive`, or a sentence. */
  reason: string | null
  started_at: string
  ended_at: string | null
  sitemaps: {
    read: number
    left: number
    failed: number
    failures: { path: string; reason: string }[]
  }
  /** 0 until the sitemaps have been read. */
  known: number
  done: number
  /** Those of `done` with the same snapshot as before. */
  unchanged: number
  failed: number
  /** Skipped: by robots.txt, by a rule of the domain, or because the stored copy is good. */
  forbidden: number
  passed: number
  redirected: number
  fresh: number
  /** Null while sitemaps are read. Of a run that ended with the quota: the pages that were not rendered. */
  left: number | null
  /** The pages of the last minute, or null if nothing was rendered. */
  pages_per_second: number | null
  seconds_left: number | null
}

type Row = Omit<
  WarmProgress,
  'paused_at' | 'started_at' | 'ended_at' | 'left' | 'pages_per_second' | 'seconds_left'
> & {
  paused_at: Date | null
  started_at: Date
  ended_at: Date | null
  queued: number
  lately: number
  lately_seconds: number
}

const FAILURES_SHOWN = 10
const LATELY_SECONDS = 60

export async function readWarm(db: Queryable, domain: DomainId): Promise<WarmProgress | null> {
  const { rows } = await db.query<Row>(
    `select w.which, w.state, w.paused_at, w.reason, w.started_at, w.ended_at, w.known, w.queued,
            w.forbidden, w.passed, w.redirected, w.fresh, t.done, t.unchanged, t.failed,
            json_build_object('read', s.read, 'left', s.unread, 'failed', s.unreadable, 'failures', (
              select coalesce(json_agg(json_build_object('path', path, 'reason', failure)), '[]')
                from (select path, failure from warm_sitemap
                       where domain_id = w.domain_id and failure is not null order by path limit $2) f)) as sitemaps,
            (select count(*)::int from every_job
              where finished_at > statement_timestamp() - make_interval(secs => $3)
                and domain_id = w.domain_id and warm = w.run) as lately,
            least($3, extract(epoch from clock_timestamp() - w.started_at))::float8 as lately_seconds
       from warm w join warm_count t on t.domain_id = w.domain_id
      cross join lateral (
        select count(*) filter (where entries is not null) as read,
               count(*) filter (where entries is null and failure is null) as unread,
               count(*) filter (where failure is not null) as unreadable
          from warm_sitemap where domain_id = w.domain_id) s
      where w.domain_id = $1`,
    [domain, FAILURES_SHOWN, LATELY_SECONDS],
  )
  const row = rows[0]
  return row === undefined ? null : progressOf(row)
}

function progressOf({ queued, lately, lately_seconds: seconds, ...row }: Row): WarmProgress {
  const isUnderWay = row.state === 'reading' || row.state === 'queueing' || row.state === 'rendering'
  const isCutOff = row.state === 'done' && row.reason === 'over-quota'
  const left = isUnderWay || isCutOff ? leftOf(row, queued) : 0
  const isMoving = isUnderWay && row.paused_at === null && lately > 0 && seconds > 0
  const perSecond = isMoving ? lately / seconds : null
  return {
    ...row,
    paused_at: row.paused_at?.toISOString() ?? null,
    started_at: row.started_at.toISOString(),
    ended_at: row.ended_at?.toISOString() ?? null,
    left,
    pages_per_second: perSecond === null ? null : Math.round(perSecond * 100) / 100,
    seconds_left: perSecond === null || left === null ? null : Math.round(left / perSecond),
  }
}

/** An estimate from `known` while paths are queued; exact afterwards. */
function leftOf(
  {
    state,
    known,
    done,
    failed,
    forbidden,
    passed,
    redirected,
    fresh,
  }: Omit<Row, 'queued' | 'lately' | 'lately_seconds'>,
  queued: number,
): number | null {
  if (state === 'reading') return null
  const all =
    state === 'queueing' ? Math.max(queued, known - forbidden - passed - redirected - fresh) : queued
  return Math.max(0, all - done - failed)
}

export const IS_WARMING = `exists (select from warm where domain_id = $1 and state in ${UNDER_WAY} and paused_at is null)`

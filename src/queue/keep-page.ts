import type pg from 'pg'

import { utcDay, utcMonth } from '../accounts/month.ts'
import { type PlanCatalogue, planNamed } from '../accounts/plans.ts'
import type { Clock } from '../clock.ts'
import { retried } from '../db/retried-transaction.ts'
import type { StoredPage } from '../pages/stored-page.ts'
import type { ClaimedJob } from './claim.ts'
import { doubtOf } from './doubt.ts'
import type { Effect } from './effect.ts'
import type { JobOutcome } from './job.ts'
import { type LastGoodRow, lastGoodFrom } from './last-good.ts'
import { type Finding, type Look, type Soft404, soft404Of } from './soft-404.ts'
import { readStatement } from './statement.ts'

type Page = Extract<Effect, { do: 'store-page' }>
/** `probed`: which probe `soft404` goes by. */
type Judging = { probed: string | null; soft404: Soft404 | null; last: LastGoodRow }
type JudgingRow = LastGoodRow & { probed: string | null; finding: Finding | null }

/** What came of a page that was rendered and looked at. */
export type Kept =
  /** It is stored and the job has ended; `page` null: what was stored has only got a longer life. */
  | { kept: 'stored'; page: StoredPage | null }
  /** It is not to be stored; the job has not ended yet. */
  | { kept: 'refused'; outcome: JobOutcome; detail: string; isDoubted: boolean }
  /** The job was taken away, or is superseded: nothing happened. */
  | { kept: 'nothing' }

export type PageKeeper = {
  /** What its page is judged by, as far as that is known already; may be asked while it is still being made. */
  judging(job: ClaimedJob, look: Look | null): Promise<Judging | null>
  /** Stores a page in the place of the last good copy, unless it is worse than that, reads like none, or the month has no room. */
  keep(job: ClaimedJob, page: Page, judging: Judging | null): Promise<Kept>
}

/** A site is probed at most every some minutes. */
const LOOKS = 5

/** The two statements in which nearly every render ends. A crawler waits for them: see docs/decisions/0027-a-miss-beside-its-render.md. */
export function createPageKeeper(deps: { pool: pg.Pool; plans: PlanCatalogue; clock: Clock }): PageKeeper {
  const { pool, plans, clock } = deps
  const sql = { judgedBy: readStatement('judged-by'), keep: readStatement('keep-page') }

  async function judging({ domain, path }: ClaimedJob, look: Look | null): Promise<Judging | null> {
    const { rows } = await pool.query<JudgingRow>({
      ...sql.judgedBy,
      values: [domain, path, path !== '/'],
    })
    const row = rows[0]
    if (row === undefined) return null
    return { probed: row.probed, soft404: soft404Of(row.finding, look), last: row }
  }

  async function keep(job: ClaimedJob, page: Page, first: Judging | null): Promise<Kept> {
    let known = first
    for (let look = 1; look <= LOOKS; look++) {
      // The domain is gone, and the job with it.
      if (known === null) return { kept: 'nothing' }
      const at = new Date(clock.nowMs())
      const refusal = known.soft404 ?? doubtOf(page, lastGoodFrom(known.last), at.getTime())
      if (refusal !== null) {
        return { kept: 'refused', ...refusal, isDoubted: refusal.outcome !== 'soft-404' }
      }
      const kept = await store(job, page, known.probed, at)
      if (kept !== 'look-again') return kept
      known = await judging(job, page.look)
    }
    throw new Error('a page could not be judged')
  }

  async function store(
    job: ClaimedJob,
    page: Page,
    probed: string | null,
    at: Date,
  ): Promise<Kept | 'look-again'> {
    const { status, headers, body, textChars, application } = page
    const nowMs = at.getTime()
    const limit = planNamed(plans, job.plan).monthly_render_limit
    const ours = [job.id, job.node, job.attempts, probed, utcMonth(nowMs), limit, utcDay(nowMs)]
    const stored = [status, JSON.stringify(headers), body.bodyBr, body.htmlBytes, body.etag, at]
    const { rows } = await retried(() =>
      pool.query<{ superseded: boolean; is_judged: boolean; unchanged: boolean | null }>({
        ...sql.keep,
        values: [...ours, ...stored, textChars, application],
      }),
    )
    const row = rows[0]
    if (row === undefined || row.superseded) return { kept: 'nothing' }
    if (!row.is_judged) return 'look-again'
    if (row.unchanged === null)
      return { kept: 'refused', outcome: 'over-quota', detail: '', isDoubted: false }
    if (row.unchanged) return { kept: 'stored', page: null }
    const times = { renderedAtMs: nowMs, changedAtMs: nowMs, staleSinceMs: null }
    return { kept: 'stored', page: { kind: 'page', status, headers, ...body, ...times } }
  }

  return { judging, keep }
}

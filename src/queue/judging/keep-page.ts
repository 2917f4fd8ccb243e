import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'
import type pg from 'pg'
import { type PlanCatalogue, planNamed } from '../../accounts/plans.ts'
import { type Clock, utcDay, utcMonth } from '../../clock.ts'
import { retried } from '../../db/transaction.ts'
import type { StoredPage } from '../../store/stored-page.ts'
import type { ClaimedJob } from '../jobs/claim.ts'
import type { JobOutcome } from '../jobs/job.ts'
import { readStatement } from '../statement.ts'
import type { Effect } from './effect.ts'
import { type LastGood, type LastGoodRow, lastGoodFrom } from './last-good.ts'
import { type Finding, type Look, type Soft404, soft404Of } from './soft-404.ts'

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

type PageKeeper = {
  /** What its page is judged by, as far as that is known already; may be asked while it is still being made. */
  judging(job: ClaimedJob, look: Look | null): Promise<Judging | null>
  /** Stores a page in the place of the last good copy, unless it is worse than that, reads like none, or the month has no room. */
  keep(job: ClaimedJob, page: Page, judging: Judging | null): Promise<Kept>
}

/** A site is probed at most every some minutes. */
const LOOKS = 5

/** The two statements in which nearly every render ends. A crawler waits for them: see docs/decisions/0005-queue.md. */
export function createPageKeeper(deps: { pool: pg.Pool; plans: PlanCatalogue; clock: Clock }): PageKeeper {
  const { pool, plans, clock } = deps
  const sql = { judgedBy: readStatement('judged-by'), keep: readStatement('keep-page') }

  async function judging({ page: { domain, path } }: ClaimedJob, look: Look | null): Promise<Judging | null> {
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

const compress = promisify(brotliCompress)

/** A snapshot as it is stored and served. `etag`: without quotes; equal content, equal etag. */
export type PageBody = { bodyBr: Buffer; bodyHtml: Buffer; htmlBytes: number; etag: string }

/**
 * Quality 5: 231 kB of HTML in 3.4 ms to 34 kB; gzip 6 takes 3.2 ms to 41 kB,
 * quality 11 takes 251 ms to 26 kB. On a thread of its own.
 */
export async function pageBody(html: string): Promise<PageBody> {
  const bytes = Buffer.from(html, 'utf8')
  const bodyBr = await compress(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 5,
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  })
  const etag = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
  return { bodyBr, bodyHtml: bytes, htmlBytes: bytes.length, etag }
}

/** Why a sound render does not take the place of the last good copy. */
type Doubt = { outcome: Extract<JobOutcome, 'shrunk' | 'origin-error'>; detail: string }

/** What is compared: the status, and how many characters there are to read. */
type Extent = { status: number; textChars: number }

/** A new render with less than a third of the text is doubted ... */
const SHRINK = 3
/** ... unless the last good copy had little to say itself. */
export const SHRINK_FROM_CHARS = 600
/** Doubted again so long after the first time, a page has really changed. A deploy or an outage is over by then. */
export const DOUBT_MS = 5 * 60_000

/**
 * Whether a render is far worse than the last good copy, as with a back end
 * that is down behind a front end that is up. What is seen a second time, at
 * least `DOUBT_MS` later and with nothing better between, is believed, and so is
 * anything once the copy is past its keep time. 404 and 410 are believed at once.
 */
export function doubtOf(fresh: Extent, last: LastGood | null, nowMs: number): Doubt | null {
  if (last === null || last.status >= 300 || nowMs - last.renderedAtMs >= last.keepMs) return null
  if (last.doubtedAtMs !== null && nowMs - last.doubtedAtMs >= DOUBT_MS) return null
  if (fresh.status === 404 || fresh.status === 410) return null
  if (fresh.status >= 400) {
    return {
      outcome: 'origin-error',
      detail: `status ${fresh.status}; the last good copy has ${last.status}`,
    }
  }
  const { textChars } = last
  if (textChars === null || textChars < SHRINK_FROM_CHARS || fresh.textChars * SHRINK >= textChars)
    return null
  const detail = `${fresh.textChars} characters of text; the last good copy has ${textChars}`
  return { outcome: 'shrunk', detail }
}

import type pg from 'pg'
import { deleteInSteps, type Steps } from '../remove-old.ts'
import type { Queryable } from '../transaction.ts'

/**
 * At most `most` uses in `withinMs`. `sliding`: in any time of that length. `fixed`: in a window that begins with the first
 * use after the last window. `what` names the limit in the table.
 */
export type RateLimit = { what: string; most: number; withinMs: number; window: 'sliding' | 'fixed' }

/** `count`: 1 by default. Without `nowMs`, PostgreSQL's clock counts. */
type Use = { count?: number; nowMs?: number }

/** How long the client waits for its oldest use to count no more, at least a millisecond; in seconds in the header. */
export type Refusal = { waitMs: number; headers: { 'Retry-After': string } }

/** `$4` milliseconds. */
const WITHIN = `$4::float8 * interval '1 millisecond'`
const NOW = `coalesce($5::timestamptz, clock_timestamp())`

/** The uses of the row `r` that still count. */
const COUNTED = {
  sliding: `array(select at from unnest(r.moments) at where at > ${NOW} - ${WITHIN} order by at)`,
  // No use, for one was given back: `moments[1]` is null, and a new window begins.
  fixed: `case when r.moments[1] > ${NOW} - ${WITHIN} then r.moments else '{}' end`,
}

const ENDS = {
  sliding: `${NOW} + ${WITHIN}`,
  fixed: `case when r.moments[1] > ${NOW} - ${WITHIN} then r.ends_at else ${NOW} + ${WITHIN} end`,
}

// Waits for a locked row and sees its new values, so exactly `most` of concurrent uses pass. A refusal writes nothing.
const take = (window: RateLimit['window']) => `
  insert into rate as r (subject, what, moments, ends_at)
  select $1, $2, array_fill(${NOW}, array[$6::integer]), ${NOW} + ${WITHIN} where $6 <= $3::integer
  on conflict (subject, what) do update set
    moments = ${COUNTED[window]} || array_fill(${NOW}, array[$6::integer]),
    ends_at = ${ENDS[window]}
    where cardinality(${COUNTED[window]}) + $6 <= $3`

/** A rate limit of each subject, counted over all nodes. */
export class Rate {
  readonly #limit: RateLimit

  constructor(limit: RateLimit) {
    this.#limit = limit
  }

  /**
   * Counts uses, and returns null. At the limit it counts nothing and returns how long to wait. In a transaction, uses of the
   * same subject wait for its end, and a rollback takes them back.
   */
  async take(db: Queryable, subject: string, { count = 1, nowMs }: Use = {}): Promise<Refusal | null> {
    const { what, most, withinMs, window } = this.#limit
    const now = nowMs === undefined ? null : new Date(nowMs)
    const { rowCount } = await db.query({
      name: `rate-take-${window}`,
      text: take(window),
      values: [subject, what, most, withinMs, now, count],
    })
    if (rowCount === 1) return null
    const { rows } = await db.query<{ wait_ms: number | null }>({
      name: 'rate-wait',
      text: `select (extract(epoch from min(at) + $3::float8 * interval '1 millisecond'
                            - coalesce($4::timestamptz, clock_timestamp())) * 1000)::float8 as wait_ms
               from rate r, unnest(r.moments) at
              where r.subject = $1 and r.what = $2
                and at > coalesce($4::timestamptz, clock_timestamp()) - $3::float8 * interval '1 millisecond'`,
      values: [subject, what, withinMs, now],
    })
    const waitMs = Math.max(1, rows[0]?.wait_ms ?? 1)
    return { waitMs, headers: { 'Retry-After': String(Math.ceil(waitMs / 1_000)) } }
  }

  /** Takes back the last use, if it still stands there. */
  async giveBack(db: Queryable, subject: string): Promise<void> {
    await db.query(
      `update rate set moments = moments[:cardinality(moments) - 1]
        where subject = $1 and what = $2 and cardinality(moments) > 0`,
      [subject, this.#limit.what],
    )
  }
}

/** Keeps rows that may count by another node's clock for so long. */
const KEPT_MINUTES = 15

/** Anyone can make rows: sign-ins count invented e-mails. */
export function removeOldRates(pool: pg.Pool, steps?: Steps): Promise<number> {
  return deleteInSteps(
    pool,
    `with old as materialized (
       select subject, what from rate where ends_at < now() - make_interval(mins => $2)
        order by ends_at limit $1 for update skip locked)
     delete from rate r using old where r.subject = old.subject and r.what = old.what`,
    [KEPT_MINUTES],
    steps,
  )
}

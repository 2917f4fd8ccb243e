import type pg from 'pg'
import { DELETE_MS } from './body-store.ts'
import { requireStore } from './check.ts'
import { DeletionSize, type S3Client, StoreUnreachable } from './s3-client.ts'

/** A node that has read a row before its body was replaced has this long to ask for the body. */
export const CONDEMNED_SECONDS = 3_600

export type Swept = { deleted: number; failed: number }

type SweepOptions = {
  minAgeSeconds?: number
  signal?: AbortSignal
  /** Give the same to each sweep of a store. */
  size?: DeletionSize
}

// A row that a statement takes for its page is locked until it is deleted. One whose time has come cannot be taken any more.
// PostgreSQL follows the index body_gone_at: the time does not change during the statement, and rows are sorted by the column. It has
// no name, because a plan that is kept would be one for the length that the list had.
export const DUE = `
  select key, at::text as at_text from body_gone
   where at <= statement_timestamp() - make_interval(secs => $1) and (at, key) > ($2::timestamptz, $3)
   order by at, key limit $4 for update skip locked`

/**
 * Deletes the objects of keys that were condemned `minAgeSeconds` ago, a thousand a request, and fewer if the store is late. What
 * the store does not delete stays condemned and counts as failed; if it does not answer, so does all that is left. Throws
 * BodiesRefused if the store is another one.
 */
export async function sweepBodies(
  pool: pg.Pool,
  client: S3Client,
  { minAgeSeconds = CONDEMNED_SECONDS, signal, size = new DeletionSize() }: SweepOptions = {},
): Promise<Swept> {
  const swept: Swept = { deleted: 0, failed: 0 }
  try {
    await requireStore(pool, client)
  } catch (error) {
    if (!(error instanceof StoreUnreachable)) throw error
    return { deleted: 0, failed: await countDue(pool, minAgeSeconds) }
  }
  let after = { at_text: '-infinity', key: '' }
  while (signal?.aborted !== true) {
    const { rows } = await pool.query<{ key: string; at_text: string }>(DUE, [
      minAgeSeconds,
      after.at_text,
      after.key,
      size.keys,
    ])
    const last = rows.at(-1)
    if (last === undefined) break
    const keys = rows.map(({ key }) => key)
    let failed: Set<string>
    try {
      failed = await client.deleteAll(keys, DELETE_MS)
    } catch (error) {
      if (error instanceof StoreUnreachable && error.isLate && size.wasLate(keys.length)) continue
      swept.failed += await countDue(pool, minAgeSeconds)
      return swept
    }
    size.worked()
    after = last
    const gone = keys.filter((key) => !failed.has(key))
    await pool.query('delete from body_gone where key = any($1::text[])', [gone])
    swept.deleted += gone.length
    swept.failed += failed.size
  }
  return swept
}

async function countDue(pool: pg.Pool, minAgeSeconds: number): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    'select count(*)::integer as count from body_gone where at <= clock_timestamp() - make_interval(secs => $1)',
    [minAgeSeconds],
  )
  return rows[0]!.count
}

import type pg from 'pg'

import type { Queryable } from '../db/transaction.ts'
import type { JobId } from '../ids.ts'

/** Writes at a job which live request it was queued for; who joined it later is not written. */
export async function noteRequest(db: Queryable, job: JobId, requestId: string): Promise<void> {
  await db.query({
    name: 'queue-note-request',
    text: 'update job set request_id = $2 where id = $1 and request_id is null',
    values: [job, requestId],
  })
}

/** For the log: undefined for a job that no live request is known of. Never rejects. */
export function createRequestOf(pool: pg.Pool): (job: JobId) => Promise<string | undefined> {
  return async (job) => {
    const found = pool.query<{ request_id: string | null }>({
      name: 'queue-request-of',
      text: 'select request_id from job where id = $1',
      values: [job],
    })
    return found.then(
      ({ rows }) => rows[0]?.request_id ?? undefined,
      () => undefined,
    )
  }
}

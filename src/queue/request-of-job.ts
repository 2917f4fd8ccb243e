import type pg from 'pg'

import type { JobId } from '../ids.ts'

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

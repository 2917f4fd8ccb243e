import type { Queryable } from '../db/transaction.ts'
import type { DomainId } from '../ids.ts'
import { IS_WARMING } from './warm-progress.ts'

/** Where the jobs of a domain stand. */
export type Progress = {
  queued: number
  running: number
  /** Ended since the moment asked about, however. */
  ended: number
  /** A full warm goes on: more jobs will be queued. */
  warming: boolean
}

/** `since`: by the clock of the database, see `databaseNow`. The domain id was obtained through its account. */
export async function readProgress(db: Queryable, domain: DomainId, since: Date): Promise<Progress> {
  const { rows } = await db.query<Progress>(
    `select (select count(*)::int from job where domain_id = $1 and state = 'queued') as queued,
            (select count(*)::int from job where domain_id = $1 and state = 'running') as running,
            (select count(*)::int from job where domain_id = $1 and finished_at >= $2) as ended,
            ${IS_WARMING} as warming`,
    [domain, since],
  )
  return rows[0]!
}

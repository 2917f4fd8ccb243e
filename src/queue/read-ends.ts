import type { Queryable } from '../db/transaction.ts'
import type { JobId } from '../ids.ts'
import type { JobEnd } from './job.ts'

const READ = {
  name: 'queue-read-ends',
  text: `select asked.id, j.state, j.outcome
           from unnest($1::uuid[]) as asked(id) left join job j on j.id = asked.id
          where j.id is null or j.state not in ('queued', 'running')`,
}

type Row = { id: JobId } & (JobEnd | { state: null; outcome: null })

/** Those of the jobs that have ended, and how. A job that is gone went with its domain. */
export async function readEnds(db: Queryable, ids: readonly JobId[]): Promise<[JobId, JobEnd][]> {
  const { rows } = await db.query<Row>({ ...READ, values: [ids] })
  return rows.map(({ id, state, outcome }) => [
    id,
    state === null ? { state: 'cancelled', outcome: 'domain-gone' } : { state, outcome },
  ])
}

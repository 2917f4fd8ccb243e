import type { DomainId } from '@prepaint/contract/ids.ts'
import type { JobState, JobView } from '@prepaint/contract/outcome/job.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { IS_WARMING } from '../warm/warm-progress.ts'
import { JOB_COLUMNS, type JobRow, jobView } from './find-job.ts'

// For operators only: jobs of every account.

/**
 * A list of all domains reads so many ended jobs: a large fleet has tens of millions a week. A list of one domain reads all.
 */
export const ENDED_READ = 100_000

export type JobsWanted = {
  domain: DomainId | null
  state: JobState | null
  limit: number
}

const OPEN: readonly JobState[] = ['queued', 'running']
const COLUMNS = 'id, domain_id, path, variant, is_both, priority, state, outcome, created_at, finished_at'

/** Lists jobs, newest first. */
export async function listJobs(
  db: Queryable,
  { domain, state, limit }: JobsWanted,
  endedRead: number = ENDED_READ,
): Promise<JobView[]> {
  const from = domain === null ? ofAllDomains(state, endedRead) : 'every_job'
  // Join domains last: joining all rows took as long as the rest of the query.
  const { rows } = await db.query<JobRow>(
    `select ${JOB_COLUMNS}
       from (select ${COLUMNS} from ${from}
              where ($1::integer is null or domain_id = $1) and ($2::text is null or state = $2)
              order by created_at desc, id limit $3) j
       join domain d on d.id = j.domain_id
      order by j.created_at desc, j.id`,
    [domain, state, limit],
  )
  return rows.map(jobView)
}

/** `isWhole` is false if only the last ended jobs were counted. */
export async function countJobs(
  db: Queryable,
  domain: DomainId | null,
  endedRead: number = ENDED_READ,
): Promise<{ counts: Record<JobState, number>; isWhole: boolean }> {
  const { rows } = await db.query<{ state: JobState; count: number }>(
    domain === null ? countsOfAllDomains(endedRead) : COUNTS_OF_DOMAIN,
    domain === null ? [] : [domain],
  )
  const counts = { queued: 0, running: 0, done: 0, failed: 0, cancelled: 0 }
  for (const { state, count } of rows) counts[state] = count
  const { done, failed, cancelled } = counts
  if (domain !== null || done + failed + cancelled < endedRead) return { counts, isWhole: true }
  const { rowCount: more } = await db.query(
    'select from every_job where finished_at is not null order by finished_at desc offset $1 limit 1',
    [endedRead],
  )
  return { counts, isWhole: more === 0 }
}

const COUNTS_OF_DOMAIN =
  'select state, count(*)::int as count from every_job where domain_id = $1 group by state'

function countsOfAllDomains(endedRead: number): string {
  const open = OPEN.map(
    (each) => `select '${each}' as state, count(*)::int as count from job where state = '${each}'`,
  )
  const ended = `select state, count(*)::int from ${lastEnded('state', endedRead)} group by state`
  return [...open, ended].join(' union all ')
}

function ofAllDomains(state: JobState | null, endedRead: number): string {
  if (state !== null) return OPEN.includes(state) ? 'job' : lastEnded(COLUMNS, endedRead)
  const open = OPEN.map((each) => `select ${COLUMNS} from job where state = '${each}'`)
  return `(${[...open, `select ${COLUMNS} from ${lastEnded(COLUMNS, endedRead)}`].join(' union all ')}) read_jobs`
}

function lastEnded(columns: string, endedRead: number): string {
  return `(select ${columns} from every_job where finished_at is not null order by finished_at desc limit ${endedRead}) ended`
}

export type Progress = {
  queued: number
  running: number
  ended: number
  /** It will queue more jobs. */
  warming: boolean
}

/** `since` is a time of the database's clock, see `databaseNow`. */
export async function readProgress(db: Queryable, domain: DomainId, since: Date): Promise<Progress> {
  const { rows } = await db.query<Progress>(
    `select (select count(*)::int from job where domain_id = $1 and state = 'queued') as queued,
            (select count(*)::int from job where domain_id = $1 and state = 'running') as running,
            (select count(*)::int from every_job where domain_id = $1 and finished_at >= $2) as ended,
            ${IS_WARMING} as warming`,
    [domain, since],
  )
  return rows[0]!
}

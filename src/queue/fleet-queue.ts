import type { Queryable } from '../db/transaction.ts'
import type { DomainName, JobId } from '../ids.ts'
import { PRIORITIES, type Priority } from './job.ts'
import { withoutQuery } from './without-query.ts'

// All of this is about every account, and for operators only. Of addresses, what stands behind `?` is left out:
// people are sent links with all they need to be believed.

/** More than this of one priority is not counted: a look at a long queue must stay cheap. */
export const COUNTED_AT_MOST = 100_000
const RUNNING_SHOWN = 200
const DOMAINS_SHOWN = 20

export type FleetQueue = {
  /** `queued`: at most `COUNTED_AT_MOST` are counted. `oldest_seconds`: how long the first in line has waited. */
  priorities: { priority: Priority; queued: number; oldest_seconds: number }[]
  running: RunningJob[]
  /** Domains whose first job has waited longest. */
  waiting: { domain: DomainName; priority: Priority; queued: number; waiting_seconds: number }[]
}

export type RunningJob = {
  jobId: JobId
  domain: DomainName
  path: string
  priority: Priority
  /** As the list of nodes has it. */
  node: string
  running_seconds: number
  attempts: number
}

/** The queue as it stands. Three statements, each bounded. */
export async function readFleetQueue(db: Queryable): Promise<FleetQueue> {
  const { rows: priorities } = await db.query<{ number: number; queued: number; oldest: number }>(
    `select p.number,
            (select count(*)::int from (select from job where state = 'queued' and priority = p.number limit $1) j) as queued,
            coalesce((select extract(epoch from clock_timestamp() - created_at)::float8 from job
                       where state = 'queued' and priority = p.number and run_at <= now()
                       order by turn, id limit 1), 0) as oldest
       from (values (0), (1), (2)) as p (number) order by p.number`,
    [COUNTED_AT_MOST],
  )
  const { rows: running } = await db.query<
    Omit<RunningJob, 'jobId' | 'domain' | 'priority'> & {
      id: JobId
      custom_domain: DomainName
      priority: number
    }
  >(
    `select j.id, d.custom_domain, j.path, j.priority, coalesce(j.node, '') as node, j.attempts,
            extract(epoch from clock_timestamp() - j.started_at)::float8 as running_seconds
       from job j join domain d on d.id = j.domain_id
      where j.state = 'running' order by j.started_at limit $1`,
    [RUNNING_SHOWN],
  )
  // The first of each line is read off `job_line`; a queue of a million rows is not sorted for it.
  const { rows: waiting } = await db.query<{
    custom_domain: DomainName
    priority: number
    queued: number
    waiting: number
  }>(
    `select d.custom_domain, line.priority, line.queued, extract(epoch from clock_timestamp() - line.since)::float8 as waiting
       from (select domain_id, min(priority) as priority, count(*)::int as queued, min(created_at) as since
               from (select domain_id, priority, created_at from job where state = 'queued'
                      order by priority, turn, id limit $1) head
              group by domain_id order by since limit $2) line
       join domain d on d.id = line.domain_id
      order by line.since`,
    [COUNTED_AT_MOST, DOMAINS_SHOWN],
  )
  return {
    priorities: priorities.map(({ number, queued, oldest }) => ({
      priority: priorityOf(number),
      queued,
      oldest_seconds: seconds(oldest),
    })),
    running: running.map(({ id, custom_domain, priority, path, running_seconds, ...job }) => ({
      jobId: id,
      domain: custom_domain,
      path: withoutQuery(path),
      priority: priorityOf(priority),
      running_seconds: seconds(running_seconds),
      ...job,
    })),
    waiting: waiting.map(({ custom_domain, priority, queued, waiting: since }) => ({
      domain: custom_domain,
      priority: priorityOf(priority),
      queued,
      waiting_seconds: seconds(since),
    })),
  }
}

function priorityOf(number: number): Priority {
  return PRIORITIES[number] ?? 'warm'
}

function seconds(value: number): number {
  return Math.max(0, Math.round(value * 10) / 10)
}

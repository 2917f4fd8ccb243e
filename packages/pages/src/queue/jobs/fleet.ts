import type { DomainName, JobId } from '@prepaint/contract/ids.ts'
import { PRIORITIES, type Priority } from '@prepaint/contract/outcome/job.ts'
import type { PageVariant } from '@prepaint/contract/page/page-id.ts'
import { readTaskKinds } from '@prepaint/postgres/tasks'
import type { Queryable } from '@prepaint/postgres/transaction.ts'

// For operators only: data of every account. Query strings are removed: they can contain secrets.

/** Counting stops here to stay cheap. */
const COUNTED_AT_MOST = 100_000
const RUNNING_SHOWN = 200
const DOMAINS_SHOWN = 20

export type FleetQueue = {
  /** `queued`: at most `COUNTED_AT_MOST`. */
  priorities: { priority: Priority; queued: number; oldest_seconds: number }[]
  running: RunningJob[]
  waiting: { domain: DomainName; priority: Priority; queued: number; waiting_seconds: number }[]
  tasks: { kind: string; waiting: number; running: number; failing: number; oldest_seconds: number }[]
}

type RunningJob = {
  jobId: JobId
  domain: DomainName
  path: string
  /** Null for a job of both variants. */
  variant: PageVariant | null
  priority: Priority
  node: string
  running_seconds: number
  attempts: number
}

type RunningRow = {
  id: JobId
  custom_domain: DomainName
  path: string
  variant: PageVariant | null
  priority: number
  node: string
  attempts: number
  running_seconds: number
}

export async function readFleetQueue(db: Queryable): Promise<FleetQueue> {
  const { rows: priorities } = await db.query<{ number: number; queued: number; oldest: number }>(
    `select p.number,
            (select count(*)::int from (select from job where state = 'queued' and priority = p.number limit $1) j) as queued,
            coalesce((select extract(epoch from clock_timestamp() - created_at)::float8 from job
                       where state = 'queued' and priority = p.number and run_at <= now()
                       order by created_at limit 1), 0) as oldest
       from (values (0), (1), (2)) as p (number) order by p.number`,
    [COUNTED_AT_MOST],
  )
  const { rows: running } = await db.query<RunningRow>(
    `select j.id, d.custom_domain, j.path, case when not j.is_both then j.variant end as variant, j.priority, coalesce(j.node, '') as node, j.attempts,
            extract(epoch from clock_timestamp() - j.started_at)::float8 as running_seconds
       from job j join domain d on d.id = j.domain_id
      where j.state = 'running' order by j.started_at limit $1`,
    [RUNNING_SHOWN],
  )
  // In the order of the index `job_age`, so that a queue of a million rows is not sorted.
  const { rows: waiting } = await db.query<{
    custom_domain: DomainName
    priority: number
    queued: number
    waiting: number
  }>(
    `select d.custom_domain, line.priority, line.queued, extract(epoch from clock_timestamp() - line.since)::float8 as waiting
       from (select domain_id, min(priority) as priority, count(*)::int as queued, min(created_at) as since
               from (select domain_id, priority, created_at from job where state = 'queued'
                      order by priority, created_at limit $1) head
              group by domain_id order by since limit $2) line
       join domain d on d.id = line.domain_id
      order by line.since`,
    [COUNTED_AT_MOST, DOMAINS_SHOWN],
  )
  const tasks = await readTaskKinds(db)
  return {
    tasks: tasks.map(({ oldestSeconds, ...kind }) => ({ ...kind, oldest_seconds: seconds(oldestSeconds) })),
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

/** Only the last renders are read, to stay cheap. */
const RENDERS_READ = 20_000
const GROUPS_SHOWN = 100
const LAST_SHOWN = 50
const REASON_CHARS = 200

const GOOD = ['rendered', 'static', 'redirect', 'probed', 'tried']

export type FleetFailures = {
  since: string | null
  renders: number
  failed: number
  groups: { outcome: string; domain: DomainName; account: string; failed: number; last_at: string }[]
  /** Newest first. */
  last: { outcome: string; reason: string | null; domain: DomainName; path: string; ended_at: string }[]
}

export async function readFleetFailures(db: Queryable): Promise<FleetFailures> {
  const { rows: sums } = await db.query<{ since: Date | null; renders: number; failed: number }>(
    `select min(ended_at) as since, count(*)::int as renders, count(*) filter (where outcome <> all ($2))::int as failed
       from (select ended_at, outcome from render_record where is_page_path(path) order by ended_at desc limit $1) last_renders`,
    [RENDERS_READ, GOOD],
  )
  const { since = null, renders = 0, failed = 0 } = sums[0] ?? {}
  const { rows: groups } = await db.query<{
    outcome: string
    custom_domain: DomainName
    email: string
    failed: number
    last_at: Date
  }>(
    `select r.outcome, d.custom_domain, a.email, count(*)::int as failed, max(r.ended_at) as last_at
       from (select domain_id, outcome, ended_at from render_record where is_page_path(path) order by ended_at desc limit $1) r
       join domain d on d.id = r.domain_id
       join account a on a.id = d.account_id
      where r.outcome <> all ($2)
      group by 1, 2, 3 order by failed desc, last_at desc limit $3`,
    [RENDERS_READ, GOOD, GROUPS_SHOWN],
  )
  const { rows: last } = await db.query<{
    outcome: string
    detail: string | null
    custom_domain: DomainName
    path: string
    ended_at: Date
  }>(
    `select r.outcome, r.detail, d.custom_domain, r.path, r.ended_at
       from (select id, domain_id, outcome, detail, path, ended_at from render_record where is_page_path(path) order by ended_at desc limit $1) r
       join domain d on d.id = r.domain_id
      where r.outcome <> all ($2) order by r.ended_at desc, r.id desc limit $3`,
    [RENDERS_READ, GOOD, LAST_SHOWN],
  )
  return {
    since: since?.toISOString() ?? null,
    renders,
    failed,
    groups: groups.map(({ custom_domain, email, last_at, ...group }) => ({
      ...group,
      domain: custom_domain,
      account: email,
      last_at: last_at.toISOString(),
    })),
    last: last.map(({ custom_domain, detail, path, ended_at, outcome }) => ({
      outcome,
      reason: detail === null ? null : withoutQuery(detail).slice(0, REASON_CHARS),
      domain: custom_domain,
      path: withoutQuery(path),
      ended_at: ended_at.toISOString(),
    })),
  }
}

/** `/a?token=x` becomes `/a?…`, also inside a text. */
function withoutQuery(text: string): string {
  return text.replace(/\?[^\s"'<>]+/g, '?…')
}

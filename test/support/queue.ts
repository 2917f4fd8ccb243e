import { randomUUID } from 'node:crypto'
import { after, beforeEach } from 'node:test'
import type { AccountId, DomainId, PagePath } from '@prepaint/contract/ids.ts'
import type { Priority } from '@prepaint/contract/outcome/job.ts'
import type { RenderOutcome } from '@prepaint/contract/outcome/outcome.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { DEFAULT_PLANS, type PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import type { Ended } from '@prepaint/pages/queue/jobs/await.ts'
import { enqueue } from '@prepaint/pages/queue/jobs/enqueue.ts'
import type { SiteWatch } from '@prepaint/pages/queue/judging/prober.ts'
import type { RenderView } from '@prepaint/pages/queue/judging/render-records.ts'
import { BodyStore } from '@prepaint/pages/store/bodies/body-store.ts'
import { deletePages, type PurgeWhat } from '@prepaint/pages/store/purge.ts'
import { readStored } from '@prepaint/pages/store/stored-page.ts'
import { createListener, type Listener } from '@prepaint/postgres/listener.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { type Clock, systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { AfterRender } from '../../packages/pages/src/queue/jobs/after-render.ts'
import { type ClaimedJob, Claims } from '../../packages/pages/src/queue/jobs/claim.ts'
import { JobCompleter } from '../../packages/pages/src/queue/jobs/complete.ts'
import { Notices } from '../../packages/pages/src/queue/jobs/notices.ts'
import { type RunJobParts, runJob } from '../../packages/pages/src/queue/jobs/run-job.ts'
import { insertDomain, testDatabase } from './database.ts'
import { readOutcome, type UnreadFound } from './outcome.ts'

/** Paths that need no normalising. */
export function paths(count: number, prefix = '/p'): PagePath[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}` as PagePath)
}

export const HOME = '/' as PagePath

export const RENDERED: RenderOutcome = readOutcome({
  kind: 'rendered',
  status: 200,
  headers: [['content-type', 'text/html']],
  html: '<!doctype html><h1>rendered</h1>',
})

export const pathsOf = (jobs: readonly ClaimedJob[]) => jobs.map(({ page }) => page.path)

/** The chosen fields of each row. */
export const columns = <T, K extends keyof T>(rows: readonly T[], ...keys: K[]) =>
  rows.map((row) => keys.map((key) => row[key]))

type TestQueue = Awaited<ReturnType<typeof testQueue>>

type JobRow = {
  path: string
  state: string
  outcome: string | null
  priority: number
  superseded: boolean
  faults: number
}

export async function testQueue() {
  const database = await testDatabase()
  const { pool, column } = database
  const none = BodyStore.none(pool, silentLog())
  let count = 0
  /** Claims as one node with many slots, until no other claim has kept it from a job. */
  const claim = async ({
    node = randomUUID() as string,
    slots = 100,
    backgroundSlots = null as number | null,
    cap = 100,
    accountCap = 100,
    occupied = [] as AccountId[],
    plain = [] as DomainId[],
  } = {}) => {
    const caps = { accountCap, domainCap: cap, domainBackgroundCap: cap }
    const rules = { ...caps, leaseMs: 60_000, liveWaitMs: 10_000 }
    const claims = new Claims(pool, DEFAULT_PLANS, node, rules)
    const jobs: ClaimedJob[] = []
    for (;;) {
      const leads = jobs.filter(({ id, lead }) => id === lead)
      const background = leads.filter(({ priority }) => priority !== 'live')
      const free = {
        slots: slots - leads.length,
        backgroundSlots: (backgroundSlots ?? slots) - background.length,
        occupied: [...occupied, ...leads.map(({ account }) => account)],
        plain,
      }
      const { claimed, isMore } = await claims.claim(free, systemClock.nowMs())
      jobs.push(...claimed)
      if (!isMore) return jobs
    }
  }
  /** Ends jobs as a worker does, with other plans or another clock. */
  const completer = (
    options: {
      plans?: PlanCatalogue
      clock?: Clock
      ended?: Ended
      notices?: Notices
      bodies?: BodyStore
    } = {},
  ) => {
    const { plans = DEFAULT_PLANS, clock = systemClock, ended, bodies = none } = options
    const { notices = new Notices(pool, silentLog()) } = options
    const jobs = new JobCompleter(pool, plans, clock, notices, bodies, ended)
    return (job: ClaimedJob, found: UnreadFound) => jobs.complete(job, readOutcome(found))
  }
  return {
    ...database,
    domain: (of: { plan?: string; active?: boolean; account?: AccountId } = {}) =>
      insertDomain(pool, `d${++count}.example`, {
        plan: 'enterprise',
        originUrl: 'http://127.0.0.1:1',
        ...of,
      }),
    accountOf: async (domain: DomainId) =>
      (await column<AccountId>('select account_id from domain where id = $1', domain))[0]!,
    claim,
    bodies: none,
    complete: completer(),
    completer,
    /** Queues a page and claims what is first. */
    async running(domain: DomainId, path = '/', priority: Priority = 'live'): Promise<ClaimedJob> {
      await enqueue(pool, domain, [path as PagePath], priority)
      const [job] = await claim()
      return job!
    },
    set: (domain: DomainId, settings: object) =>
      pool.query('update domain set settings = $2 where id = $1', [domain, settings]),
    /** Counts so many more waiting warm jobs for the domain, which no list has. Fewer, if `jobs` is negative. */
    countWaiting: (domain: DomainId, jobs: number) =>
      pool.query(
        `insert into queue_waiting (priority, account_id, domain_id, waiting) select 2, account_id, id, $2 from domain where id = $1`,
        [domain, jobs],
      ),
    /** Renders that count for this month; `useRenders` sets them. */
    async renders(domain: DomainId) {
      const sql = 'select coalesce(sum(renders), 0)::integer from render_count where domain_id = $1'
      return (await column<number>(sql, domain))[0]!
    },
    useRenders: (domain: DomainId, renders: number) =>
      pool.query(
        `insert into render_count (domain_id, month, renders)
         values ($1, date_trunc('month', now() at time zone 'utc'), $2)
         on conflict (domain_id, month) do update set renders = excluded.renders`,
        [domain, renders],
      ),
    /** A crawler has asked for page `/p<n>` `n` hours ago. */
    visited: (domain: DomainId, pages: number) =>
      pool.query(
        `insert into last_visit select $1, '/p' || n, 'Googlebot', 'search', now() - make_interval(hours => n)
           from generate_series(0, $2::integer - 1) n`,
        [domain, pages],
      ),
    /** Stores pages as they are a moment after their render, or `hours` later. */
    store: (domain: DomainId, paths: readonly string[], hours = 0) =>
      pool.query(
        `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
         select $1, path, 200, '[]', '\\x00', 1, 'e', now() - make_interval(secs => $3::float8 * 3600) from unnest($2::text[]) as path`,
        [domain, paths, hours],
      ),
    /** All of them, newest first, also those of paths that are no pages. */
    records: async (domain: DomainId) => {
      const { rows } = await pool.query<RenderView>(
        `select job_id as "jobId", path, variant, outcome, detail, ended_at, record, request_id as "requestId"
           from render_record where domain_id = $1 order by id desc`,
        [domain],
      )
      return rows
    },
    page: (domain: DomainId, path = '/') => readStored(pool, pageId(domain, path as PagePath), none),
    purge: (domain: DomainId, what: PurgeWhat) =>
      transaction(pool, (client) => deletePages(client, domain, what, 'purge')),
    /** Paths of stored pages. */
    stored: (domain: DomainId) =>
      column<string>('select path from page where domain_id = $1 order by path', domain),
    async jobs(domain: DomainId) {
      const { rows } = await pool.query<JobRow>(
        `select e.path, e.state, e.outcome, e.priority, coalesce(j.superseded, false) as superseded, coalesce(j.faults, 0) as faults
           from every_job e left join job j using (id) where e.domain_id = $1 order by e.created_at, e.path`,
        [domain],
      )
      return rows
    },
  }
}

/** Runs the job that is first, with all that follows, as a worker does. */
export async function runNext(
  { claim, pool }: TestQueue,
  render: RunJobParts['render'],
  { clock = systemClock, prober }: { clock?: Clock; prober?: SiteWatch } = {},
): Promise<ClaimedJob | null> {
  const [job] = await claim({ slots: 1 })
  if (job === undefined) return null
  const bodies = BodyStore.none(pool, silentLog())
  const completer = new JobCompleter(pool, DEFAULT_PLANS, clock, new Notices(pool, silentLog()), bodies)
  const all = {
    render,
    completer,
    bodies,
    pool,
    plans: DEFAULT_PLANS,
    clock,
    log: silentLog(),
    leaseMs: 1_000,
  }
  await new AfterRender(pool, bodies, clock, silentLog(), prober).follow(
    job,
    await runJob(all, job, new AbortController()),
  )
  return job
}

/** A queue for all tests of a file, each of which finds it without jobs; `listener` gives one that is closed with it. */
export async function openQueue(): Promise<TestQueue & { listener(): Promise<Listener> }> {
  const queue = await testQueue()
  const listeners: Listener[] = []
  beforeEach(() => queue.pool.query('delete from job; delete from job_ended'))
  after(async () => {
    for (const listener of listeners) await listener.close()
    await queue.close()
  })
  return {
    ...queue,
    async listener() {
      const listener = await createListener(queue.connection, silentLog())
      listeners.push(listener)
      await listener.settled()
      return listener
    },
  }
}

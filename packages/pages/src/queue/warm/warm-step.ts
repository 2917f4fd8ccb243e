import { setImmediate as breathe } from 'node:timers/promises'
import { AppError } from '@prepaint/contract/errors.ts'
import type { DomainId, DomainName, PagePath } from '@prepaint/contract/ids.ts'
import { freshnessOf } from '@prepaint/contract/page/freshness.ts'
import { type DomainSettings, readDomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import { readOrigin } from '@prepaint/outbound'
import { type Robots, readRobots } from '@prepaint/outbound/sitemaps'
import type { Task, TaskKind } from '@prepaint/postgres/tasks'
import { type Queryable, retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { lifetimesOf, RuleBook } from '@prepaint/runtime/rule-book.ts'
import type pg from 'pg'
import { readQuota } from '../../quota.ts'
import { redirectMapOf } from '../../site-files/stored-redirects.ts'
import { type KnownPage, nextKnownPages } from '../../store/known-paths.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { cancelWarm, WARM_MOVED_CHANNEL, WARM_PRIORITY, WARM_STEP_TASK, type WarmWhich } from './warm.ts'

/** Also what a run holds in memory. */
const STEP_PATHS = 500
/** Matching a path with 200 hostile rules takes some milliseconds. */
const BREATH_PATHS = 10

/** Waiting `warm` jobs of one domain: leaves room in the queue for crawlers and other domains. */
const WAITING_LIMIT = 2_000

/** `moved`: there may be more to do. `waiting`: for renders, or for room in the queue. `ended`: also if it is paused. */
type WarmStep = 'moved' | 'waiting' | 'ended'

type Run = {
  domain: DomainId
  run: string
  which: WarmWhich
  after: string
  robots: string
  name: DomainName
  originUrl: string
  isActive: boolean
  /** Known pages are left that were not decided about. */
  isQueueing: boolean
  settings: DomainSettings
  open: number
}

const WAITING_POLL_MS = 1_000

/** Queues the pages of a run, step by step, and ends it when all are rendered. Nodes of version 0.2.0 take steps beside. */
export class WarmSteps implements TaskKind {
  readonly name = WARM_STEP_TASK
  readonly slots = 1
  readonly perAccount = 4
  readonly faultMessage = 'a warm could not go on; it is tried again'
  readonly subjects = `
    select w.domain_id as key, d.account_id, now() as due_at from warm w join domain d on d.id = w.domain_id
     where w.state in ('queueing', 'rendering') and w.paused_at is null`
  readonly #pool: pg.Pool
  readonly #plans: PlanCatalogue
  readonly #clock: Clock

  constructor(pool: pg.Pool, plans: PlanCatalogue, clock: Clock) {
    this.#pool = pool
    this.#plans = plans
    this.#clock = clock
  }

  async run({ key }: Task): Promise<number | null> {
    switch (await warmStep(this.#pool, this.#plans, this.#clock, Number(key) as DomainId)) {
      case 'moved':
        return 0
      case 'waiting':
        return WAITING_POLL_MS
      case 'ended':
        return null
    }
  }
}

/** One transaction: after a crash another node continues. */
export async function warmStep(
  pool: pg.Pool,
  plans: PlanCatalogue,
  clock: Clock,
  domain: DomainId,
): Promise<WarmStep> {
  try {
    return await retriedTransaction(pool, async (client) => {
      await finish(client, domain)
      const run = await lockRun(client, domain)
      if (run === 'waiting' || run === 'ended') return run
      if (!run.isActive) {
        await cancelWarm(client, domain, 'domain-inactive')
        return 'moved'
      }
      const quota = await readQuota(client, plans, domain, clock.nowMs())
      const room = quota === null ? 0 : quota.limit - quota.used - run.open
      if (room <= 0 && run.open > 0) {
        await move(client, domain)
        return 'waiting'
      }
      if (room <= 0) {
        if (run.isQueueing) await holdNext(client, run, clock.nowMs())
        else await endOverQuota(client, domain)
        return 'moved'
      }
      await queueNext(client, run, Math.min(STEP_PATHS, room), clock.nowMs())
      return 'moved'
    })
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'queue_full') throw error
    await move(pool, domain)
    return 'waiting'
  }
}

async function queueNext(client: Queryable, run: Run, limit: number, nowMs: number): Promise<void> {
  const { rows: held } = await client.query<{ path: PagePath }>(
    `delete from warm_paused where domain_id = $1 and path in (
       select path from warm_paused where domain_id = $1 order by path limit $2)
     returning path`,
    [run.domain, limit],
  )
  if (held.length > 0) {
    const paths = held.map(({ path }) => path)
    await queueFor(client, run, paths.sort())
    return move(client, run.domain)
  }
  const { chosen, after, isLast } = await chooseNext(client, run, limit, nowMs)
  await queueFor(client, run, chosen.queue)
  await move(client, run.domain, { after, isLast, chosen })
}

/** No render is left in the month: notes which pages the run would queue next, to say how many, and for a resume. */
async function holdNext(client: Queryable, run: Run, nowMs: number): Promise<void> {
  const { chosen, after, isLast } = await chooseNext(client, run, STEP_PATHS, nowMs)
  await client.query(
    'insert into warm_paused (domain_id, path) select $1, unnest($2::text[]) on conflict do nothing',
    [run.domain, chosen.queue],
  )
  await move(client, run.domain, { after, isLast, chosen })
}

type Chosen = Record<WarmChoice, PagePath[]>

/** Decides about the run's next known pages. `after` is the last of them, and absent if there are none. */
async function chooseNext(
  client: Queryable,
  run: Run,
  limit: number,
  nowMs: number,
): Promise<{ chosen: Chosen; after: PagePath | undefined; isLast: boolean }> {
  const pages = await nextKnownPages(client, run.domain, run.after, limit)
  const robots = readRobots(run.robots, {
    name: run.name,
    origin: readOrigin(run.originUrl, run.domain),
    query: run.settings.query,
  })
  const rules = new RuleBook(run.settings.rules)
  const redirects = await redirectMapOf(client, run.domain)
  const chosen: Chosen = { queue: [], forbidden: [], passed: [], redirected: [], fresh: [] }
  for (const [at, page] of pages.entries()) {
    if (at % BREATH_PATHS === 0) await breathe()
    const choice = redirects?.covers(page.path)
      ? 'redirected'
      : warmChoice(page, run, { robots, rules, nowMs })
    chosen[choice].push(page.path)
  }
  return { chosen, after: pages.at(-1)?.path, isLast: pages.length < limit }
}

/** Jobs that ended just now count as done. */
async function queueFor(client: Queryable, { domain, run }: Run, paths: readonly PagePath[]): Promise<void> {
  if (paths.length === 0) return
  const jobs = await enqueue(client, domain, paths, 'warm')
  const { rowCount } = await client.query(
    `update job set warm = $2 where id = any ($1) and state in ('queued', 'running')`,
    [jobs.map(({ jobId }) => jobId), run],
  )
  const ended = paths.length - (rowCount ?? 0)
  if (ended > 0) {
    const values = [domain, run, ended]
    await client.query('update warm_count set done = done + $3 where domain_id = $1 and run = $2', values)
  }
}

type Moved = { after?: PagePath | undefined; isLast?: boolean; chosen?: Chosen }

/** Moves the run to the end of the line, and counts what it has chosen. */
async function move(
  client: Queryable,
  domain: DomainId,
  { after, isLast = false, chosen }: Moved = {},
): Promise<void> {
  const counts = (['queue', 'forbidden', 'passed', 'fresh', 'redirected'] as const).map(
    (name) => chosen?.[name].length ?? 0,
  )
  await client.query(
    `update warm set after_path = coalesce($2, after_path), moved_at = clock_timestamp(),
            state = case when $3 then 'rendering' else state end, queued = queued + $4,
            forbidden = forbidden + $5, passed = passed + $6, fresh = fresh + $7, redirected = redirected + $8
      where domain_id = $1
     returning pg_notify('${WARM_MOVED_CHANNEL}', domain_id::text)`,
    [domain, after ?? null, isLast, ...counts],
  )
}

/** Ends a run with nothing left, also if jobs were lost uncounted. */
async function finish(client: Queryable, domain: DomainId): Promise<void> {
  await end(
    client,
    domain,
    `update warm w set state = 'done', ended_at = clock_timestamp() where domain_id in (
       select w.domain_id from warm w join warm_count t on t.domain_id = w.domain_id
        where w.domain_id = $1 and w.state = 'rendering' and w.paused_at is null
          and not exists (select from warm_paused h where h.domain_id = w.domain_id)
          and (t.done + t.failed >= w.queued
               or not exists (select from job j where j.domain_id = w.domain_id and j.warm = w.run
                               and j.state in ('queued', 'running')))
          for update of w)`,
  )
}

/** Ends a run because the month is used up. The pages in `warm_paused` were not rendered; a resume queues them. */
async function endOverQuota(client: Queryable, domain: DomainId): Promise<void> {
  await end(
    client,
    domain,
    `update warm set state = 'done', reason = 'over-quota', ended_at = clock_timestamp()
      where domain_id = $1 and state = 'rendering'`,
  )
}

/** Ends the run with `update`, and tells of it. A run that was resumed ends twice, each time with an event. */
async function end(client: Queryable, domain: DomainId, update: string): Promise<void> {
  await client.query(
    `with ended as (${update} returning domain_id, run, which, reason, queued, ended_at)
     select pg_notify('${WARM_MOVED_CHANNEL}', e.domain_id::text),
            case when e.which = 'all' then
              record_event(d.account_id, d.id, null, 'warm.finished',
                'warm ' || e.run || ' ' || extract(epoch from e.ended_at), json_build_object(
                'domain', d.custom_domain, 'rendered', t.done, 'failed', t.failed, 'unchanged', t.unchanged,
                'not_rendered', case when e.reason = 'over-quota' then greatest(0, e.queued - t.done - t.failed) else 0 end)) end
       from ended e join domain d on d.id = e.domain_id join warm_count t on t.domain_id = e.domain_id`,
    [domain],
  )
}

async function lockRun(client: Queryable, domain: DomainId): Promise<Run | 'waiting' | 'ended'> {
  const { rows } = await client.query<
    Omit<Run, 'settings'> & { settings: unknown; isUnderWay: boolean; isToQueue: boolean; hasRoom: boolean }
  >(
    `select w.domain_id as domain, w.run, w.which, w.after_path as after, coalesce(w.robots, '') as robots,
            d.custom_domain as name, d.origin_url as "originUrl", d.settings,
            d.is_active and a.suspended_at is null as "isActive",
            w.state in ('queueing', 'rendering') and w.paused_at is null as "isUnderWay",
            w.state = 'queueing' as "isQueueing",
            w.state = 'queueing' or exists (select from warm_paused h where h.domain_id = w.domain_id) as "isToQueue",
            (select count(*)::int from job j
              where j.domain_id = w.domain_id and j.warm = w.run and j.state in ('queued', 'running')) as open,
            (select count(*) from (
               select from job j where j.domain_id = w.domain_id and j.state = 'queued'
                  and j.priority = ${WARM_PRIORITY} limit $2
             ) waiting) < $2 as "hasRoom"
       from warm w join domain d on d.id = w.domain_id join account a on a.id = d.account_id
      where w.domain_id = $1 for update of w`,
    [domain, WAITING_LIMIT],
  )
  const [row] = rows
  if (row === undefined || !row.isUnderWay) return 'ended'
  const { isUnderWay: _, isToQueue, hasRoom, ...run } = row
  if (!isToQueue || !hasRoom) return 'waiting'
  return { ...run, settings: readDomainSettings(run.settings) }
}

type WarmChoice = 'queue' | 'forbidden' | 'passed' | 'redirected' | 'fresh'

/** Ignore dates further in the future than clock differences. */
const AHEAD_MS = 86_400_000

function warmChoice(
  page: KnownPage,
  { which, settings }: Run,
  { robots, rules, nowMs }: { robots: Robots; rules: RuleBook; nowMs: number },
): WarmChoice {
  const { rule = null } = rules.chosen(page.path) ?? {}
  // Nothing would serve what is rendered.
  if (rule?.action !== undefined && rule.action !== 'render') return 'passed'
  if (!robots.allows(page.path)) return 'forbidden'
  const { stored, changedAtMs } = page
  if (which === 'all' || stored === null) return 'queue'
  const isChanged =
    changedAtMs !== null && changedAtMs > stored.renderedAtMs && changedAtMs <= nowMs + AHEAD_MS
  if (isChanged) return 'queue'
  const lifetimes = lifetimesOf(settings, rule)
  return freshnessOf(stored, lifetimes, nowMs) === 'fresh' ? 'fresh' : 'queue'
}

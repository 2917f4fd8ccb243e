import { setImmediate as breathe } from 'node:timers/promises'
import { AppError } from '@prepaint/contract/errors.ts'
import type { DomainId, DomainName, PagePath } from '@prepaint/contract/ids.ts'
import { freshnessOf } from '@prepaint/contract/page/freshness.ts'
import { type DomainSettings, readDomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import { readOrigin } from '@prepaint/outbound'
import { type Robots, readRobots } from '@prepaint/outbound/sitemaps'
import { type Queryable, retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { lifetimesOf, RuleBook } from '@prepaint/runtime/rule-book.ts'
import type pg from 'pg'
import { readQuota } from '../../quota.ts'
import { redirectMapOf } from '../../site-files/stored-redirects.ts'
import { type KnownPage, nextKnownPages } from '../../store/known-paths.ts'
import { enqueue } from '../jobs/enqueue.ts'
import {
  cancelWarm,
  pauseWarm,
  UNDER_WAY,
  WARM_MOVED_CHANNEL,
  WARM_PRIORITY,
  type WarmWhich,
} from './warm.ts'

/** Also what a run holds in memory. */
const STEP_PATHS = 500
/** Matching a path with 200 hostile rules takes some milliseconds. */
const BREATH_PATHS = 10

/** Waiting `warm` jobs of one domain: leaves room in the queue for crawlers and other domains. */
const WAITING_LIMIT = 2_000

/** `moved`: there may be more to do. `waiting`: every run waits for something. `idle`: there is no run. */
type WarmStep = 'moved' | 'waiting' | 'idle'

type Run = {
  domain: DomainId
  run: string
  which: WarmWhich
  after: string
  robots: string
  name: DomainName
  originUrl: string
  isActive: boolean
  settings: DomainSettings
  open: number
}

const PASSED_OVER = 20

type Deps = { pool: pg.Pool; plans: PlanCatalogue; clock: Clock }

/**
 * One transaction: after a crash another node continues. Nodes never take the same run.
 * Runs that wait for renders or queue space are skipped.
 */
export async function warmStep(deps: Deps): Promise<WarmStep> {
  const waiting: DomainId[] = []
  while (waiting.length < PASSED_OVER) {
    const step = await stepPast(deps, waiting)
    if (typeof step === 'string') return step === 'idle' && waiting.length > 0 ? 'waiting' : step
    waiting.push(step.waits)
  }
  return 'waiting'
}

async function stepPast(
  { pool, plans, clock }: Deps,
  passed: readonly DomainId[],
): Promise<WarmStep | { waits: DomainId }> {
  let taken: DomainId | null = null
  try {
    return await retriedTransaction(pool, async (client) => {
      await finish(client)
      const run = await takeRun(client, passed)
      if (run === null) return (await isAnyUnderWay(client)) ? 'waiting' : 'idle'
      taken = run.domain
      if (!run.isActive) {
        await cancelWarm(client, run.domain, 'domain-inactive')
        return 'moved'
      }
      const quota = await readQuota(client, plans, run.domain, clock.nowMs())
      const room = quota === null ? 0 : quota.limit - quota.used - run.open
      if (room <= 0) {
        if (run.open === 0) await pauseWarm(client, run.domain, 'over-quota')
        else await move(client, run.domain)
        return { waits: run.domain }
      }
      await queueNext(client, run, Math.min(STEP_PATHS, room), clock.nowMs())
      return 'moved'
    })
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'queue_full' || taken === null) throw error
    // The limit depends on the domain's waiting jobs: other domains may have room.
    await move(pool, taken)
    return { waits: taken }
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
  const pages = await nextKnownPages(client, run.domain, run.after, limit)
  const robots = readRobots(run.robots, {
    name: run.name,
    origin: readOrigin(run.originUrl, run.domain),
    query: run.settings.query,
  })
  const rules = new RuleBook(run.settings.rules)
  const redirects = await redirectMapOf(client, run.domain)
  const chosen: Record<WarmChoice, PagePath[]> = { queue: [], forbidden: [], passed: [], fresh: [] }
  for (const [at, page] of pages.entries()) {
    if (at % BREATH_PATHS === 0) await breathe()
    const choice = redirects?.covers(page.path) ? 'passed' : warmChoice(page, run, { robots, rules, nowMs })
    chosen[choice].push(page.path)
  }
  await queueFor(client, run, chosen.queue)
  await move(client, run.domain, { after: pages.at(-1)?.path, isLast: pages.length < limit, chosen })
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

type Moved = { after?: PagePath | undefined; isLast?: boolean; chosen?: Record<WarmChoice, PagePath[]> }

/** To the end of the line. */
async function move(
  client: Queryable,
  domain: DomainId,
  { after, isLast = false, chosen }: Moved = {},
): Promise<void> {
  const counts = (['queue', 'forbidden', 'passed', 'fresh'] as const).map(
    (name) => chosen?.[name].length ?? 0,
  )
  await client.query(
    `update warm set after_path = coalesce($2, after_path), moved_at = clock_timestamp(),
            state = case when $3 then 'rendering' else state end, queued = queued + $4,
            forbidden = forbidden + $5, passed = passed + $6, fresh = fresh + $7
      where domain_id = $1
     returning pg_notify('${WARM_MOVED_CHANNEL}', domain_id::text)`,
    [domain, after ?? null, isLast, ...counts],
  )
}

/** Ends runs with nothing left, also if jobs were lost uncounted. */
async function finish(client: Queryable): Promise<void> {
  await client.query(
    `with ended as (
     update warm w set state = 'done', ended_at = clock_timestamp() where domain_id in (
       select w.domain_id from warm w join warm_count t on t.domain_id = w.domain_id
        where w.state = 'rendering' and w.paused_at is null
          and not exists (select from warm_paused h where h.domain_id = w.domain_id)
          and (t.done + t.failed >= w.queued
               or not exists (select from job j where j.domain_id = w.domain_id and j.warm = w.run
                               and j.state in ('queued', 'running')))
          for update of w skip locked)
     returning domain_id, run, which)
     select pg_notify('${WARM_MOVED_CHANNEL}', e.domain_id::text),
            case when e.which = 'all' then
              record_event(d.account_id, d.id, null, 'warm.finished', 'warm ' || e.run, json_build_object(
                'domain', d.custom_domain, 'rendered', t.done, 'failed', t.failed, 'unchanged', t.unchanged)) end
       from ended e join domain d on d.id = e.domain_id join warm_count t on t.domain_id = e.domain_id`,
  )
}

async function takeRun(client: Queryable, passed: readonly DomainId[]): Promise<Run | null> {
  const { rows } = await client.query<Omit<Run, 'settings'> & { settings: unknown }>(
    `select w.domain_id as domain, w.run, w.which, w.after_path as after, coalesce(w.robots, '') as robots,
            d.custom_domain as name, d.origin_url as "originUrl", d.settings,
            d.is_active and a.suspended_at is null as "isActive",
            (select count(*)::int from job j
              where j.domain_id = w.domain_id and j.warm = w.run and j.state in ('queued', 'running')) as open
       from warm w join domain d on d.id = w.domain_id join account a on a.id = d.account_id
      where (w.state = 'queueing'
             or (w.state = 'rendering' and exists (select from warm_paused h where h.domain_id = w.domain_id)))
        and w.paused_at is null and w.domain_id <> all ($2)
        and (select count(*) from (
               select from job j where j.domain_id = w.domain_id and j.state = 'queued'
                  and j.priority = ${WARM_PRIORITY} limit $1
             ) waiting) < $1
      order by w.moved_at limit 1 for update of w skip locked`,
    [WAITING_LIMIT, passed],
  )
  const [run] = rows
  return run === undefined ? null : { ...run, settings: readDomainSettings(run.settings) }
}

async function isAnyUnderWay(client: Queryable): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from warm where state in ${UNDER_WAY} and paused_at is null limit 1`,
  )
  return rowCount === 1
}

type WarmChoice = 'queue' | 'forbidden' | 'passed' | 'fresh'

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

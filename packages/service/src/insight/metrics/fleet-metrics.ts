import { type KindState, readTaskKinds } from '@prepaint/postgres/tasks'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { Gauge, type Registry } from 'prom-client'

/** Scrapes within this time share one reading. */
const CACHED_MS = 5_000

/** Gauges of the whole fleet. Missing while PostgreSQL is away. */
export function createFleetMetrics(
  registry: Registry,
  deps: { read(): Promise<FleetFigures>; nowMs(): number; onFault(error: unknown): void },
): { refresh(): Promise<void> } {
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] })
  const queued = gauge('prepaint_queue_jobs', 'Jobs that wait, by priority (at most 100000 are counted)', [
    'priority',
  ])
  const age = gauge('prepaint_queue_head_age_seconds', 'How long the job that is next has waited', [
    'priority',
  ])
  const running = gauge('prepaint_jobs_running', 'Jobs that run, over all nodes')
  const domains = gauge(
    'prepaint_domains',
    'Domains with renders this month, by percent of what their plan allows',
    ['used'],
  )
  const renders = gauge('prepaint_renders_month', 'Renders counted against quotas in this UTC month')
  const nodes = gauge(
    'prepaint_nodes',
    'Nodes that share the database, by state; dead ones for ten minutes',
    ['state'],
  )
  const certificates = gauge('prepaint_certificates', 'Certificates of active domains')
  const soonestEnd = gauge(
    'prepaint_certificate_soonest_end_seconds',
    'Until the first certificate of an active domain ends',
  )
  const failing = gauge('prepaint_certificate_orders_failing', 'Active domains whose last order failed')
  const incidents = gauge('prepaint_incidents_open', 'Open incidents of all accounts, by kind', ['kind'])
  const waiting = gauge(
    'prepaint_deliveries_waiting',
    'Deliveries of events and e-mails that wait (at most 100000 are counted)',
  )
  const oldest = gauge(
    'prepaint_delivery_oldest_seconds',
    'How long the oldest delivery has waited; 0: none waits',
  )
  const tasksWaiting = gauge('prepaint_tasks_waiting', 'Background tasks that are due and wait, by kind', [
    'kind',
  ])
  const tasksRunning = gauge('prepaint_tasks_running', 'Background tasks that nodes work on, by kind', [
    'kind',
  ])
  const tasksFailing = gauge('prepaint_tasks_failing', 'Background tasks whose last run failed, by kind', [
    'kind',
  ])
  const tasksOldest = gauge(
    'prepaint_tasks_oldest_seconds',
    'How long the oldest due background task has waited, by kind; 0: none waits',
    ['kind'],
  )
  const ofTasks = [tasksWaiting, tasksRunning, tasksFailing, tasksOldest]
  const alone = [waiting, oldest, running, renders, certificates, soonestEnd, failing]
  const all = [...ofTasks, incidents, queued, age, domains, nodes, ...alone]
  let readMs = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | null = null

  async function read(): Promise<void> {
    try {
      const figures = await deps.read()
      for (const { priority, queued: count, headAgeSeconds } of figures.queue) {
        queued.set({ priority }, count)
        age.set({ priority }, headAgeSeconds)
      }
      for (const used of QUOTA_RANGES) domains.set({ used }, figures.quota[used])
      for (const state of NODE_STATES) nodes.set({ state }, figures.nodes[state])
      incidents.reset()
      for (const { kind, count } of figures.incidents) incidents.set({ kind }, count)
      for (const each of ofTasks) each.reset()
      for (const { kind, ...state } of figures.tasks) {
        tasksWaiting.set({ kind }, state.waiting)
        tasksRunning.set({ kind }, state.running)
        tasksFailing.set({ kind }, state.failing)
        tasksOldest.set({ kind }, state.oldestSeconds)
      }
      waiting.set(figures.deliveries.waiting)
      oldest.set(figures.deliveries.oldestSeconds)
      running.set(figures.running)
      renders.set(figures.rendersThisMonth)
      certificates.set(figures.certificates.stored)
      failing.set(figures.certificates.failing)
      const { soonestEndSeconds } = figures.certificates
      if (soonestEndSeconds === null) soonestEnd.remove()
      else soonestEnd.set(soonestEndSeconds)
    } catch (error) {
      for (const each of all) each.reset()
      for (const each of alone) each.remove()
      deps.onFault(error)
    }
    readMs = deps.nowMs()
    reading = null
  }

  return {
    async refresh() {
      if (deps.nowMs() - readMs < CACHED_MS) return
      reading ??= read()
      await reading
    },
  }
}

export type FleetFigures = {
  queue: { priority: 'live' | 'refresh' | 'warm'; queued: number; headAgeSeconds: number }[]
  running: number
  /** Domains by share of monthly renders used; domains without renders are omitted. */
  quota: Record<QuotaRange, number>
  rendersThisMonth: number
  certificates: CertificateFigures
  nodes: Record<NodeState, number>
  incidents: { kind: string; count: number }[]
  tasks: KindState[]
  deliveries: { waiting: number; oldestSeconds: number }
}

const NODE_STATES = ['serving', 'draining', 'dead'] as const
type NodeState = (typeof NODE_STATES)[number]

export const QUOTA_RANGES = ['under_80', '80_to_100', '100_to_120', '120'] as const
type QuotaRange = (typeof QUOTA_RANGES)[number]

/** For each priority, to keep scrapes of long queues cheap. */
const MAX_COUNTED = 100_000

// `age`: of the oldest waiting job.
const QUEUE = `
  select p.name as priority,
         (select count(*)::int from (select from job where state = 'queued' and priority = p.number limit ${MAX_COUNTED}) j) as queued,
         coalesce((select extract(epoch from now() - created_at)::float8 from job
                    where state = 'queued' and priority = p.number and run_at <= now() order by created_at limit 1), 0) as age
    from (values (0, 'live'), (1, 'refresh'), (2, 'warm')) as p (number, name)`

const QUOTA = `
  select count(*) filter (where c.renders * 5 < p.most * 4)::int as "under_80",
         count(*) filter (where c.renders * 5 >= p.most * 4 and c.renders < p.most)::int as "80_to_100",
         count(*) filter (where c.renders >= p.most and not over_quota(c.renders, p.most))::int as "100_to_120",
         count(*) filter (where over_quota(c.renders, p.most))::int as "120",
         coalesce(sum(c.renders), 0)::float8 as renders
    from render_count c
    join domain d on d.id = c.domain_id
    join account a on a.id = d.account_id
    join unnest($2::text[], $3::bigint[]) as p (plan, most) on p.plan = a.plan
   where c.month = $1`

// `dead` as in packages/service/src/insight/fleet/node.ts.
const NODES = `
  select count(*) filter (where lives and not draining)::int as serving,
         count(*) filter (where lives and draining)::int as draining,
         count(*) filter (where not lives)::int as dead
    from (select draining, seen_at >= clock_timestamp() - interval '15 seconds' as lives from node) n`

export async function readFleetFigures(
  db: Queryable,
  month: string,
  limits: Readonly<Record<string, number>>,
): Promise<FleetFigures> {
  const { rows: queue } = await db.query<{
    priority: 'live' | 'refresh' | 'warm'
    queued: number
    age: number
  }>({
    name: 'metrics-queue',
    text: QUEUE,
  })
  const running = await db.query<{ running: number }>({
    name: 'metrics-running',
    text: `select count(*)::int as running from job where state = 'running'`,
  })
  const nodes = await db.query<Record<NodeState, number>>({ name: 'metrics-nodes', text: NODES })
  const { rows } = await db.query<Record<QuotaRange, number> & { renders: number }>({
    name: 'metrics-quota',
    text: QUOTA,
    values: [month, Object.keys(limits), Object.values(limits)],
  })
  const { renders = 0, ...quota } = rows[0] ?? {
    under_80: 0,
    '80_to_100': 0,
    '100_to_120': 0,
    '120': 0,
    renders: 0,
  }
  const incidents = await db.query<FleetFigures['incidents'][number]>({
    name: 'metrics-incidents',
    text: `select kind, count(*)::int as count from incident where state = 'open' group by kind`,
  })
  const deliveries = await db.query<FleetFigures['deliveries']>({
    name: 'metrics-deliveries',
    text: `select (select count(*)::int from (select from delivery where state = 'waiting' limit ${MAX_COUNTED}) d) as waiting,
                  greatest(0, extract(epoch from now() - coalesce((select min(created_at) from delivery
                                                                    where state = 'waiting'), now())))::float8 as "oldestSeconds"`,
  })
  return {
    incidents: incidents.rows,
    tasks: await readTaskKinds(db),
    deliveries: deliveries.rows[0]!,
    queue: queue.map(({ priority, queued, age }) => ({ priority, queued, headAgeSeconds: Math.max(0, age) })),
    running: running.rows[0]?.running ?? 0,
    quota,
    rendersThisMonth: renders,
    certificates: await readCertificateFigures(db),
    nodes: nodes.rows[0] ?? { serving: 0, draining: 0, dead: 0 },
  }
}

/** Active domains only; others may have moved away. */
type CertificateFigures = {
  stored: number
  /** Until the first certificate ends, at least 0; null: no certificates. */
  soonestEndSeconds: number | null
  failing: number
}

const CERTIFICATES = `
  select count(c.domain_id)::int as stored,
         greatest(0, extract(epoch from min(c.not_after) - now()))::float8 as "soonestEndSeconds",
         (select count(*)::int from certificate_order o join domain d on d.id = o.domain_id
           where o.failures > 0 and d.is_active) as failing
    from certificate c join domain d on d.id = c.domain_id
   where d.is_active`

async function readCertificateFigures(db: Queryable): Promise<CertificateFigures> {
  const { rows } = await db.query<CertificateFigures>({ name: 'metrics-certificates', text: CERTIFICATES })
  const { stored, soonestEndSeconds, failing } = rows[0]!
  // `greatest` ignores null.
  return { stored, soonestEndSeconds: stored === 0 ? null : soonestEndSeconds, failing }
}

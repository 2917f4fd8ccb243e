import { type BodyFigures, readBodyFigures } from '@prepaint/pages/store/bodies/figures.ts'
import { type KindState, readTaskKinds } from '@prepaint/postgres/tasks'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { Gauge, type Registry } from 'prom-client'

/** Scrapes within this time share one reading. */
const CACHED_MS = 5_000

/** Gauges of the whole fleet. They are missing while PostgreSQL cannot be reached. */
export class FleetMetrics {
  readonly #readFigures: () => Promise<FleetFigures>
  readonly #clock: Clock
  readonly #log: Log
  readonly #gauges: FleetGauges
  #readAtMs = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | null = null

  constructor(registry: Registry, readFigures: () => Promise<FleetFigures>, clock: Clock, log: Log) {
    this.#gauges = createGauges(registry)
    this.#readFigures = readFigures
    this.#clock = clock
    this.#log = log
  }

  /** Reads the figures, unless they were read in the last seconds. Never rejects. */
  async refresh(): Promise<void> {
    if (this.#clock.nowMs() - this.#readAtMs < CACHED_MS) return
    this.#reading ??= this.#read()
    await this.#reading
  }

  async #read(): Promise<void> {
    try {
      setGauges(this.#gauges, await this.#readFigures())
    } catch (error) {
      clearGauges(this.#gauges)
      this.#log.warn({ err: error }, 'the fleet metrics could not be read')
    }
    this.#readAtMs = this.#clock.nowMs()
    this.#reading = null
  }
}

type FleetGauges = ReturnType<typeof createGauges>

function createGauges(registry: Registry) {
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] })
  return {
    tasks: {
      waiting: gauge('prepaint_tasks_waiting', 'Background tasks that are due and wait, by kind', ['kind']),
      running: gauge('prepaint_tasks_running', 'Background tasks that nodes work on, by kind', ['kind']),
      failing: gauge('prepaint_tasks_failing', 'Background tasks whose last run failed, by kind', ['kind']),
      oldest: gauge(
        'prepaint_tasks_oldest_seconds',
        'How long the oldest due background task has waited, by kind; 0: none waits',
        ['kind'],
      ),
    },
    byLabel: {
      incidents: gauge('prepaint_incidents_open', 'Open incidents of all accounts, by kind', ['kind']),
      queued: gauge('prepaint_queue_jobs', 'Jobs that wait, by priority (at most 100000 are counted)', [
        'priority',
      ]),
      age: gauge('prepaint_queue_head_age_seconds', 'How long the job that is next has waited', ['priority']),
      domains: gauge(
        'prepaint_domains',
        'Domains with renders this month, by percent of what their plan allows',
        ['used'],
      ),
      nodes: gauge('prepaint_nodes', 'Nodes that share the database, by state; dead ones for ten minutes', [
        'state',
      ]),
    },
    single: {
      running: gauge('prepaint_jobs_running', 'Jobs that run, over all nodes'),
      slotsWanted: gauge(
        'prepaint_render_slots_wanted',
        'Render slots that the fleet should have for what runs and waits, with a fifth to spare',
      ),
      slotsFleet: gauge('prepaint_render_slots_fleet', 'Render slots of all nodes that serve'),
      renders: gauge('prepaint_renders_month', 'Renders counted against quotas in this UTC month'),
      certificates: gauge('prepaint_certificates', 'Certificates of active domains'),
      soonestEnd: gauge(
        'prepaint_certificate_soonest_end_seconds',
        'Until the first certificate of an active domain ends',
      ),
      failing: gauge('prepaint_certificate_orders_failing', 'Active domains whose last order failed'),
      waiting: gauge(
        'prepaint_deliveries_waiting',
        'Deliveries of events and e-mails that wait (at most 100000 are counted)',
      ),
      bodiesInline: gauge(
        'prepaint_bodies_inline',
        'Bodies in PostgreSQL that the object store did not take (at most 100000 of pages and of forms are counted)',
      ),
      bodiesInlineOldest: gauge(
        'prepaint_bodies_inline_oldest_seconds',
        'How long the first of these bodies has been in PostgreSQL; 0: there is none',
      ),
      bodiesCondemned: gauge(
        'prepaint_bodies_condemned',
        'Objects in the object store that wait to be deleted (at most 100000 are counted)',
      ),
      bodiesCondemnedOldest: gauge(
        'prepaint_bodies_condemned_oldest_seconds',
        'How long the first of these objects has waited; usually an hour at most; 0: none waits',
      ),
      oldest: gauge(
        'prepaint_delivery_oldest_seconds',
        'How long the oldest delivery has waited; 0: none waits',
      ),
      withoutDay: gauge(
        'prepaint_partition_default_rows',
        'Rows of traffic, of renders and of ended jobs whose day has no partition (at most 1000 are counted); 0 is expected',
      ),
    },
  }
}

function setGauges({ tasks, byLabel, single }: FleetGauges, figures: FleetFigures): void {
  for (const gauge of Object.values(tasks)) gauge.reset()
  for (const { kind, waiting, running, failing, oldestSeconds } of figures.tasks) {
    tasks.waiting.set({ kind }, waiting)
    tasks.running.set({ kind }, running)
    tasks.failing.set({ kind }, failing)
    tasks.oldest.set({ kind }, oldestSeconds)
  }
  for (const { priority, queued, headAgeSeconds } of figures.queue) {
    byLabel.queued.set({ priority }, queued)
    byLabel.age.set({ priority }, headAgeSeconds)
  }
  for (const used of QUOTA_RANGES) byLabel.domains.set({ used }, figures.quota[used])
  for (const state of NODE_STATES) byLabel.nodes.set({ state }, figures.nodes[state])
  byLabel.incidents.reset()
  for (const { kind, count } of figures.incidents) byLabel.incidents.set({ kind }, count)
  single.waiting.set(figures.deliveries.waiting)
  single.oldest.set(figures.deliveries.oldestSeconds)
  const { bodies } = figures
  single.bodiesInline.set(bodies.late)
  single.bodiesInlineOldest.set(bodies.oldestLateSeconds)
  single.bodiesCondemned.set(bodies.condemned)
  single.bodiesCondemnedOldest.set(bodies.oldestCondemnedSeconds ?? 0)
  single.slotsWanted.set(figures.slots.wanted)
  single.slotsFleet.set(figures.slots.fleet)
  single.withoutDay.set(figures.rowsWithoutDay)
  single.running.set(figures.running)
  single.renders.set(figures.rendersThisMonth)
  single.certificates.set(figures.certificates.stored)
  single.failing.set(figures.certificates.failing)
  const { soonestEndSeconds } = figures.certificates
  if (soonestEndSeconds === null) single.soonestEnd.remove()
  else single.soonestEnd.set(soonestEndSeconds)
}

function clearGauges({ tasks, byLabel, single }: FleetGauges): void {
  for (const gauge of Object.values(tasks)) gauge.reset()
  for (const gauge of Object.values(byLabel)) gauge.reset()
  // `reset` would set a gauge without labels to 0.
  for (const gauge of Object.values(single)) gauge.remove()
}

export type FleetFigures = {
  queue: { priority: 'live' | 'refresh' | 'warm'; queued: number; headAgeSeconds: number }[]
  running: number
  slots: { wanted: number; fleet: number }
  /** Domains by share of monthly renders used; domains without renders are omitted. */
  quota: Record<QuotaRange, number>
  rendersThisMonth: number
  certificates: CertificateFigures
  nodes: Record<NodeState, number>
  incidents: { kind: string; count: number }[]
  tasks: KindState[]
  deliveries: { waiting: number; oldestSeconds: number }
  /** Rows of times that have no partition. */
  rowsWithoutDay: number
  bodies: BodyFigures
}

const NODE_STATES = ['serving', 'draining', 'dead'] as const
type NodeState = (typeof NODE_STATES)[number]

export const QUOTA_RANGES = ['under_80', '80_to_100', '100_to_120', '120'] as const
type QuotaRange = (typeof QUOTA_RANGES)[number]

/** At most so many jobs of a priority are counted, to keep scrapes of long queues cheap. */
const MAX_COUNTED = 100_000

// `age` is that of the oldest waiting job.
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

const WITHOUT_DAY = `
  select (select count(*)::int from (select from traffic_minute_default limit 1000) t)
         + (select count(*)::int from (select from render_record_default limit 1000) r)
         + (select count(*)::int from (select from job_ended_default limit 1000) j) as count`

// `dead` as in packages/service/src/insight/fleet/node.ts.
const NODES = `
  select count(*) filter (where lives and not draining)::int as serving,
         count(*) filter (where lives and draining)::int as draining,
         count(*) filter (where not lives)::int as dead
    from (select draining, seen_at >= clock_timestamp() - interval '15 seconds' as lives from node) n`

const SLOTS = `
  select render_slots_wanted($1) as wanted,
         (select coalesce(sum(slots), 0)::int from node
           where not draining and seen_at >= clock_timestamp() - interval '15 seconds') as fleet`

export async function readFleetFigures(
  db: Queryable,
  month: string,
  limits: Readonly<Record<string, number>>,
  scaleTargetSeconds: number,
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
  const slots = await db.query<FleetFigures['slots']>({
    name: 'metrics-slots',
    text: SLOTS,
    values: [scaleTargetSeconds],
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
  const withoutDay = await db.query<{ count: number }>({ name: 'metrics-without-day', text: WITHOUT_DAY })
  return {
    incidents: incidents.rows,
    rowsWithoutDay: withoutDay.rows[0]!.count,
    tasks: await readTaskKinds(db),
    deliveries: deliveries.rows[0]!,
    bodies: await readBodyFigures(db),
    queue: queue.map(({ priority, queued, age }) => ({ priority, queued, headAgeSeconds: Math.max(0, age) })),
    running: running.rows[0]?.running ?? 0,
    slots: slots.rows[0]!,
    quota,
    rendersThisMonth: renders,
    certificates: await readCertificateFigures(db),
    nodes: nodes.rows[0] ?? { serving: 0, draining: 0, dead: 0 },
  }
}

/** Counts active domains only, as others may have moved away. */
type CertificateFigures = {
  stored: number
  /** Time until the first certificate ends, at least 0. Null if there are no certificates. */
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

import type { Queryable } from '../../db/transaction.ts'

/** Of the whole fleet, as PostgreSQL has it; every node that is asked says the same. */
export type FleetFigures = {
  queue: { priority: 'live' | 'refresh' | 'warm'; queued: number; headAgeSeconds: number }[]
  running: number
  /** Domains by how much of the month's renders they have used; those without a render are not among them. */
  quota: Record<QuotaRange, number>
  rendersThisMonth: number
  certificates: CertificateFigures
  /** By state; dead ones as long as they are listed. */
  nodes: Record<NodeState, number>
}

export const NODE_STATES = ['serving', 'draining', 'dead'] as const
type NodeState = (typeof NODE_STATES)[number]

export const QUOTA_RANGES = ['under_80', '80_to_100', '100_to_120', '120'] as const
type QuotaRange = (typeof QUOTA_RANGES)[number]

/** More queued jobs of one priority than this are not counted: a scrape must stay cheap when the queue is long. */
export const COUNTED_AT_MOST = 100_000

// The job that has waited longest.
const QUEUE = `
  select p.name as priority,
         (select count(*)::int from (select from job where state = 'queued' and priority = p.number limit ${COUNTED_AT_MOST}) j) as queued,
         coalesce((select extract(epoch from now() - created_at)::float8 from job
                    where state = 'queued' and priority = p.number and run_at <= now() order by created_at limit 1), 0) as age
    from (values (0, 'live'), (1, 'refresh'), (2, 'warm')) as p (number, name)`

const QUOTA = `
  select count(*) filter (where c.renders * 5 < p.most * 4)::int as "under_80",
         count(*) filter (where c.renders * 5 >= p.most * 4 and c.renders < p.most)::int as "80_to_100",
         count(*) filter (where c.renders >= p.most and c.renders * 5 < p.most * 6)::int as "100_to_120",
         count(*) filter (where c.renders * 5 >= p.most * 6)::int as "120",
         coalesce(sum(c.renders), 0)::float8 as renders
    from render_count c
    join domain d on d.id = c.domain_id
    join account a on a.id = d.account_id
    join unnest($2::text[], $3::bigint[]) as p (plan, most) on p.plan = a.plan
   where c.month = $1`

// Dead after three beats, as in src/insight/fleet/node.ts.
const NODES = `
  select count(*) filter (where lives and not draining)::int as serving,
         count(*) filter (where lives and draining)::int as draining,
         count(*) filter (where not lives)::int as dead
    from (select draining, seen_at >= clock_timestamp() - interval '15 seconds' as lives from node) n`

/** Reads them; `limits`: renders a month by plan. Four queries, each bounded. */
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
  return {
    queue: queue.map(({ priority, queued, age }) => ({ priority, queued, headAgeSeconds: Math.max(0, age) })),
    running: running.rows[0]?.running ?? 0,
    quota,
    rendersThisMonth: renders,
    certificates: await readCertificateFigures(db),
    nodes: nodes.rows[0] ?? { serving: 0, draining: 0, dead: 0 },
  }
}

/** Of active domains: those that are switched off may have moved away. */
type CertificateFigures = {
  stored: number
  /** Until the first of them ends, 0 where it has; null: there is none. */
  soonestEndSeconds: number | null
  /** Domains whose last order came to nothing. */
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
  // `greatest` knows no null.
  return { stored, soonestEndSeconds: stored === 0 ? null : soonestEndSeconds, failing }
}

import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { BodyMetrics } from './body-metrics.ts'
import { EdgeMetrics } from './edge-metrics.ts'
import { type FleetFigures, FleetMetrics } from './fleet-metrics.ts'
import { addGauge } from './gauge.ts'
import { type ProcessMetrics, textOfAll } from './process-metrics.ts'
import { RenderMetrics } from './render-metrics.ts'
import { PROCESS_KINDS, treeMemory } from './tree-memory.ts'

/** What a node shows at `GET /metrics`. Labels never contain a domain, an account or a path: see docs/operations.md. */
export class Metrics {
  readonly edge: EdgeMetrics
  readonly bodies: BodyMetrics
  readonly render: RenderMetrics
  readonly #registry = new Registry()
  readonly #fleet: FleetMetrics

  constructor(
    node: WatchedNode,
    slots: number,
    readFleet: () => Promise<FleetFigures>,
    clock: Clock,
    log: Log,
  ) {
    addNodeMetrics(this.#registry, node)
    this.#fleet = new FleetMetrics(this.#registry, readFleet, clock, log)
    this.edge = new EdgeMetrics(this.#registry)
    this.bodies = new BodyMetrics(this.#registry)
    this.render = new RenderMetrics(this.#registry, slots)
  }

  /** Returns all metrics in the format of Prometheus, with those of further processes. Does not need the database. */
  async text(others: readonly ProcessMetrics[] = []): Promise<{ body: string; type: string }> {
    await this.#fleet.refresh()
    const body =
      others.length === 0
        ? await this.#registry.metrics()
        : await textOfAll(await this.#registry.getMetricsAsJSON(), others)
    return { body, type: this.#registry.contentType }
  }
}

type WatchedNode = {
  version: string
  pools: readonly { readonly totalCount: number; readonly idleCount: number; readonly waitingCount: number }[]
  listener: { readonly connected: boolean }
  availability: { readonly awayMs: number }
  /** Is null on a node that keeps none. */
  snapshot: { readonly domains: number; readonly bytes: number; readonly ageMs: number | null } | null
}

function addNodeMetrics(
  registry: Registry,
  { version, pools, listener, availability, snapshot }: WatchedNode,
): void {
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  new Gauge({ name: 'prepaint_build_info', help: 'Always 1', labelNames: ['version'], registers }).set(
    { version },
    1,
  )
  new Gauge({
    name: 'prepaint_tree_memory_bytes',
    help: 'Bytes of the node with its browsers and its private PostgreSQL; shared memory counts once (PSS)',
    labelNames: ['part'],
    registers,
    async collect() {
      const bytes = await treeMemory()
      for (const part of PROCESS_KINDS) this.set({ part }, bytes[part])
    },
  })
  new Gauge({
    name: 'prepaint_database_connections',
    help: 'Connections of the pools, and queries that wait for one',
    labelNames: ['state'],
    registers,
    collect() {
      const sum = (count: (pool: (typeof pools)[number]) => number) =>
        pools.reduce((total, pool) => total + count(pool), 0)
      this.set(
        { state: 'in_use' },
        sum(({ totalCount, idleCount }) => totalCount - idleCount),
      )
      this.set(
        { state: 'idle' },
        sum(({ idleCount }) => idleCount),
      )
      this.set(
        { state: 'waiting' },
        sum(({ waitingCount }) => waitingCount),
      )
    },
  })
  addGauge(registry, 'prepaint_listener_connected', '1 while notifications of PostgreSQL arrive', () =>
    Number(listener.connected),
  )
  addGauge(
    registry,
    'prepaint_database_away_seconds',
    'How long PostgreSQL has been away; 0: it is there',
    () => Math.ceil(availability.awayMs / 1_000),
  )
  if (snapshot === null) return
  addGauge(
    registry,
    'prepaint_snapshot_domains',
    'Domains in the snapshot on the disk',
    () => snapshot.domains,
  )
  addGauge(registry, 'prepaint_snapshot_bytes', 'Size of the snapshot on the disk', () => snapshot.bytes)
  addGauge(
    registry,
    'prepaint_snapshot_age_seconds',
    'Age of the snapshot on the disk; NaN: it is not complete yet',
    () => (snapshot.ageMs === null ? Number.NaN : Math.round(snapshot.ageMs / 1_000)),
  )
}

import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { createEdgeMetrics, type EdgeMetrics } from './edge-metrics.ts'
import type { FleetFigures } from './fleet-metrics.ts'
import { createFleetMetrics } from './fleet-metrics.ts'
import { createRenderMetrics, type RenderMetrics } from './render-metrics.ts'
import { PROCESS_KINDS, treeMemory } from './tree-memory.ts'

export type Metrics = {
  edge: EdgeMetrics
  render: RenderMetrics
  /** Prometheus format. Does not need the database. */
  text(): Promise<{ body: string; type: string }>
}

/** Labels never contain a domain, an account or a path: see docs/operations.md. */
export function createMetrics(
  node: WatchedNode,
  options: { slots: number },
  fleet: { read(): Promise<FleetFigures>; nowMs(): number; onFault(error: unknown): void },
): Metrics {
  const registry = new Registry()
  createNodeMetrics(registry, node)
  const { refresh } = createFleetMetrics(registry, fleet)
  return {
    edge: createEdgeMetrics(registry),
    render: createRenderMetrics(registry, options.slots),
    async text() {
      await refresh()
      return { body: await registry.metrics(), type: registry.contentType }
    },
  }
}

type WatchedNode = {
  version: string
  pool: { readonly totalCount: number; readonly idleCount: number; readonly waitingCount: number }
  listener: { readonly connected: boolean }
}

function createNodeMetrics(registry: Registry, { version, pool, listener }: WatchedNode): void {
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  new Gauge({ name: 'prepaint_build_info', help: 'Always 1', labelNames: ['version'], registers }).set(
    { version },
    1,
  )
  new Gauge({
    name: 'prepaint_tree_memory_bytes',
    help: 'Resident bytes of the node with its browsers and its private PostgreSQL',
    labelNames: ['part'],
    registers,
    collect() {
      const bytes = treeMemory()
      for (const part of PROCESS_KINDS) this.set({ part }, bytes[part])
    },
  })
  new Gauge({
    name: 'prepaint_database_connections',
    help: 'Connections of the pool, and queries that wait for one',
    labelNames: ['state'],
    registers,
    collect() {
      this.set({ state: 'in_use' }, pool.totalCount - pool.idleCount)
      this.set({ state: 'idle' }, pool.idleCount)
      this.set({ state: 'waiting' }, pool.waitingCount)
    },
  })
  new Gauge({
    name: 'prepaint_listener_connected',
    help: '1 while notifications of PostgreSQL arrive',
    registers,
    collect() {
      this.set(Number(listener.connected))
    },
  })
}

import { Registry } from 'prom-client'

import { createEdgeMetrics, type EdgeMetrics } from './edge-metrics.ts'
import type { FleetFigures } from './fleet-figures.ts'
import { createFleetMetrics } from './fleet-metrics.ts'
import { createNodeMetrics, type WatchedNode } from './node-metrics.ts'
import { createRenderMetrics, type RenderMetrics } from './render-metrics.ts'

export type Metrics = {
  edge: EdgeMetrics
  render: RenderMetrics
  /** All of it, as Prometheus reads it. Never rejects for a database that is away. */
  text(): Promise<{ body: string; type: string }>
}

/** All figures of one node. No label ever names a domain, an account or a path: see docs/operations.md. */
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

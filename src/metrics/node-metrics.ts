import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client'

import { PARTS, treeMemory } from './tree-memory.ts'

export type WatchedNode = {
  version: string
  pool: { readonly totalCount: number; readonly idleCount: number; readonly waitingCount: number }
  listener: { readonly connected: boolean }
}

/** What any node tells of itself: its processes, its connections to PostgreSQL. */
export function createNodeMetrics(registry: Registry, { version, pool, listener }: WatchedNode): void {
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
      for (const part of PARTS) this.set({ part }, bytes[part])
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

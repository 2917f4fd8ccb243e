import { randomUUID } from 'node:crypto'
import { availableParallelism, hostname, loadavg } from 'node:os'
import { utcMonth } from '@prepaint/contract/dates.ts'
import type { Listener } from '@prepaint/postgres/listener.ts'
import { lastMigration } from '@prepaint/postgres/migrate.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { type Registration, startRegistration } from '@prepaint/service/insight/fleet/registration.ts'
import { readFleetFigures } from '@prepaint/service/insight/metrics/fleet-metrics.ts'
import { createMetrics, type Metrics } from '@prepaint/service/insight/metrics/metrics.ts'
import { treeMemory } from '@prepaint/service/insight/metrics/tree-memory.ts'
import type pg from 'pg'
import type { Config } from '../settings/config.ts'

/** Unique for each run, because it names leases; pids repeat in containers. */
export function nodeId(): string {
  return `${hostname()}:${process.pid}:${randomUUID()}`
}

/** Reading the memory of all processes takes some milliseconds. */
const BEATS_PER_MEMORY_READING = 6

export function wireRegistration(deps: {
  config: Config
  pool: pg.Pool
  log: Log
  id: string
  isDraining(): boolean
  apiPort(): number | null
  worker: { readonly running: number } | null
  renderer: { readonly healthy: boolean; readonly browsers: { alive: number; started: number } } | null
}): Promise<Registration> {
  const { config, pool, log, id, isDraining, apiPort, worker, renderer } = deps
  let beats = 0
  let memoryBytes = 0
  const pulse = () => {
    if (beats++ % BEATS_PER_MEMORY_READING === 0) {
      memoryBytes = Object.values(treeMemory()).reduce((sum, bytes) => sum + bytes, 0)
    }
    return {
      apiPort: apiPort(),
      draining: isDraining(),
      running: worker?.running ?? 0,
      load: loadavg()[0] ?? 0,
      memoryBytes,
      browser:
        renderer === null ? ('none' as const) : renderer.healthy ? ('ok' as const) : ('broken' as const),
      ...(renderer !== null && { browsers: renderer.browsers }),
    }
  }
  return startRegistration(
    { pool, log, pulse },
    {
      id,
      host: hostname(),
      version: config.version,
      roles: [...config.roles],
      cores: availableParallelism(),
      slots: config.roles.has('render') ? config.render.slots : 0,
      schema: lastMigration(),
    },
  )
}

export function wireMetrics(deps: {
  config: Config
  pool: pg.Pool
  listener: Listener
  clock: Clock
  log: Log
}): Metrics {
  const { config, pool, listener, clock, log } = deps
  const limits = Object.fromEntries(
    Object.entries(config.plans).map(([name, plan]) => [name, plan.monthly_render_limit]),
  )
  return createMetrics(
    { version: config.version, pool, listener },
    { slots: config.roles.has('render') ? config.render.slots : 0 },
    {
      read: () => readFleetFigures(pool, utcMonth(clock.nowMs()), limits),
      nowMs: clock.nowMs,
      onFault: (error) => log.warn({ err: error }, 'the fleet metrics could not be read'),
    },
  )
}

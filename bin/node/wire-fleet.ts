import { randomUUID } from 'node:crypto'
import { availableParallelism, hostname, loadavg } from 'node:os'
import { utcMonth } from '@prepaint/contract/dates.ts'
import type { Listener } from '@prepaint/postgres/listener.ts'
import { lastMigration } from '@prepaint/postgres/migrate.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { BrowserState, NodePulse, NodeSelf } from '@prepaint/service/insight/fleet/node.ts'
import { Registration } from '@prepaint/service/insight/fleet/registration.ts'
import { readFleetFigures } from '@prepaint/service/insight/metrics/fleet-metrics.ts'
import { Metrics } from '@prepaint/service/insight/metrics/metrics.ts'
import { treeMemory } from '@prepaint/service/insight/metrics/tree-memory.ts'
import type pg from 'pg'
import type { Config } from '../settings/config.ts'

/** Unique for each run, because it names leases; pids repeat in containers. */
export function nodeId(): string {
  return `${hostname()}:${process.pid}:${randomUUID()}`
}

/** Reading the memory of all processes takes some milliseconds. */
const BEATS_PER_MEMORY_READING = 6

/** What changes of a node while it runs. */
export type NodeState = {
  readonly isDraining: boolean
  /** Null until the API listens. */
  readonly apiPort: number | null
  /** Both are null on a node that does not render. */
  readonly worker: { readonly running: number } | null
  readonly renderer: {
    readonly healthy: boolean
    readonly browsers: { alive: number; started: number }
  } | null
}

export function wireRegistration(
  config: Config,
  pool: pg.Pool,
  log: Log,
  id: string,
  readState: () => NodeState,
): Promise<Registration> {
  const self: NodeSelf = {
    id,
    host: hostname(),
    version: config.version,
    roles: [...config.roles],
    cores: availableParallelism(),
    slots: slotsOf(config),
    schema: lastMigration(),
  }
  const memory = new MemoryReading()
  return Registration.start(pool, log, self, (): NodePulse => {
    const { isDraining, apiPort, worker, renderer } = readState()
    return {
      apiPort,
      draining: isDraining,
      running: worker?.running ?? 0,
      load: loadavg()[0] ?? 0,
      memoryBytes: memory.next(),
      browser: browserState(renderer),
      browsers: renderer?.browsers,
    }
  })
}

/** Resident bytes of the node with its browsers, read again at every sixth beat. */
class MemoryReading {
  #beats = 0
  #bytes = 0

  next(): number {
    if (this.#beats % BEATS_PER_MEMORY_READING === 0) {
      this.#bytes = Object.values(treeMemory()).reduce((sum, bytes) => sum + bytes, 0)
    }
    this.#beats++
    return this.#bytes
  }
}

export function browserState(renderer: { readonly healthy: boolean } | null): BrowserState {
  if (renderer === null) return 'none'
  return renderer.healthy ? 'ok' : 'broken'
}

function slotsOf({ roles, render }: Config): number {
  return roles.has('render') ? render.slots : 0
}

export function wireMetrics(
  config: Config,
  pool: pg.Pool,
  listener: Listener,
  clock: Clock,
  log: Log,
): Metrics {
  const limits = Object.fromEntries(
    Object.entries(config.plans).map(([name, plan]) => [name, plan.monthly_render_limit]),
  )
  const readFleet = () => readFleetFigures(pool, utcMonth(clock.nowMs()), limits)
  return new Metrics({ version: config.version, pool, listener }, slotsOf(config), readFleet, clock, log)
}

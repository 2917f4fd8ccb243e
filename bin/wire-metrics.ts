import type pg from 'pg'

import { utcMonth } from '../src/accounts/month.ts'
import type { Clock } from '../src/clock.ts'
import type { Config } from '../src/config.ts'
import type { Listener } from '../src/db/listener.ts'
import type { Log } from '../src/log.ts'
import { readFleetFigures } from '../src/metrics/fleet-figures.ts'
import { createMetrics, type Metrics } from '../src/metrics/metrics.ts'

/** The figures of this node, and of the fleet as PostgreSQL has them. */
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
      onFault: (error) => log.warn({ err: error }, 'the figures of the fleet could not be read'),
    },
  )
}

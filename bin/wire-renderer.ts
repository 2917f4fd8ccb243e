import { randomBytes } from 'node:crypto'

import type { Clock } from '../src/clock.ts'
import type { Config } from '../src/config.ts'
import type { Database } from '../src/db/database.ts'
import type { Listener } from '../src/db/listener.ts'
import { createAddressGuard } from '../src/gateway/address-guard.ts'
import { startGateway } from '../src/gateway/gateway.ts'
import { createGuardedAgents } from '../src/gateway/guarded-agents.ts'
import type { Log } from '../src/log.ts'
import type { RenderMetrics } from '../src/metrics/render-metrics.ts'
import type { Ended } from '../src/queue/await.ts'
import { createDeployWatch } from '../src/queue/deploy.ts'
import { createProber } from '../src/queue/prober.ts'
import { startRefreshAhead } from '../src/queue/refresh-ahead.ts'
import { startWarmRuns } from '../src/queue/warm-runs.ts'
import { startWorker, type Worker } from '../src/queue/worker.ts'
import { identityOf } from '../src/render/identity.ts'
import { type Renderer, startRenderer } from '../src/render/renderer.ts'

/** Chromium behind its gateway. */
export function wireRenderer(deps: {
  config: Config
  clock: Clock
  log: Log
  say(line: string): void
}): Promise<Renderer> {
  const { config, clock, log, say } = deps
  return startRenderer({
    ...config.render,
    dataDir: config.dataDir,
    identity: identityOf(config),
    openGateway: () => startGateway({ allowed: config.allowedPrivateOrigins, preload: config.preload, log }),
    clock,
    log,
    onLongStep: say,
  })
}

/** What takes jobs from the queue to the renderer, and keeps the queue in order. */
export async function wireWorker(deps: {
  config: Config
  database: Pick<Database, 'pool' | 'connection'>
  listener: Listener
  renderer: Renderer
  clock: Clock
  log: Log
  metrics: RenderMetrics
  /** The name of this run of the node. */
  node: string
  /** Crawlers wait at this node: see `JobWaiter.ended`. */
  ended?: Ended
}): Promise<Worker> {
  const { config, database, listener, renderer, clock, log, metrics, node, ended } = deps
  const { pool, connection } = database
  metrics.watches(renderer)
  const prober = createProber(pool, randomBytes)
  const deploys = createDeployWatch({ pool, clock, log })
  const worker = await startWorker(
    {
      pool,
      connection,
      notifications: listener,
      ...(ended && { ended }),
      canRender: () => renderer.healthy,
      render: metrics.measured(renderer.render, clock.nowMs),
      prober: {
        async after(job, found, end, nowMs) {
          await deploys.after(job, found, end)
          return prober.after(job, found, end, nowMs)
        },
      },
      plans: config.plans,
      clock,
      log,
    },
    { node, slots: config.render.slots },
  )
  const agents = createGuardedAgents(createAddressGuard(config.allowedPrivateOrigins))
  const get = { agents, userAgent: identityOf(config) }
  const warmRuns = startWarmRuns({ pool, listener, plans: config.plans, get, clock, log })
  const ahead = startRefreshAhead({ pool, plans: config.plans, clock, log })
  return {
    get running() {
      return worker.running
    },
    enqueueLive: worker.enqueueLive,
    async close(deadlineMs) {
      await Promise.all([warmRuns.close(), ahead.close()])
      agents.close()
      await worker.close(deadlineMs)
    },
  }
}

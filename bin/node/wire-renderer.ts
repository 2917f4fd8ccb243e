import { randomBytes } from 'node:crypto'
import type { RenderRequest } from '@prepaint/contract/outcome/outcome.ts'
import { type Engine, startEngine } from '@prepaint/engine'
import { createAddressGuard, type GetOptions, type OpenOriginHeaders } from '@prepaint/outbound'
import { createClient } from '@prepaint/outbound/client'
import type { Ended } from '@prepaint/pages/queue/jobs/await.ts'
import { QueueWorker, type Worker } from '@prepaint/pages/queue/jobs/worker.ts'
import { Prober } from '@prepaint/pages/queue/judging/prober.ts'
import { DeployWatch } from '@prepaint/pages/queue/upkeep/deploy.ts'
import { DeviceChecks } from '@prepaint/pages/queue/upkeep/device-checks.ts'
import { RefreshAhead } from '@prepaint/pages/queue/upkeep/refresh-ahead.ts'
import { WarmReading } from '@prepaint/pages/queue/warm/warm-read.ts'
import { WarmSteps } from '@prepaint/pages/queue/warm/warm-step.ts'
import { IndexNow } from '@prepaint/pages/site-files/indexnow.ts'
import { RobotsFiles } from '@prepaint/pages/site-files/robots-files.ts'
import type { Database } from '@prepaint/postgres/database.ts'
import type { Listener } from '@prepaint/postgres/listener.ts'
import type { TaskRunner } from '@prepaint/postgres/tasks'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { identityOf } from '@prepaint/runtime/identity.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { RenderMetrics } from '@prepaint/service/insight/metrics/render-metrics.ts'
import ipaddr from 'ipaddr.js'
import type pg from 'pg'
import type { Config } from '../settings/config.ts'

export function wireEngine(deps: {
  config: Config
  clock: Clock
  log: Log
  say(line: string): void
}): Promise<Engine> {
  const { config, clock, log, say } = deps
  return startEngine({
    ...config.render,
    dataDir: config.dataDir,
    identity: identityOf(config),
    allowedPrivateOrigins: config.allowedPrivateOrigins,
    preload: config.preload,
    clock,
    log,
    onLongStep: say,
  })
}

export async function wireWorker(deps: {
  config: Config
  database: Pick<Database, 'pool' | 'connection'>
  tasks: TaskRunner
  listener: Listener
  engine: Engine
  clock: Clock
  log: Log
  metrics: RenderMetrics
  openHeaders: OpenOriginHeaders
  node: string
  /** Set if crawlers wait at this node: see `JobWaiter.ended`. */
  ended?: Ended
}): Promise<Worker> {
  const { config, database, tasks, listener, engine, clock, log, metrics, openHeaders } = deps
  const { node, ended } = deps
  const { pool, connection } = database
  metrics.watches(engine)
  const prober = new Prober(pool, randomBytes)
  const deploys = new DeployWatch(pool, clock, log)
  const worker = await QueueWorker.start(
    {
      pool,
      connection,
      notifications: listener,
      ended,
      canRender: () => engine.healthy,
      render: metrics.measured((request: RenderRequest) => engine.render(request), clock),
      draw: (request) => engine.inspect(request),
      openHeaders,
      sites: {
        async after(job, found, end, nowMs) {
          await deploys.after(job.page, found, end)
          return prober.after(job, found, end, nowMs)
        },
      },
      plans: config.plans,
      clock,
      log,
    },
    { node, slots: config.render.slots, liveWaitMs: config.edge.liveWaitMs },
  )
  const origins = createClient(createAddressGuard(config.allowedPrivateOrigins))
  const get = { origins, userAgent: identityOf(config) }
  tasks.add(new WarmReading({ pool, get, openHeaders, clock, log }))
  tasks.add(new WarmSteps({ pool, plans: config.plans, clock }))
  const indexNow = wireIndexNow({ config, tasks, pool, get, openHeaders, clock, log })
  tasks.add(new RefreshAhead(pool, config.plans, clock))
  tasks.add(new DeviceChecks(pool, config.plans, clock))
  return {
    get running() {
      return worker.running
    },
    enqueueLive: worker.enqueueLive,
    async close(deadlineMs) {
      indexNow?.close()
      origins.close()
      await worker.close(deadlineMs)
    },
  }
}

/** Runs where pages are rendered. The endpoint is the operator's, who may have it at any address. */
function wireIndexNow({
  config,
  tasks,
  pool,
  get,
  openHeaders,
  clock,
  log,
}: {
  config: Config
  tasks: TaskRunner
  pool: pg.Pool
  get: GetOptions
  openHeaders: OpenOriginHeaders
  clock: Clock
  log: Log
}): { close(): void } | null {
  const url = config.indexNowUrl
  if (url === null) return null
  const anywhere = ['0.0.0.0/0', '::/0'].map((cidr) => ({ cidr: ipaddr.parseCIDR(cidr), port: null }))
  const origins = createClient(createAddressGuard(anywhere))
  const robots = new RobotsFiles({ db: pool, pool, get, openHeaders, clock, log })
  tasks.add(new IndexNow({ pool, url, origins, robots, clock, log }))
  return origins
}

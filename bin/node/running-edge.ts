import type tls from 'node:tls'
import { createAddressGuard } from '@prepaint/outbound'
import { JobWaiter } from '@prepaint/pages/queue/jobs/await.ts'
import { BodyStore } from '@prepaint/pages/store/bodies/body-store.ts'
import { Availability } from '@prepaint/postgres/availability.ts'
import { openDatabase } from '@prepaint/postgres/database.ts'
import { createListener, type Listener } from '@prepaint/postgres/listener.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { Vault } from '@prepaint/service/certificates/vault/vault.ts'
import { DatabaseClock } from '@prepaint/service/insight/fleet/database-clock.ts'
import { EdgeProcessMetrics, type ProcessMetrics } from '@prepaint/service/insight/metrics/process-metrics.ts'
import { createOpenOriginHeaders } from '@prepaint/service/sites/origin-headers.ts'
import { databaseOf, EdgeSnapshot } from '@prepaint/service/snapshot/edge-snapshot.ts'
import { type Config, shareOfProcess } from '../settings/config.ts'
import { ClosingStack, DrainableServer } from './closing-stack.ts'
import type { EdgeTask, FromEdgeProcess } from './edge-processes.ts'
import { IdleMemory } from './idle-memory.ts'
import { listen } from './listen.ts'
import { openDiskTier } from './open-disk-tier.ts'
import { openEdge } from './open-edge.ts'
import { Outage } from './outage.ts'

const REPORT_MS = 1_000

/** The edge in a process of its own: all that it needs, and `tell` to answer the node. */
export class RunningEdge {
  readonly #opened: ClosingStack
  readonly #listener: Listener
  readonly #metrics: EdgeProcessMetrics
  readonly #secure: tls.Server | null

  private constructor(
    opened: ClosingStack,
    listener: Listener,
    metrics: EdgeProcessMetrics,
    secure: tls.Server | null,
  ) {
    this.#opened = opened
    this.#listener = listener
    this.#metrics = metrics
    this.#secure = secure
  }

  /** `settings` are those of the node. */
  static async start(
    settings: Config,
    task: EdgeTask,
    givenLog: Log,
    tell: (message: FromEdgeProcess) => void,
  ): Promise<RunningEdge> {
    const config = shareOfProcess(settings)
    const opened = new ClosingStack(systemClock, givenLog)
    const { databaseUrl, ports, ticketKeys } = task
    const database = await openDatabase({ databaseUrl, dataDir: config.dataDir, log: givenLog })
    opened.add('database', () => database.close())
    const { pool } = database
    const availability = new Availability(database, givenLog)
    opened.add('availability', () => availability.close())
    const { log } = availability
    const clock = await DatabaseClock.start(pool, log)
    opened.add('clock', async () => clock.close())
    const listener = await createListener(database.connection, log)
    opened.add('listener', () => listener.close())
    availability.watch(listener)
    listener.onServerLeaving(() => availability.leaveServer())
    listener.onLost(() => availability.suspect())

    const metrics = new EdgeProcessMetrics()
    const disk = openDiskTier(settings, task.number, log)
    const bodies = new BodyStore(config.bodies, pool, log, { meter: metrics.bodies, disk })
    opened.add('bodies', () => bodies.close())
    const vault = new Vault(pool, config.dataDir, config.secretKeys)
    const openHeaders = createOpenOriginHeaders(vault, log)
    // Only read: the node's own process writes it.
    const { dataDir } = config
    const snapshot =
      config.edge.snapshotHours === 0
        ? null
        : new EdgeSnapshot(databaseOf(database.connection), { dataDir, vault, openHeaders, clock, log })
    opened.add('snapshot', async () => snapshot?.close())
    const { edge, records, close } = openEdge(config, {
      pool,
      availability,
      bodies,
      outage: new Outage(availability, snapshot),
      clock,
      listener,
      guard: createAddressGuard(config.allowedPrivateOrigins),
      vault,
      openHeaders,
      metrics: metrics.edge,
      bodyMetrics: metrics.bodies,
      disk,
      waiter: new JobWaiter(listener, pool, log),
      findEnqueueLive: () => null,
      log,
    })
    opened.add('edge', close)
    if (ticketKeys !== null) edge.secure?.setTicketKeys(Buffer.from(ticketKeys, 'base64'))
    await listener.settled()

    const { server, secure, endSessions } = edge
    const drainable = new DrainableServer(server, { secure, begin: endSessions })
    const { host } = config.edge
    await listen(server, { host, port: ports.http, shared: true, setting: 'PREPAINT_EDGE' })
    opened.add('edge server', (deadline) => drainable.drain(deadline))
    if (secure !== null && ports.tls !== null)
      await listen(secure, { host, port: ports.tls, shared: true, setting: 'PREPAINT_EDGE_TLS' })

    let told = 0
    const reporting = setInterval(() => {
      const count = records.answeredAtOnce
      if (count !== told) tell({ kind: 'answered-at-once', count })
      told = count
    }, REPORT_MS)
    opened.add('reports', async () => clearInterval(reporting))
    const idleMemory = new IdleMemory()
    opened.add('idle memory', () => idleMemory.close())
    return new RunningEdge(opened, listener, metrics, secure)
  }

  useTicketKeys(keys: Buffer): void {
    this.#secure?.setTicketKeys(keys)
  }

  /** Resolves when notifications of earlier commits have arrived; see `Listener`. */
  caughtUp(): Promise<void> {
    return this.#listener.caughtUp()
  }

  metrics(): Promise<ProcessMetrics> {
    return this.#metrics.values()
  }

  async close(withinMs: number): Promise<void> {
    await this.#opened.closeAll(withinMs)
  }
}

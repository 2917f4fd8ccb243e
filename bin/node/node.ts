import type net from 'node:net'
import type { AddressInfo } from 'node:net'
import type { InspectionRequest } from '@prepaint/contract/outcome/renderer.ts'
import type { Engine } from '@prepaint/engine'
import { type AddressGuard, createAddressGuard, type OpenOriginHeaders } from '@prepaint/outbound'
import { InspectionWorker } from '@prepaint/pages/inspection/inspection-worker.ts'
import { JobWaiter } from '@prepaint/pages/queue/jobs/await.ts'
import type { Worker } from '@prepaint/pages/queue/jobs/worker.ts'
import { type Database, openDatabase } from '@prepaint/postgres/database.ts'
import { DatabaseTimeouts } from '@prepaint/postgres/database-timeouts.ts'
import { createListener, type Listener } from '@prepaint/postgres/listener.ts'
import { migrate } from '@prepaint/postgres/migrate.ts'
import { TaskRunner } from '@prepaint/postgres/tasks'
import { type Clock, systemClock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { createVault, type Vault } from '@prepaint/service/certificates/vault/vault.ts'
import { DatabaseClock } from '@prepaint/service/insight/fleet/database-clock.ts'
import type { Registration } from '@prepaint/service/insight/fleet/registration.ts'
import type { Metrics } from '@prepaint/service/insight/metrics/metrics.ts'
import { createOpenOriginHeaders } from '@prepaint/service/sites/origin-headers.ts'
import type pg from 'pg'
import { CommandError } from '../command-line/command.ts'
import type { Config } from '../settings/config.ts'
import { warnOfSettings } from '../settings/ignored-settings.ts'
import { ClosingStack, drainable } from './closing-stack.ts'
import { firstAccountLine } from './first-account.ts'
import { checkPorts, type ListenWhere, listen } from './listen.ts'
import { startPeopleFirst } from './people-first.ts'
import { createReadinessCheck, createReadinessServer } from './readiness.ts'
import { Retention } from './retention.ts'
import { SCHEMA } from './schema.ts'
import { wireApi } from './wire-api.ts'
import { checkMasterKey, wireCertificates, wireOrdering } from './wire-certificates.ts'
import { wireEdge } from './wire-edge.ts'
import { nodeId, wireMetrics, wireRegistration } from './wire-fleet.ts'
import { wireNotifications } from './wire-notifications.ts'
import { wireEngine, wireWorker } from './wire-renderer.ts'

export type Node = {
  /** `http://host:port`. A node without the role `api` serves /readyz there. */
  api: string
  /** Null: no role `edge`. */
  edge: string | null
  /** Null: no edge, or the default TLS port was in use. */
  edgeTls: string | null
  pool: pg.Pool
  /** Settles when a migration is applied that this version cannot work with. */
  outdated: Promise<string>
  close(): Promise<void>
}

type Start = { config: Config; log: Log; say(line: string): void; signal: AbortSignal }
type Ports = { api: ListenWhere; edge: ListenWhere; tls: ListenWhere }
type Base = Start & {
  id: string
  opened: ClosingStack
  database: Database
  timeouts: DatabaseTimeouts
  clock: Clock
  listener: Listener
  tasks: TaskRunner
  guard: AddressGuard
  metrics: Metrics
  vault: Vault
  openHeaders: OpenOriginHeaders
  isDraining(): boolean
}
type Rendering = { engine: Engine; worker: Worker } | null

const DRAIN_MS = 10_000

/** Closes the parts in reverse order, ports first; also if a part fails to start or `signal` aborts. */
export async function startNode(start: Start): Promise<Node> {
  const { config, log, signal } = start
  warnOfSettings(config, log)
  const ports = portsOf(config)
  await checkPorts(neededPorts(config, ports))
  signal.throwIfAborted()

  const opened = new ClosingStack(systemClock, log)
  let draining = false
  let registration: Registration | null = null
  let apiPort: number | null = null
  const close = async () => {
    draining = true
    void registration?.beat()
    await opened.closeAll(DRAIN_MS)
  }
  try {
    // Takes as long as the database's start.
    const engine = config.roles.has('render') ? beginEngine(start, opened) : null
    const base = await openBase(start, opened, () => draining)
    engine?.useClock(base.clock)
    // Integrations request pages through the API, so it needs the waiter as well.
    const isServing = config.roles.has('edge') || config.roles.has('api')
    const waiter = isServing ? new JobWaiter(base.listener, base.database.pool, log) : null
    const rendering = engine && (await openRendering(base, await engine.started, waiter))
    const joined = await wireRegistration(config, base.database.pool, log, base.id, () => ({
      isDraining: draining,
      apiPort,
      worker: rendering?.worker ?? null,
      renderer: rendering?.engine ?? null,
    }))
    registration = joined
    opened.add('registration', () => joined.close())
    const addresses = await openServers(base, rendering, waiter, ports)
    // Last, because tasks use what was opened before, such as the edge, which responds to the CA.
    base.tasks.start()
    opened.add('tasks', () => base.tasks.close())
    apiPort = Number(new URL(addresses.api).port || 80)
    void joined.beat()
    return { ...addresses, pool: base.database.pool, outdated: joined.outdated, close }
  } catch (error) {
    await close()
    throw error
  }
}

function portsOf({ api, edge }: Config): Ports {
  const { host, port, tlsPort, sharePort: shared } = edge
  return {
    api: { ...api, setting: 'PREPAINT_API' },
    edge: { host, shared, port, setting: 'PREPAINT_EDGE' },
    tls: { host, shared, port: tlsPort, setting: 'PREPAINT_EDGE_TLS', scheme: 'https' },
  }
}

function neededPorts({ roles, edge }: Config, ports: Ports): ListenWhere[] {
  if (!roles.has('edge')) return [ports.api]
  return edge.tlsPortGiven ? [ports.api, ports.edge, ports.tls] : [ports.api, ports.edge]
}

async function openBase(start: Start, opened: Base['opened'], isDraining: () => boolean): Promise<Base> {
  const { config, log, say, signal } = start
  const { databaseUrl, dataDir } = config
  const database = await openDatabase({ databaseUrl, dataDir, log, onLongStep: say })
  opened.add('database', () => database.close())
  signal.throwIfAborted()
  const { pool, connection } = database
  await migrate(connection, SCHEMA, log)
  const timeouts = new DatabaseTimeouts(pool, connection, log)
  opened.add('database timeouts', async () => timeouts.close())
  const clock = await DatabaseClock.start(pool, log)
  opened.add('clock', async () => clock.close())
  const listener = await createListener(connection, log)
  opened.add('listener', () => listener.close())
  const tasks = new TaskRunner(pool, listener, log)
  tasks.add(new Retention(pool, clock, log))
  const guard = createAddressGuard(config.allowedPrivateOrigins)
  const metrics = wireMetrics(config, pool, listener, clock, log)
  const vault = createVault({ pool, keys: config.secretKeys, dataDir })
  await checkMasterKey({ config, vault, log })
  signal.throwIfAborted()
  return {
    ...start,
    id: nodeId(),
    opened,
    database,
    timeouts,
    clock,
    listener,
    tasks,
    guard,
    metrics,
    vault,
    openHeaders: createOpenOriginHeaders(vault, log),
    isDraining,
  }
}

function beginEngine({ config, log, say }: Start, opened: Base['opened']) {
  let clock: Clock = systemClock
  const started = wireEngine({ config, log, say, clock: { nowMs: () => clock.nowMs() } })
  const ended = started.then(
    (engine) => () => engine.close(),
    () => async () => {},
  )
  opened.add('renderer', async () => (await ended)())
  return {
    started,
    useClock(given: Clock) {
      clock = given
    },
  }
}

async function openRendering(
  base: Base,
  engine: Engine,
  waiter: JobWaiter | null,
): Promise<NonNullable<Rendering>> {
  const { config, opened, database, tasks, listener, clock, log, id: node } = base
  const { pool } = database
  const worker = await wireWorker({
    config,
    database,
    tasks,
    listener,
    engine,
    clock,
    log,
    node,
    metrics: base.metrics.render,
    openHeaders: base.openHeaders,
    ...(waiter && { ended: waiter.ended }),
  })
  opened.add('worker', ({ remainingMs }) => worker.close(remainingMs()))
  const look = (request: InspectionRequest) => engine.inspect(request)
  tasks.add(new InspectionWorker({ pool, look, openHeaders: base.openHeaders }))
  return { engine, worker }
}

/** Their ports open last and close first. */
async function openServers(
  base: Base,
  rendering: Rendering,
  waiter: JobWaiter | null,
  ports: Ports,
): Promise<Pick<Node, 'api' | 'edge' | 'edgeTls'>> {
  const { config, opened, listener, signal } = base
  const { roles } = config
  const certificates = roles.has('edge') ? wireCertificates({ ...base, db: base.timeouts.db }) : null
  const { pool } = base.database
  const enqueueLive = rendering?.worker.enqueueLive ?? null
  const live =
    waiter && wireEdge({ ...base, pool, certificates, metrics: base.metrics.edge, waiter, enqueueLive })
  const apiHttp = await openApi(base, rendering, live)
  opened.add('API', apiHttp.close)
  if (live !== null) opened.add('edge', live.close)
  if (live !== null && rendering !== null)
    opened.add('people first', startPeopleFirst(live.answeredAtOnce, rendering.engine).close)
  await listener.settled()
  signal.throwIfAborted()

  if (roles.has('api')) opened.add('notifications', (await wireNotifications({ ...base, pool })).close)

  const apiServer = drainable(apiHttp.server, { begin: apiHttp.endStreams })
  const api = await listen(apiHttp.server, ports.api)
  opened.add('API server', apiServer.drain)
  if (roles.has('api')) await sayFirstAccount(base, api)
  if (live === null || !roles.has('edge')) return { api, edge: null, edgeTls: null }
  const edgeServer = drainable(live.server, { secure: live.secure, begin: live.endSessions })
  const edge = await listen(live.server, ports.edge)
  opened.add('edge server', edgeServer.drain)
  const edgeTls = live.secure === null ? null : await listenForTls(live.secure, ports.tls, base)
  const ordering = wireOrdering({ ...base, pool })
  if (ordering !== null) opened.add('certificates', () => ordering.close())
  return { api, edge, edgeTls }
}

function openApi(base: Base, rendering: Rendering, live: ReturnType<typeof wireEdge> | null) {
  const { config, database, metrics } = base
  const renderer = rendering?.engine ?? null
  const checkReadiness = createReadinessCheck(database.pool, renderer, base.isDraining)
  if (config.roles.has('api') && live !== null) {
    const { integrations, robots, server } = live
    const edgePort = () => (server.address() as AddressInfo | null)?.port ?? null
    return wireApi({
      ...base,
      pool: database.pool,
      checkReadiness,
      integrations,
      robots,
      edgePort,
      readMetrics: () => metrics.text(),
    })
  }
  const server = createReadinessServer(checkReadiness, () => metrics.text(), config.metricsToken)
  return { server, endStreams: () => {}, close: async () => {} }
}

async function sayFirstAccount({ config, database, clock, say }: Base, api: string): Promise<void> {
  const { plans, publicUrl } = config
  const line = await firstAccountLine(database.pool, plans, clock, publicUrl ?? api)
  if (line !== null) say(line)
}

/** Another program on the default port: run without TLS. */
async function listenForTls(
  server: net.Server,
  where: ListenWhere,
  { config, log }: Base,
): Promise<string | null> {
  try {
    return await listen(server, where)
  } catch (error) {
    if (config.edge.tlsPortGiven || !(error instanceof CommandError)) throw error
    log.warn({ reason: error.message }, 'this node serves no TLS')
    return null
  }
}

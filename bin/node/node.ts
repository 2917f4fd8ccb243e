import type net from 'node:net'

import type pg from 'pg'

import { createVault } from '../../src/certificates/vault/vault.ts'
import { systemClock } from '../../src/clock.ts'
import type { Config } from '../../src/config.ts'
import { openDatabase } from '../../src/db/database.ts'
import { createPatience } from '../../src/db/database-timeouts.ts'
import { createListener } from '../../src/db/listener.ts'
import { migrate } from '../../src/db/migrate.ts'
import { warnOfUnused } from '../../src/ignored-settings.ts'
import { startDatabaseClock } from '../../src/insight/fleet/database-clock.ts'
import type { Registration } from '../../src/insight/fleet/registration.ts'
import type { Log } from '../../src/log.ts'
import { createAddressGuard } from '../../src/outbound/address-guard.ts'
import { createJobWaiter } from '../../src/queue/jobs/await.ts'
import type { Worker } from '../../src/queue/jobs/worker.ts'
import { findBrowser } from '../../src/render/browser/browser-binary.ts'
import { CommandError } from '../command-line/command.ts'
import { createClosingStack, drainable } from './closing-stack.ts'
import { firstAccountLine } from './first-account.ts'
import { checkPorts, type ListenWhere, listen } from './listen.ts'
import { createReadinessCheck, createReadinessServer } from './readiness.ts'
import { startRetention } from './retention.ts'
import { wireApi } from './wire-api.ts'
import { checkMasterKey, wireCertificates, wireOrdering } from './wire-certificates.ts'
import { wireEdge } from './wire-edge.ts'
import { nodeId, wireMetrics, wireRegistration } from './wire-fleet.ts'
import { wireInspections, wireRenderer, wireWorker } from './wire-renderer.ts'

export type Node = {
  /** Where it listens, `http://host:port`. Also a node without the role `api` answers /readyz there. */
  api: string
  /** null: the node does not have the role `edge`. */
  edge: string | null
  /** The same with TLS; null: its usual port was taken, and nobody had asked for it. */
  edgeTls: string | null
  pool: pg.Pool
  /** Settles with the migration that this version does not know and cannot work with, should one be applied. */
  outdated: Promise<string>
  close(): Promise<void>
}

/** How long requests and renders that are under way may still take once we have been asked to end. */
const DRAIN_MS = 10_000

/**
 * Builds a node in its roles, in order, and closes it in reverse: first the
 * doors, then what works behind them, the database last. When a part does not
 * start, or `signal` aborts before all of them have, those before it are closed
 * and its error is thrown.
 */
export async function startNode(deps: {
  config: Config
  log: Log
  say(line: string): void
  signal: AbortSignal
}): Promise<Node> {
  const { config, log, say, signal } = deps
  const { roles } = config
  warnOfUnused(config, log)
  const apiAt = { ...config.api, setting: 'PREPAINT_API' }
  const { host, sharePort: shared } = config.edge
  const edgeAt = { host, shared, port: config.edge.port, setting: 'PREPAINT_EDGE' }
  const tlsAt = {
    host,
    shared,
    port: config.edge.tlsPort,
    setting: 'PREPAINT_EDGE_TLS',
    scheme: 'https',
  } as const
  const asked = config.edge.tlsPortGiven ? [edgeAt, tlsAt] : [edgeAt]
  await checkPorts(roles.has('edge') ? [apiAt, ...asked] : [apiAt])
  signal.throwIfAborted()

  const opened = createClosingStack({ clock: systemClock, log })
  let draining = false
  let registration: Registration | null = null
  const close = async () => {
    draining = true
    void registration?.beat()
    await opened.closeAll(DRAIN_MS)
  }
  try {
    const { databaseUrl, dataDir } = config
    // Unpacked while the database is being made: a first start is seconds shorter. Why it fails, the renderer says.
    const unpacked = roles.has('render')
      ? findBrowser({ ...config.render, dataDir, onLongStep: say }).catch(() => null)
      : null
    const database = await openDatabase({ databaseUrl, dataDir, log, onLongStep: say })
    opened.add('database', database.close)
    signal.throwIfAborted()
    const { pool, connection } = database
    await migrate(connection, log)
    const patience = createPatience({ pool, connection, log })
    opened.add('patience', async () => patience.close())
    const clock = await startDatabaseClock({ pool, log })
    opened.add('clock', async () => clock.close())

    const listener = await createListener(connection, log)
    opened.add('listener', listener.close)
    opened.add('retention', startRetention({ pool, clock, log }).close)
    const guard = createAddressGuard(config.allowedPrivateOrigins)
    const metrics = wireMetrics({ config, pool, listener, clock, log })

    const vault = createVault({ pool, keys: config.secretKeys, dataDir })
    await checkMasterKey({ config, vault, log })
    const certificates = roles.has('edge')
      ? wireCertificates({ db: patience.db, listener, vault, clock, log })
      : null

    await unpacked
    signal.throwIfAborted()
    const id = nodeId()
    const renderer = roles.has('render') ? await wireRenderer({ config, clock, log, say }) : null
    // The API has doors to the same pages for sites that keep their own front.
    const waiter = roles.has('edge') || roles.has('api') ? createJobWaiter(listener, pool, log) : null
    let worker: Worker | null = null
    if (renderer !== null) {
      opened.add('renderer', renderer.close)
      const working = await wireWorker({
        config,
        database,
        listener,
        renderer,
        clock,
        log,
        metrics: metrics.render,
        node: id,
        ...(waiter && { ended: waiter.ended }),
      })
      opened.add('worker', ({ remainingMs }) => working.close(remainingMs()))
      worker = working
      opened.add('inspections', wireInspections({ config, pool, listener, clock, log, node: id }).close)
    }

    const isDraining = () => draining
    registration = await wireRegistration({ config, pool, log, id, isDraining, worker, renderer })
    opened.add('registration', registration.close)
    const checkReadiness = createReadinessCheck({ pool, renderer, isDraining })
    const live =
      waiter !== null
        ? wireEdge({
            config,
            pool,
            patience,
            listener,
            guard,
            certificates,
            clock,
            log,
            metrics: metrics.edge,
            waiter,
            enqueueLive: worker === null ? null : worker.enqueueLive,
          })
        : null
    const edge = roles.has('edge') ? live : null
    const apiHttp =
      roles.has('api') && live !== null
        ? await wireApi({
            config,
            pool,
            patience,
            listener,
            guard,
            clock,
            log,
            checkReadiness,
            vault,
            doors: live.doors,
            readMetrics: metrics.text,
          })
        : {
            server: createReadinessServer(checkReadiness, metrics.text, config.metricsToken),
            endStreams: () => {},
            close: async () => {},
          }
    opened.add('API', apiHttp.close)
    if (live !== null) opened.add('edge', live.close)
    await listener.settled()
    signal.throwIfAborted()

    // The doors are opened last, when everything behind them works, and closed first.
    const apiServer = drainable(apiHttp.server, { begin: apiHttp.endStreams })
    const api = await listen(apiHttp.server, apiAt)
    opened.add('API server', apiServer.drain)
    if (roles.has('api')) {
      const line = await firstAccountLine({ pool, plans: config.plans, clock }, config.publicUrl ?? api)
      if (line !== null) say(line)
    }
    const { outdated } = registration
    if (edge === null) return { api, edge: null, edgeTls: null, pool, outdated, close }
    const edgeServer = drainable(edge.server, { secure: edge.secure, begin: edge.endSessions })
    const edgeUrl = await listen(edge.server, edgeAt)
    opened.add('edge server', edgeServer.drain)
    const edgeTls = edge.secure === null ? null : await listenForTls(edge.secure, tlsAt, config, log)
    // Now that a CA that asks is answered.
    const ordering = wireOrdering({ config, pool, listener, guard, vault, clock, log })
    if (ordering !== null) opened.add('certificates', ordering.close)
    return { api, edge: edgeUrl, edgeTls, pool, outdated, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Where nobody asked for the port, another program may have it: the node goes on without TLS, and says so. */
async function listenForTls(
  server: net.Server,
  where: ListenWhere,
  { edge }: Config,
  log: Log,
): Promise<string | null> {
  try {
    return await listen(server, where)
  } catch (error) {
    if (edge.tlsPortGiven || !(error instanceof CommandError)) throw error
    log.warn({ reason: error.message }, 'no TLS at this node')
    return null
  }
}

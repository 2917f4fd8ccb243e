import { randomBytes, randomUUID } from 'node:crypto'
import type { Server } from 'node:http'
import type net from 'node:net'
import type { AddressInfo } from 'node:net'
import { availableParallelism, hostname, loadavg } from 'node:os'
import type tls from 'node:tls'
import { createApiServer } from '@prepaint/api/server.ts'
import type { EdgeReadiness } from '@prepaint/api/service/health.ts'
import { utcMonth } from '@prepaint/contract/dates.ts'
import type { Edge } from '@prepaint/edge/edge.ts'
import { renewTicketKeys } from '@prepaint/edge/server/servers.ts'
import { type Engine, startEngine } from '@prepaint/engine'
import { SelectorBrowser } from '@prepaint/engine/browser'
import type { BrowserBinary } from '@prepaint/engine/browser-binary'
import {
  type AddressGuard,
  checkOriginUrl,
  createAddressGuard,
  NameServers,
  type OpenOriginHeaders,
} from '@prepaint/outbound'
import { createClient } from '@prepaint/outbound/client'
import { InspectionWorker } from '@prepaint/pages/inspection/inspection-worker.ts'
import { JobWaiter } from '@prepaint/pages/queue/jobs/await.ts'
import { Notices } from '@prepaint/pages/queue/jobs/notices.ts'
import { QueueWorker } from '@prepaint/pages/queue/jobs/worker.ts'
import { Prober } from '@prepaint/pages/queue/judging/prober.ts'
import { DeployWatch } from '@prepaint/pages/queue/upkeep/deploy.ts'
import { DeviceChecks } from '@prepaint/pages/queue/upkeep/device-checks.ts'
import { RefreshAhead } from '@prepaint/pages/queue/upkeep/refresh-ahead.ts'
import { WarmReading } from '@prepaint/pages/queue/warm/warm-read.ts'
import { WarmSteps } from '@prepaint/pages/queue/warm/warm-step.ts'
import { IndexNow } from '@prepaint/pages/site-files/indexnow.ts'
import { RobotsFiles } from '@prepaint/pages/site-files/robots-files.ts'
import { BodyStore } from '@prepaint/pages/store/bodies/body-store.ts'
import type { DiskTier } from '@prepaint/pages/store/bodies/disk-tier.ts'
import { BodyUpkeep } from '@prepaint/pages/store/bodies/upkeep.ts'
import type { Availability } from '@prepaint/postgres/availability.ts'
import type { Database } from '@prepaint/postgres/database.ts'
import type { Listener } from '@prepaint/postgres/listener.ts'
import { lastMigration } from '@prepaint/postgres/migrate.ts'
import { TaskRunner } from '@prepaint/postgres/tasks'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { type Clock, systemClock } from '@prepaint/runtime/clock.ts'
import { createClientReader } from '@prepaint/runtime/http/client-address.ts'
import { identityOf } from '@prepaint/runtime/identity.ts'
import { INVALIDATE_CHANNEL, invalidateOn, NODE_DIED_CHANNEL } from '@prepaint/runtime/invalidation.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { AccountDeletion } from '@prepaint/service/accounts/account-deletion.ts'
import { endSessionsOfOtherWays } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { SingleSignOn } from '@prepaint/service/accounts/sign-in/single-sign-on.ts'
import { Transport } from '@prepaint/service/certificates/acme/transport.ts'
import { Ordering } from '@prepaint/service/certificates/orders/ordering.ts'
import { reachesUs } from '@prepaint/service/certificates/orders/reachability.ts'
import type { Vault } from '@prepaint/service/certificates/vault/vault.ts'
import { checkIntegration } from '@prepaint/service/fronts/check-integration.ts'
import { Events } from '@prepaint/service/insight/events/events.ts'
import type { NodePulse } from '@prepaint/service/insight/fleet/node.ts'
import { Registration } from '@prepaint/service/insight/fleet/registration.ts'
import { readFleetFigures } from '@prepaint/service/insight/metrics/fleet-metrics.ts'
import { Metrics } from '@prepaint/service/insight/metrics/metrics.ts'
import { KeptMonths } from '@prepaint/service/insight/reports/kept-months.ts'
import { TrafficFold } from '@prepaint/service/insight/traffic/fold.ts'
import { Mailer } from '@prepaint/service/mail/mailer.ts'
import { checkEndpointUrl } from '@prepaint/service/notifications/delivery/endpoint-url.ts'
import { MonthlyLetters } from '@prepaint/service/notifications/delivery/monthly-letters.ts'
import { Sender } from '@prepaint/service/notifications/delivery/sender.ts'
import { Evaluation } from '@prepaint/service/notifications/incidents/evaluator.ts'
import { SelectorCheck } from '@prepaint/service/sites/checked-rules.ts'
import { DomainProofs, type LookForProof } from '@prepaint/service/sites/proof/domain-proofs.ts'
import { lookForProof } from '@prepaint/service/sites/proof/look-for-proof.ts'
import { ProofLetters } from '@prepaint/service/sites/proof/proof-letters.ts'
import { ProofLooks } from '@prepaint/service/sites/proof/proof-looks.ts'
import { CHECK_RATE, Checks, type Probes } from '@prepaint/service/sites/reachability/checks.ts'
import { DnsLooks } from '@prepaint/service/sites/reachability/dns-looks.ts'
import { checkDns } from '@prepaint/service/sites/reachability/dns-state.ts'
import { tryOrigin } from '@prepaint/service/sites/reachability/try-origin.ts'
import ipaddr from 'ipaddr.js'
import type pg from 'pg'
import { CommandError } from '../command-line/command.ts'
import { type Config, shareOfProcess } from '../settings/config.ts'
import { Base, retryUntilStarted } from './base.ts'
import { checkBodyStore } from './check-body-store.ts'
import { checkMasterKey } from './check-master-key.ts'
import { type ClosingStack, DrainableServer } from './closing-stack.ts'
import { EdgeProcesses } from './edge-processes.ts'
import { firstAccountLine, firstOperatorLine } from './first-account.ts'
import { IdleMemory } from './idle-memory.ts'
import { type ListenWhere, listen } from './listen.ts'
import { MemoryReading } from './memory-reading.ts'
import { openDiskTier } from './open-disk-tier.ts'
import { type OpenEdge, openEdge } from './open-edge.ts'
import { Outage } from './outage.ts'
import { PeopleFirst } from './people-first.ts'
import { portsOf } from './ports.ts'
import { browserState, checkEdge, checkReadiness, createReadinessServer } from './readiness.ts'
import { Retention } from './retention.ts'
import { type Begun, DRAIN_MS, type Start } from './start-node.ts'

export type NodeAddresses = {
  /** `http://host:port`. A node without the role `api` serves /readyz there. */
  api: string
  /** Null on a node without the role `edge`. */
  edge: string | null
  /** Null without an edge, or if the default TLS port was in use. */
  edgeTls: string | null
}

type OpenApi = { server: Server; endStreams(): void; close(): Promise<void> }

const NAME_SERVERS_WITHIN_MS = 5_000

/**
 * A running node. This file is read from top to bottom, after `start-node.ts`: `start` opens what every role uses, `#open` the
 * roles, in order. Everything that is opened is closed in reverse order, ports first.
 */
export class Node {
  readonly #config: Config
  readonly #log: Log
  readonly #say: (line: string) => void
  readonly #invitesOperator: boolean
  readonly #signal: AbortSignal
  readonly #opened: ClosingStack
  readonly #base: Base
  readonly #database: Database
  readonly #availability: Availability
  readonly #pool: pg.Pool
  /** The pool with time limits, for queries that a request waits for. */
  readonly #db: Queryable
  readonly #clock: Clock
  readonly #listener: Listener
  readonly #outage: Outage
  readonly #tasks: TaskRunner
  readonly #guard: AddressGuard
  readonly #metrics: Metrics
  readonly #bodies: BodyStore
  readonly #disk: DiskTier | null
  readonly #vault: Vault
  readonly #openHeaders: OpenOriginHeaders
  /** Asked where the names of domains lead. */
  readonly #names: NameServers
  /** Look at owners' names and origins. */
  readonly #probes: Probes
  /** Unique for each run, because it names leases; process ids repeat in containers. */
  readonly #id = `${hostname()}:${process.pid}:${randomUUID()}`
  readonly #memory = new MemoryReading()
  #engine: Engine | null = null
  #worker: QueueWorker | null = null
  #registration: Registration | null = null
  #proofs: ProofLooks | null = null
  #processes: EdgeProcesses | null = null
  #startProcesses: () => Promise<void> = async () => {}
  #addresses: NodeAddresses | null = null
  #isDraining = false
  readonly #outdated = Promise.withResolvers<string>()

  /** Is called by `startNode`, which closes what is in `opened` if the start fails. */
  static async start(start: Start, begun: Begun, opened: ClosingStack): Promise<Node> {
    const engine = begun.browser === null ? null : new StartingEngine(start, begun.browser)
    if (engine !== null) opened.add('renderer', () => engine.close())

    const base = await Base.open(start, begun, opened)
    engine?.useClock(base.clock)
    const node = new Node(start, opened, base)
    await node.#open(engine).catch(async (error: unknown) => {
      await node.close()
      throw error
    })
    return node
  }

  private constructor(
    { config, say, signal, invitesOperator = true }: Start,
    opened: ClosingStack,
    base: Base,
  ) {
    const { availability, listener, clock, vault } = base
    const { log, pool: guardedPool } = availability
    const { pool } = base.database
    this.#config = config
    this.#log = log
    this.#say = say
    this.#invitesOperator = invitesOperator
    this.#signal = signal
    this.#opened = opened
    this.#base = base
    this.#database = base.database
    this.#pool = pool
    this.#availability = availability
    this.#db = availability.db
    this.#clock = clock
    this.#listener = listener
    this.#outage = new Outage(availability, base.snapshot)
    this.#tasks = new TaskRunner(pool, listener, log)
    this.#tasks.add(new Retention(pool, clock, log))
    this.#tasks.add(new TrafficFold(pool, clock))
    this.#tasks.add(new KeptMonths(pool, clock))
    this.#tasks.add(new AccountDeletion(pool, clock))
    this.#guard = createAddressGuard(config.allowedPrivateOrigins)
    this.#metrics = createMetrics(config, base, guardedPool)
    this.#disk = openDiskTier(config, 0, log)
    this.#bodies = new BodyStore(config.bodies, pool, log, { meter: this.#metrics.bodies, disk: this.#disk })
    opened.add('bodies', () => this.#bodies.close())
    this.#tasks.add(new BodyUpkeep(pool, this.#bodies))
    this.#vault = vault
    this.#openHeaders = base.openHeaders
    this.#names = new NameServers(config.dnsServers)
    this.#probes = {
      checkDns: (account, name) => checkDns(pool, this.#guard, account, name, { names: this.#names }),
      tryOrigin: (url) => tryOrigin(url, { guard: this.#guard }),
    }
  }

  get addresses(): NodeAddresses {
    if (this.#addresses === null) throw new Error('this node has not started')
    return this.#addresses
  }

  get pool(): pg.Pool {
    return this.#pool
  }

  /** Settles when a migration is applied that this version cannot work with. */
  get outdated(): Promise<string> {
    return this.#outdated.promise
  }

  /** Is false after a start from the snapshot, until PostgreSQL is there. */
  get hasDatabase(): boolean {
    return this.#base.isChecked
  }

  async close(): Promise<void> {
    this.#isDraining = true
    void this.#registration?.beat()
    await this.#opened.closeAll(DRAIN_MS)
  }

  async #open(engine: StartingEngine | null): Promise<void> {
    const { roles } = this.#config
    // Integrations request pages through the API, so it needs an edge as well.
    const waiter =
      roles.has('edge') || roles.has('api') ? new JobWaiter(this.#listener, this.#pool, this.#log) : null
    if (this.#base.isChecked) await this.#join(engine, waiter)

    const edge = waiter === null ? null : this.#openEdge(waiter)
    const api = roles.has('api') && edge !== null ? await this.#openApi(edge) : this.#openReadiness(edge)
    this.#opened.add('API', () => api.close())
    if (edge !== null) this.#opened.add('edge', () => edge.close())
    if (this.#base.isChecked) await this.#listener.settled()
    this.#signal.throwIfAborted()

    if (this.#base.isChecked && roles.has('api')) await this.#startNotifications()
    this.#addresses = await this.#listen(api, edge)
    if (!this.#base.isChecked) {
      this.#joinLater(engine, waiter, edge, this.#addresses.api)
      return
    }
    if (roles.has('api')) await this.#sayFirstAccount(this.#addresses.api)
    this.#startWork(edge)
  }

  /** What every role needs of PostgreSQL before the ports open, and Chromium. */
  async #join(engine: StartingEngine | null, waiter: JobWaiter | null): Promise<void> {
    await checkMasterKey(this.#config, this.#vault, this.#log)
    await checkBodyStore(this.#config, this.#pool, this.#log)
    if (this.#config.roles.has('api') && this.#config.sso?.isOnly === true) {
      const ended = await endSessionsOfOtherWays(this.#pool)
      if (ended > 0) this.#log.info({ ended }, 'sessions that did not begin by single sign-on were ended')
    }
    this.#signal.throwIfAborted()
    if (engine !== null && this.#worker === null) await this.#startRendering(await engine.started, waiter)
    if (this.#registration === null) await this.#register()
  }

  /** What begins when the ports are open. Tasks are last, because they use what was opened before, such as the edge, which responds to the CA. */
  #startWork(edge: OpenEdge | null): void {
    if (edge !== null && this.#engine !== null) {
      const peopleFirst = new PeopleFirst(
        () => edge.records.answeredAtOnce + (this.#processes?.answeredAtOnce ?? 0),
        this.#engine,
      )
      this.#opened.add('people first', () => peopleFirst.close())
    }
    const idleMemory = new IdleMemory()
    this.#opened.add('idle memory', () => idleMemory.close())
    if (this.#config.roles.has('edge')) this.#startOrdering()
    this.#tasks.start()
    this.#opened.add('tasks', () => this.#tasks.close())
    const { snapshot } = this.#base
    if (snapshot !== null) {
      invalidateOn(this.#listener, [snapshot])
      snapshot.start(this.#pool, () => this.#listener.connected && !this.#availability.isAway)
    }
    void this.#registration?.beat()
  }

  /** Goes on with the start when PostgreSQL is there; meanwhile the edge serves people from the snapshot. */
  #joinLater(
    engine: StartingEngine | null,
    waiter: JobWaiter | null,
    edge: OpenEdge | null,
    apiUrl: string,
  ): void {
    const closing = new AbortController()
    const hasApi = this.#config.roles.has('api')
    // PostgreSQL may go away again between two of them: then the start goes on with the one that failed.
    const steps = [
      () => this.#base.check(),
      () => this.#join(engine, waiter),
      () => this.#listener.settled(),
      async () => (hasApi ? this.#startNotifications() : undefined),
      () => this.#startProcesses(),
      async () => (hasApi ? this.#sayFirstAccount(apiUrl) : undefined),
      async () => this.#startWork(edge),
    ]
    const join = async () => {
      for (let step = steps[0]; step !== undefined; step = steps[0]) {
        await step()
        steps.shift()
      }
    }
    const joined = retryUntilStarted(join, this.#log, closing.signal)
    this.#opened.add('start', async () => {
      closing.abort()
      await joined
    })
  }

  /** Works on the render queue, and on what is due for pages. `waiter` is told of the ends of jobs of this node. */
  async #startRendering(engine: Engine, waiter: JobWaiter | null): Promise<void> {
    const { plans, render, edge, allowedPrivateOrigins, indexNowUrl } = this.#config
    const pool = this.#pool
    const clock = this.#clock
    const log = this.#log
    const openHeaders = this.#openHeaders
    this.#engine = engine
    const prober = new Prober(pool, this.#bodies, randomBytes)
    const deploys = new DeployWatch(pool, clock, log)
    const notices = new Notices(pool, log, (payload) => this.#listener.tellOwn(INVALIDATE_CHANNEL, payload))
    const worker = await QueueWorker.start(
      {
        pool,
        connection: this.#database.connection,
        notifications: this.#listener,
        ended: waiter?.ended,
        corrected: (counts) => this.#metrics.render.countsCorrected(counts),
        notices,
        bodies: this.#bodies,
        countWaiting: waiter?.waitingFor,
        canRender: () => engine.healthy,
        render: this.#metrics.render.measured((request) => engine.render(request), clock),
        draw: (request) => engine.inspect(request),
        openHeaders,
        sites: {
          async after(job, found, end, nowMs) {
            await deploys.after(job.page, found, end)
            return prober.after(job, found, end, nowMs)
          },
        },
        plans,
        clock,
        log,
      },
      { node: this.#id, slots: render.slots, liveWaitMs: edge.liveWaitMs },
    )
    this.#worker = worker
    this.#opened.add('notices', () => notices.close())
    // Last, because it is done once, and a start without PostgreSQL is tried again.
    this.#metrics.render.watches(engine)
    const origins = createClient(createAddressGuard(allowedPrivateOrigins))
    this.#opened.add('worker', async ({ remainingMs }) => {
      origins.close()
      await worker.close(remainingMs())
    })

    const get = { origins, userAgent: identityOf(this.#config) }
    this.#tasks.add(new WarmReading(pool, get, openHeaders, clock, log))
    this.#tasks.add(new WarmSteps(pool, plans, clock))
    this.#tasks.add(new RefreshAhead(pool, plans, clock))
    this.#tasks.add(new DeviceChecks(pool, plans, clock))
    this.#tasks.add(
      new InspectionWorker(pool, this.#bodies, (request) => engine.inspect(request), openHeaders),
    )
    if (indexNowUrl === null) return
    // The endpoint is the operator's, who may have it at any address.
    const anywhere = ['0.0.0.0/0', '::/0'].map((cidr) => ({ cidr: ipaddr.parseCIDR(cidr), port: null }))
    const endpoint = createClient(createAddressGuard(anywhere))
    this.#opened.add('IndexNow', async () => endpoint.close())
    const robots = new RobotsFiles(pool, pool, get, openHeaders, clock, log)
    this.#tasks.add(new IndexNow(pool, indexNowUrl, endpoint, robots, clock, log))
  }

  /** Adds this node to the list of nodes. */
  async #register(): Promise<void> {
    const { version, roles } = this.#config
    const self = {
      id: this.#id,
      host: hostname(),
      version,
      roles: [...roles],
      cores: availableParallelism(),
      slots: slotsOf(this.#config),
      schema: lastMigration(),
    }
    const registration = await Registration.start(
      this.#pool,
      this.#log,
      self,
      () => this.#nextPulse(),
      NODE_DIED_CHANNEL,
    )
    this.#registration = registration
    this.#opened.add('registration', () => registration.close())
    void registration.outdated.then(this.#outdated.resolve)
  }

  #nextPulse(): NodePulse {
    return {
      apiPort: this.#addresses === null ? null : Number(new URL(this.#addresses.api).port || 80),
      draining: this.#isDraining,
      running: this.#worker?.running ?? 0,
      load: loadavg()[0] ?? 0,
      memoryBytes: this.#memory.next(),
      browser: browserState(this.#engine),
      browsers: this.#engine?.browsers,
    }
  }

  #openEdge(waiter: JobWaiter): OpenEdge {
    const isRendering = this.#config.roles.has('render')
    return openEdge(shareOfProcess(this.#config), {
      pool: this.#pool,
      availability: this.#availability,
      bodies: this.#bodies,
      outage: this.#outage,
      clock: this.#clock,
      listener: this.#listener,
      guard: this.#guard,
      vault: this.#vault,
      openHeaders: this.#openHeaders,
      metrics: this.#metrics.edge,
      bodyMetrics: this.#metrics.bodies,
      disk: this.#disk,
      waiter,
      // After a start from the snapshot the worker begins later.
      findEnqueueLive: () => (isRendering ? (this.#worker?.enqueueLive ?? null) : null),
      log: this.#log,
    })
  }

  async #openApi({ edge, robots, fronts }: OpenEdge): Promise<OpenApi> {
    const config = this.#config
    const { pool } = this.#availability
    const clock = this.#clock
    const log = this.#log
    const guard = this.#guard
    const mailer = config.mail === null ? null : await Mailer.start(config.mail, log)
    const proofs = this.#createProofs()
    const events = new Events(pool, this.#listener, clock, log, { plans: config.plans })
    const app = await createApiServer(
      {
        selectors: this.#createSelectorCheck(),
        pool,
        bodies: this.#bodies,
        // Responds with 503 if a key cannot be looked up in time.
        accessDb: this.#db,
        clock,
        log,
        vault: this.#vault,
        mailer,
        singleSignOn: this.#createSingleSignOn(),
        robots,
        checks: new Checks(clock, (account) => CHECK_RATE.take(pool, `account ${account}`), this.#probes),
        proofs,
        integrations: edge.integrations,
        evidence: fronts,
        checkIntegration: (domain, asked) =>
          checkIntegration(pool, guard, domain, asked, clock.nowMs(), this.#names.lookup),
        readClient: createClientReader(config.trustedProxies),
        subscribe: (...stream) => events.subscribe(...stream),
        // Edge and integrations cache what a change invalidates.
        caughtUp: async () => {
          await Promise.all([this.#listener.caughtUp(), this.#processes?.caughtUp()])
        },
        checkOrigin: (raw) => checkOriginUrl(raw, guard, { timeoutMs: NAME_SERVERS_WITHIN_MS }),
        checkEndpoint: (raw) => checkEndpointUrl(raw, guard),
        checkReadiness: () => checkReadiness(this.#availability, this.#engine, this.#isDraining),
        checkEdge: config.roles.has('edge') ? () => this.#checkEdge(edge) : null,
        readMetrics: () => this.#readMetrics(),
        edgePort: () => (edge.server.address() as AddressInfo | null)?.port ?? null,
      },
      {
        plans: config.plans,
        version: config.version,
        publicUrl: config.publicUrl,
        contact: config.contact,
        edgeTarget: config.edgeTarget,
        egressAddresses: config.egressAddresses,
        domainProof: config.domainProof,
        notifySpeed: config.notifySpeed,
        clients: config.clients,
        confirmSeconds: config.confirmSeconds,
        metricsToken: config.metricsToken,
      },
    )
    return {
      server: app.server,
      endStreams: () => events.close(),
      async close() {
        await app.close()
        await mailer?.close()
      },
    }
  }

  /** Whether the edge can serve people, also while PostgreSQL is away. */
  #checkEdge(edge: Edge): EdgeReadiness {
    return checkEdge(
      this.#availability.isAway,
      {
        inMemory: this.#base.isChecked ? edge.domainsInMemory() : 0,
        inSnapshot: this.#base.snapshot?.domains ?? 0,
      },
      this.#isDraining,
    )
  }

  #createSingleSignOn(): SingleSignOn | null {
    const { publicUrl, sso } = this.#config
    if (sso === null || publicUrl === null) return null
    return new SingleSignOn(sso, publicUrl, this.#clock, this.#log)
  }

  /** Asks the browser that renders here; else another one, which starts for it. */
  #createSelectorCheck(): SelectorCheck {
    const { render, dataDir } = this.#config
    const log = this.#log
    const { chromium, requireSandbox } = render
    const browser = new SelectorBrowser({ chromium, requireSandbox, dataDir, log })
    this.#opened.add('selector browser', () => browser.close())
    return new SelectorCheck((selectors) => {
      const rendering = this.#engine?.healthy === true ? this.#engine : browser
      return rendering.checkSelectors(selectors)
    }, log)
  }

  /** What a node without the role `api` has at the API's port. */
  #openReadiness(edge: OpenEdge | null): OpenApi {
    const server = createReadinessServer(
      () => checkReadiness(this.#availability, this.#engine, this.#isDraining),
      edge !== null && this.#config.roles.has('edge') ? () => this.#checkEdge(edge.edge) : null,
      () => this.#readMetrics(),
      this.#config.metricsToken,
    )
    return { server, endStreams: () => {}, close: async () => {} }
  }

  /** Every node with an API evaluates and sends; the database decides which one does what. */
  async #startNotifications(): Promise<void> {
    const { plans, version, publicUrl, notifySpeed: speed, mail } = this.#config
    const log = this.#log
    const mailer = mail === null ? null : await Mailer.start(mail, log)
    const sender = new Sender(this.#pool, this.#guard, this.#vault, mailer, this.#clock, log, {
      plans,
      version,
      // Settings with a mail server have a public URL.
      publicUrl: publicUrl ?? '',
      speed,
    })
    const evaluation = new Evaluation(this.#pool, this.#probes, log, { plans, publicUrl, speed })
    const looks = new DnsLooks(this.#pool, this.#probes)
    const months = new MonthlyLetters(this.#pool, this.#clock)
    const proofs = new ProofLetters(this.#pool, mailer, publicUrl ?? '', log)
    for (const kind of [...sender.kinds, evaluation, looks, months, proofs]) this.#tasks.add(kind)
    await this.#lookForProofs()
    this.#opened.add('notifications', async () => {
      await evaluation.close()
      sender.close()
      await mailer?.close()
    })
  }

  #createProofs(): DomainProofs {
    const { edgeTarget: target, notifySpeed: speed, domainProof: mode } = this.#config
    const pool = this.#pool
    const guard = this.#guard
    const names = this.#names
    const look: LookForProof = (domain) => lookForProof(pool, domain, { guard, names, target })
    const proofs = new DomainProofs(pool, this.#clock, look, speed)
    this.#proofs = new ProofLooks(pool, proofs, this.#clock, { mode, speed })
    return proofs
  }

  /** Brings existing domains in line with PREPAINT_DOMAIN_PROOF, and looks for their proofs from now on. */
  async #lookForProofs(): Promise<void> {
    const looks = this.#proofs
    if (looks === null) return
    await looks.applyMode()
    this.#tasks.add(looks)
  }

  /** Ports open last and close first. */
  async #listen(api: OpenApi, open: OpenEdge | null): Promise<NodeAddresses> {
    const { sharePort, processes: count } = this.#config.edge
    const ports = portsOf(this.#config, sharePort || count > 1)
    const apiServer = new DrainableServer(api.server, { begin: () => api.endStreams() })
    const apiUrl = await listen(api.server, ports.api)
    this.#opened.add('API server', (deadline) => apiServer.drain(deadline))
    if (open === null || !this.#config.roles.has('edge')) return { api: apiUrl, edge: null, edgeTls: null }

    const { server, secure, endSessions } = open.edge
    const edgeServer = new DrainableServer(server, { secure, begin: endSessions })
    const edgeUrl = await listen(server, ports.edge)
    const processes = this.#createEdgeProcesses(secure)
    this.#opened.add('edge server', async (deadline) => {
      await Promise.all([edgeServer.drain(deadline), processes?.close(deadline)])
    })
    const edgeTls = secure === null ? null : await this.#listenForTls(secure, ports.tls)
    this.#startProcesses = async () => {
      await processes?.start({
        databaseUrl: this.#database.url,
        ports: { http: portOf(edgeUrl), tls: edgeTls === null ? null : portOf(edgeTls) },
      })
    }
    if (this.#base.isChecked) await this.#startProcesses()
    return { api: apiUrl, edge: edgeUrl, edgeTls }
  }

  /** Null if this process serves alone. */
  #createEdgeProcesses(secure: tls.Server | null): EdgeProcesses | null {
    const others = this.#config.edge.processes - 1
    const processes = others === 0 ? null : new EdgeProcesses(others, systemClock, this.#log)
    this.#processes = processes
    if (secure === null) return processes
    const tickets = renewTicketKeys(secure, (keys) => processes?.useTicketKeys(keys))
    this.#opened.add('ticket keys', async () => tickets.close())
    return processes
  }

  async #readMetrics(): Promise<{ body: string; type: string }> {
    return this.#metrics.text(await this.#processes?.metrics())
  }

  async #sayFirstAccount(apiUrl: string): Promise<void> {
    if (!this.#invitesOperator) return
    const { plans, publicUrl, sso } = this.#config
    const line =
      sso?.isOnly === true
        ? await firstOperatorLine(this.#pool, sso)
        : await firstAccountLine(this.#pool, plans, this.#clock, publicUrl ?? apiUrl)
    if (line !== null) this.#say(line)
  }

  /** Returns null if another program has the default port: the node serves no TLS then. */
  async #listenForTls(server: net.Server, where: ListenWhere): Promise<string | null> {
    try {
      return await listen(server, where)
    } catch (error) {
      if (this.#config.edge.tlsPortGiven || !(error instanceof CommandError)) throw error
      this.#log.warn({ reason: error.message }, 'this node serves no TLS')
      return null
    }
  }

  #startOrdering(): void {
    const { version, acme } = this.#config
    if (acme.directory === null) return
    const ordering = new Ordering(
      this.#pool,
      this.#listener,
      this.#vault,
      new Transport({ userAgent: `Prepaint/${version}` }),
      acme.selfCheck
        ? (name, publish, signal) =>
            reachesUs(this.#guard, name, publish, signal, { lookup: this.#names.lookup })
        : null,
      this.#clock,
      this.#log,
      { directoryUrl: acme.directory, email: acme.email, perHour: acme.ordersPerHour },
    )
    this.#tasks.add(ordering)
    ordering.start()
    this.#opened.add('certificates', () => ordering.close())
  }
}

/** Chromium, which starts while PostgreSQL does. Its clock is the system's until PostgreSQL's is known. */
class StartingEngine implements Clock {
  readonly started: Promise<Engine>
  #clock: Clock = systemClock

  constructor(start: Start, browser: Promise<BrowserBinary>) {
    this.started = this.#start(start, browser)
    // The start of the node awaits it later, and rejects then.
    this.started.catch(() => {})
  }

  async #start({ config, log, say }: Start, browser: Promise<BrowserBinary>): Promise<Engine> {
    await browser
    return startEngine({
      ...config.render,
      dataDir: config.dataDir,
      identity: identityOf(config),
      allowedPrivateOrigins: config.allowedPrivateOrigins,
      preload: config.preload,
      clock: this,
      log,
      onLongStep: say,
    })
  }

  /** A property, because the engine hands it on without this object. */
  readonly nowMs = (): number => this.#clock.nowMs()

  useClock(clock: Clock): void {
    this.#clock = clock
  }

  async close(): Promise<void> {
    const engine = await this.started.catch(() => null)
    await engine?.close()
  }
}

function createMetrics(
  config: Config,
  { database, listener, availability, snapshot, clock }: Base,
  /** Fails at once while PostgreSQL is away. */
  fleetPool: pg.Pool,
): Metrics {
  const limits = Object.fromEntries(
    Object.entries(config.plans).map(([name, plan]) => [name, plan.monthly_render_limit]),
  )
  const readFleet = () =>
    readFleetFigures(fleetPool, utcMonth(clock.nowMs()), limits, config.scaleTargetSeconds)
  const pools = [database.pool, database.reads]
  const watched = { version: config.version, pools, listener, availability, snapshot }
  return new Metrics(watched, slotsOf(config), readFleet, clock, availability.log)
}

/** `http://host:80` has its port, too. */
function portOf(url: string): number {
  return Number(/:(\d+)$/.exec(url)![1])
}

function slotsOf({ roles, render }: Config): number {
  return roles.has('render') ? render.slots : 0
}

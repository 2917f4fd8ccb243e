import type { DomainId } from '@prepaint/contract/ids.ts'
import { JOB_QUEUED_CHANNEL, priorityNumber } from '@prepaint/contract/outcome/job.ts'
import type { RenderRequest } from '@prepaint/contract/outcome/outcome.ts'
import type { Rendering } from '@prepaint/contract/outcome/record.ts'
import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import type { OpenOriginHeaders } from '@prepaint/outbound'
import type { Listener } from '@prepaint/postgres/listener.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { within } from '@prepaint/runtime/within.ts'
import type pg from 'pg'
import type { Prober } from '../judging/prober.ts'
import { readStatement } from '../statement.ts'
import type { Draw } from '../tries/try-rules.ts'
import { AfterRender } from './after-render.ts'
import type { Ended } from './await.ts'
import { type ClaimedJob, createClaim, createClaimLive, type FreeSlots } from './claim.ts'
import { createComplete, createReaper } from './complete.ts'
import { createEnqueueLive, type EnqueueLive } from './enqueue.ts'
import { type Lease, startLease } from './lease.ts'
import { Preemption, type Run } from './pre-empt.ts'
import { type RunJobOptions, runJob } from './run-job.ts'

export type Worker = {
  readonly running: number
  /** If a slot is free, also claims, so that the render begins at once. Throws as `enqueueLive`. */
  enqueueLive: EnqueueLive
  /** Waits `deadlineMs` for running jobs, then gives them back to the queue. */
  close(deadlineMs: number): Promise<void>
}

export type WorkerDeps = {
  pool: pg.Pool
  connection: pg.ClientConfig
  notifications: Pick<Listener, 'on' | 'onLost'>
  plans: PlanCatalogue
  clock: Clock
  log: Log
  render(request: RenderRequest): Promise<Rendering>
  draw?: Draw
  openHeaders?: OpenOriginHeaders
  /** False while there is no browser: other nodes take the jobs. */
  canRender(): boolean
  ended?: Ended
  /** Absent: sites are not probed for soft 404s. */
  prober?: Prober
}

export type WorkerOptions = {
  /** Never reused by another run. */
  node: string
  /** Concurrent renders; one slot is for `live` only, unless there is just one. */
  slots: number
} & Partial<typeof WORKER_DEFAULTS>

/** Caps are counted over all nodes: all nodes need the same values. */
const WORKER_DEFAULTS = {
  /** Limits the load on a domain's origin. */
  domainCap: 4,
  /** Leaves room for a crawler of the same domain. */
  domainBackgroundCap: 3,
  leaseMs: 60_000,
  renewMs: 20_000,
  reapMs: 5_000,
  /** One background render starts this often even if live renders fill the slots. */
  backgroundEveryMs: 1_000,
  /** A live job that has waited this long takes the slot of a background render. */
  preemptAfterMs: 250,
  /** In case a notification was lost, and for jobs whose back-off ends. */
  pollMs: 1_000,
  liveWaitMs: 10_000,
}

export async function startWorker(deps: WorkerDeps, options: WorkerOptions): Promise<Worker> {
  const settled = { ...WORKER_DEFAULTS, ...options }
  const runs = new Set<Run>()
  const lease = await startLease(deps.connection, settled, runs, deps.log)
  return new QueueWorker(deps, settled, runs, lease)
}

type Settled = typeof WORKER_DEFAULTS & { node: string; slots: number }

class QueueWorker implements Worker {
  readonly #deps: WorkerDeps
  readonly #options: Settled
  readonly #lease: Lease
  readonly #runs: Set<Run>
  readonly #plain = new PlainDomains()
  readonly #claim
  readonly #claimLive
  readonly #enqueueOnly: EnqueueLive
  readonly #runOptions: RunJobOptions
  readonly #preemption: Preemption
  readonly #afterRender: AfterRender
  readonly #timers: NodeJS.Timeout[]
  #preemptAgain: NodeJS.Timeout | undefined
  #claimed = Promise.resolve()
  #isClaiming = false
  #isWoken = false
  #mayPreempt = false
  #isClosing = false
  /** False: the queue was empty when last looked at, and nothing was queued since. Then it is not polled every second. */
  #mayBeQueued = true
  #backgroundBegunMs = Number.NEGATIVE_INFINITY

  constructor(deps: WorkerDeps, options: Settled, runs: Set<Run>, lease: Lease) {
    const { pool, clock } = deps
    const { node, slots, leaseMs, liveWaitMs } = options
    this.#deps = deps
    this.#options = options
    this.#runs = runs
    this.#lease = lease
    // An account leaves one slot to the others.
    const rules = { ...options, accountCap: Math.max(1, slots - 1) }
    this.#claim = createClaim(pool, node, rules)
    this.#claimLive = createClaimLive(deps, node, rules)
    this.#enqueueOnly = createEnqueueLive({ ...deps, db: pool, liveWaitMs })
    this.#runOptions = { ...deps, complete: createComplete(deps), leaseMs }
    this.#preemption = new Preemption({ ...rules, pool, nowMs: () => clock.nowMs() })
    this.#afterRender = new AfterRender(deps)

    const reap = createReaper(pool)
    this.#timers = [
      setInterval(() => {
        if (this.#mayBeQueued) this.#wakeForCrawlers()
      }, options.pollMs),
      setInterval(() => void this.#lookAtQueue(reap).catch((error) => this.#complain(error)), options.reapMs),
    ]
    deps.notifications.on(JOB_QUEUED_CHANNEL, (priority) => {
      if (priority === LIVE) this.#mayPreempt = true
      this.#mayBeQueued = true
      this.#wake()
    })
    deps.notifications.onLost(() => {
      this.#mayBeQueued = true
      this.#wakeForCrawlers()
    })
    this.#wake()
  }

  get running(): number {
    return this.#runs.size
  }

  enqueueLive: EnqueueLive = async (page, requestId, crawler = null) => {
    const canClaim = !this.#isClaiming && !this.#isClosing && this.#lease.held && this.#deps.canRender()
    if (!canClaim || this.#slotsInUse().length >= this.#options.slots) {
      this.#mayBeQueued = true
      const job = await this.#enqueueOnly(page, requestId, crawler)
      this.#wakeForCrawlers()
      return job
    }
    const claiming = this.#claimLive(
      { page, requestId, crawler },
      this.#freeSlots(),
      this.#deps.clock.nowMs(),
    )
    this.#isClaiming = true
    this.#claimed = claiming
      .then(
        ({ claimed }) => this.#begin(claimed),
        () => {},
      )
      .finally(() => {
        this.#isClaiming = false
        if (this.#isWoken) this.#wake()
      })
    const { job } = await claiming
    await this.#claimed
    return job
  }

  async close(deadlineMs: number): Promise<void> {
    const { pool } = this.#deps
    this.#isClosing = true
    for (const timer of this.#timers) clearInterval(timer)
    clearTimeout(this.#preemptAgain)
    await this.#claimed
    await this.#runsEnd(deadlineMs)
    // Before the renders are aborted, so that the database rejects their results.
    const giveBack = { ...readStatement('give-back'), values: [this.#options.node] }
    await pool.query(giveBack).catch((error) => this.#complain(error))
    for (const { abort } of this.#runs) abort.abort()
    await this.#runsEnd(1_000)
    await allEnd([...this.#afterRender.pending], 1_000)
    await this.#afterRender.close()
    await this.#lease.close()
  }

  /** Also finds what was queued while a notification was lost. */
  async #lookAtQueue(reap: () => Promise<number>): Promise<void> {
    const { rows } = await this.#deps.pool.query<{ queued: boolean; running: boolean }>(QUEUE_STATE)
    const { queued, running } = rows[0]!
    if (running) await reap()
    this.#mayBeQueued = queued || running
    if (queued) this.#wakeForCrawlers()
  }

  #wakeForCrawlers(): void {
    this.#mayPreempt = true
    this.#wake()
  }

  #wake(): void {
    this.#isWoken = true
    if (!this.#isClaiming && !this.#isClosing) this.#claimed = this.#fillSlots()
  }

  async #fillSlots(): Promise<void> {
    this.#isClaiming = true
    try {
      while (this.#isWoken && !this.#isClosing && this.#lease.held && this.#deps.canRender()) {
        this.#isWoken = false
        const want = this.#freeSlots()
        if (want.slots > 0) this.#begin(await this.#claim(want, this.#deps.clock.nowMs()))
        if (this.#mayPreempt && !this.#isClosing) await this.#preempt()
      }
    } catch (error) {
      this.#complain(error)
    } finally {
      // In the same step as the last check of `#isWoken`, so that no call of `#wake` is lost.
      this.#isClaiming = false
    }
  }

  #freeSlots(): FreeSlots {
    const inUse = this.#slotsInUse()
    return {
      slots: this.#options.slots - inUse.length,
      backgroundSlots: this.#backgroundSlots(inUse),
      occupied: inUse.map(({ job }) => job.account),
      plain: this.#plain.domains(),
    }
  }

  /** One run of each. */
  #slotsInUse(): Run[] {
    return [...new Map([...this.#runs].map((run) => [run.abort, run])).values()]
  }

  /**
   * Each live render takes the place of a background render, to leave it the CPU. One slot is for live renders only.
   */
  #backgroundSlots(inUse: readonly Run[]): number {
    const { slots, backgroundEveryMs } = this.#options
    const left = slots - 1 - inUse.length
    const background = inUse.filter(({ job }) => job.priority !== 'live').length
    if (left > 0 || background > 0) return left
    const isDue = this.#deps.clock.nowMs() - this.#backgroundBegunMs >= backgroundEveryMs
    return inUse.length === 0 || isDue ? 1 : 0
  }

  async #preempt(): Promise<void> {
    this.#mayPreempt = false
    const runs = this.#slotsInUse()
    if (runs.length === 0) return
    const againMs = await this.#preemption.makeRoom(runs, this.#options.slots - runs.length)
    clearTimeout(this.#preemptAgain)
    if (againMs === null || this.#isClosing) return
    this.#preemptAgain = setTimeout(() => this.#wakeForCrawlers(), againMs)
  }

  #begin(jobs: readonly ClaimedJob[]): void {
    if (this.#isClosing) return
    const aborts = new Map(jobs.map(({ lead }) => [lead, new AbortController()]))
    for (const job of jobs) {
      const startedMs = this.#deps.clock.nowMs()
      if (job.priority !== 'live') this.#backgroundBegunMs = startedMs
      const run: Run = { job, abort: aborts.get(job.lead)!, startedMs, ended: Promise.resolve() }
      run.ended = this.#run(run)
      this.#runs.add(run)
    }
  }

  async #run(run: Run): Promise<void> {
    const { job, abort } = run
    const ran = await runJob(this.#runOptions, job, abort)
    this.#plain.note(job.page.domain, ran.found.kind === 'rendered' && ran.found.isStatic === true)
    const following = this.#afterRender.follow(job, ran)
    // The slot waits for the after-render work only if that piles up.
    if (this.#afterRender.pending.size > Math.max(this.#options.slots, this.#runs.size)) await following
    this.#runs.delete(run)
    this.#wake()
  }

  async #runsEnd(withinMs: number): Promise<void> {
    await allEnd(
      [...this.#runs].map(({ ended }) => ended),
      withinMs,
    )
  }

  #complain(error: unknown): void {
    this.#deps.log.warn({ err: error }, 'the queue could not be worked on')
  }
}

/** Pages in a row without a browser before a domain counts as plain. */
const PLAIN_AFTER = 8
const PLAIN_LIMIT = 200

class PlainDomains {
  readonly #inARow = new Map<DomainId, number>()

  note(domain: DomainId, isStatic: boolean): void {
    const before = this.#inARow.get(domain) ?? 0
    this.#inARow.delete(domain)
    if (!isStatic) return
    const [oldest] = this.#inARow.keys()
    if (oldest !== undefined && this.#inARow.size === PLAIN_LIMIT) this.#inARow.delete(oldest)
    this.#inARow.set(domain, before + 1)
  }

  domains(): DomainId[] {
    return [...this.#inARow].filter(([, pages]) => pages >= PLAIN_AFTER).map(([domain]) => domain)
  }
}

const QUEUE_STATE = {
  name: 'queue-state',
  text: `select exists (select from job where state = 'queued') as queued, exists (select from job where state = 'running') as running`,
}

const LIVE = String(priorityNumber('live'))

async function allEnd(promises: readonly Promise<void>[], withinMs: number): Promise<void> {
  await within(withinMs, Promise.all(promises), undefined)
}

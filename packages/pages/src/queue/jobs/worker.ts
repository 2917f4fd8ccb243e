import type { DomainId, JobId } from '@prepaint/contract/ids.ts'
import { JOB_QUEUED_CHANNEL, priorityNumber } from '@prepaint/contract/outcome/job.ts'
import type { RenderRequest } from '@prepaint/contract/outcome/outcome.ts'
import type { Rendering } from '@prepaint/contract/outcome/record.ts'
import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import type { OpenOriginHeaders } from '@prepaint/outbound'
import type { NotificationSource } from '@prepaint/postgres/listener.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { within } from '@prepaint/runtime/within.ts'
import type pg from 'pg'
import type { BodyStore } from '../../store/bodies/body-store.ts'
import type { SiteWatch } from '../judging/prober.ts'
import { readStatement } from '../statement.ts'
import type { Draw } from '../tries/try-rules.ts'
import { AfterRender } from './after-render.ts'
import type { Ended } from './await.ts'
import { type ClaimedJob, Claims, type FreeSlots } from './claim.ts'
import { JobCompleter } from './complete.ts'
import { createEnqueueLive, type EnqueueLive } from './enqueue.ts'
import { Lease } from './lease.ts'
import type { Notices } from './notices.ts'
import { Preemption, type Run } from './pre-empt.ts'
import { type RunJobParts, runJob } from './run-job.ts'

export type Worker = {
  readonly running: number
  /** If a slot is free, also claims, so that the render begins at once. Throws as `enqueueLive`. */
  enqueueLive: EnqueueLive
  /** Waits `deadlineMs` for running jobs, then gives them back to the queue. */
  close(deadlineMs: number): Promise<void>
}

export type WorkerParts = {
  pool: pg.Pool
  connection: pg.ClientConfig
  notifications: NotificationSource
  plans: PlanCatalogue
  clock: Clock
  log: Log
  render(request: RenderRequest): Promise<Rendering>
  draw?: Draw
  openHeaders?: OpenOriginHeaders
  /** False while there is no browser: other nodes take the jobs. */
  canRender(): boolean
  ended?: Ended | undefined
  /** Told how many counts of the queue differed from its jobs. */
  corrected?: (counts: number) => void
  /** Tells other nodes what was stored and which jobs ended. */
  notices: Notices
  bodies: BodyStore
  /** How many requests of this process wait for a job. */
  countWaiting?: ((job: JobId) => number) | undefined
  /** Without it, sites are not probed for soft 404s. */
  sites?: SiteWatch
}

/** Caps are counted over all nodes: all nodes need the same values. */
export type WorkerOptions = {
  /** The name of this run of the node, never used by another run. */
  node: string
  /** Concurrent renders; one slot is for `live` only, unless there is just one. */
  slots: number
  /** Limits the load on a domain's origin. */
  domainCap?: number
  /** Leaves room for a crawler of the same domain. */
  domainBackgroundCap?: number
  leaseMs?: number
  renewMs?: number
  reapMs?: number
  /** One background render starts this often even if live renders fill the slots. */
  backgroundEveryMs?: number
  /** A live job that has waited this long takes the slot of a background render. */
  preemptAfterMs?: number
  /** The queue is looked at this often, in case a notification was lost, and for jobs whose back-off ends. */
  pollMs?: number
  liveWaitMs?: number
}

function withDefaults({
  node,
  slots,
  domainCap = 4,
  domainBackgroundCap = 3,
  leaseMs = 60_000,
  renewMs = 20_000,
  reapMs = 5_000,
  backgroundEveryMs = 1_000,
  preemptAfterMs = 250,
  pollMs = 1_000,
  liveWaitMs = 10_000,
}: WorkerOptions): Required<WorkerOptions> {
  return {
    node,
    slots,
    domainCap,
    domainBackgroundCap,
    leaseMs,
    renewMs,
    reapMs,
    backgroundEveryMs,
    preemptAfterMs,
    pollMs,
    liveWaitMs,
  }
}

/** Claims jobs while slots are free, and runs them. */
export class QueueWorker implements Worker {
  readonly #parts: WorkerParts
  readonly #options: Required<WorkerOptions>
  readonly #lease: Lease
  readonly #runs: Set<Run>
  readonly #plain = new PlainDomains()
  readonly #claims: Claims
  readonly #completer: JobCompleter
  readonly #enqueueOnly: EnqueueLive
  readonly #runParts: RunJobParts
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

  static async start(parts: WorkerParts, options: WorkerOptions): Promise<QueueWorker> {
    const settled = withDefaults(options)
    const runs = new Set<Run>()
    const lease = await Lease.start(parts.connection, settled, runs, parts.log)
    return new QueueWorker(parts, settled, runs, lease)
  }

  private constructor(parts: WorkerParts, options: Required<WorkerOptions>, runs: Set<Run>, lease: Lease) {
    const { pool, plans, clock, log, notices, bodies, ended, countWaiting, sites, notifications } = parts
    const { node, slots, leaseMs, liveWaitMs, pollMs, reapMs } = options
    this.#parts = parts
    this.#options = options
    this.#runs = runs
    this.#lease = lease
    // An account leaves one slot to the others.
    const rules = { ...options, accountCap: Math.max(1, slots - 1) }
    this.#claims = new Claims(pool, plans, node, rules)
    this.#completer = new JobCompleter(pool, plans, clock, notices, bodies, ended, countWaiting)
    this.#enqueueOnly = createEnqueueLive(pool, pool, plans, clock, liveWaitMs)
    this.#runParts = { ...parts, completer: this.#completer, leaseMs }
    this.#preemption = new Preemption(pool, clock, notices, rules)
    this.#afterRender = new AfterRender(pool, bodies, clock, log, sites)

    const poll = () => {
      if (this.#mayBeQueued) this.#wakeForCrawlers()
    }
    this.#timers = [
      setInterval(poll, pollMs),
      setInterval(() => this.#lookAtQueue().catch((error) => this.#complain(error)), reapMs),
    ]
    notifications.on(JOB_QUEUED_CHANNEL, (priority) => {
      if (priority === LIVE) this.#mayPreempt = true
      this.#mayBeQueued = true
      this.#wake()
    })
    notifications.onLost(() => {
      this.#mayBeQueued = true
      this.#wakeForCrawlers()
    })
    this.#wake()
  }

  get running(): number {
    return this.#runs.size
  }

  enqueueLive: EnqueueLive = async (page, requestId, crawler = null) => {
    const canClaim = !this.#isClaiming && !this.#isClosing && this.#lease.held && this.#parts.canRender()
    if (!canClaim || this.#slotsInUse().length >= this.#options.slots) {
      this.#mayBeQueued = true
      const job = await this.#enqueueOnly(page, requestId, crawler)
      this.#wakeForCrawlers()
      return job
    }
    const claiming = this.#claims.claimLive(
      { page, requestId, crawler },
      this.#freeSlots(),
      this.#parts.clock.nowMs(),
    )
    this.#isClaiming = true
    this.#claimed = claiming
      .then(
        ({ claimed, isMore }) => {
          this.#begin(claimed)
          if (isMore) this.#isWoken = true
        },
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
    const { pool } = this.#parts
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
  async #lookAtQueue(): Promise<void> {
    const { rows } = await this.#parts.pool.query<{ queued: boolean; running: boolean }>(QUEUE_STATE)
    const { queued, running } = rows[0]!
    if (running) await this.#completer.reap()
    if (queued || running) await this.#compareCounts()
    this.#mayBeQueued = queued || running
    if (queued) this.#wakeForCrawlers()
  }

  /** Once a minute, on one node of the fleet. */
  async #compareCounts(): Promise<void> {
    const { pool, log, corrected: tell } = this.#parts
    const { rows } = await pool.query<{ corrected: number }>(COMPARE_COUNTS)
    const { corrected } = rows[0]!
    if (corrected === 0) return
    tell?.(corrected)
    log.warn({ corrected }, 'counts of the queue differed from its jobs, and were corrected')
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
      while (this.#isWoken && !this.#isClosing && this.#lease.held && this.#parts.canRender()) {
        this.#isWoken = false
        const want = this.#freeSlots()
        if (want.slots > 0) {
          const { claimed, isMore } = await this.#claims.claim(want, this.#parts.clock.nowMs())
          this.#begin(claimed)
          if (isMore) {
            this.#isWoken = true
            continue
          }
        }
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

  /** Lists one run of each slot. */
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
    const isDue = this.#parts.clock.nowMs() - this.#backgroundBegunMs >= backgroundEveryMs
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
      const startedMs = this.#parts.clock.nowMs()
      if (job.priority !== 'live') this.#backgroundBegunMs = startedMs
      const run: Run = { job, abort: aborts.get(job.lead)!, startedMs, ended: Promise.resolve() }
      run.ended = this.#run(run)
      this.#runs.add(run)
    }
  }

  async #run(run: Run): Promise<void> {
    const { job, abort } = run
    const ran = await runJob(this.#runParts, job, abort)
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
    this.#parts.log.warn({ err: error }, 'the queue could not be worked on')
  }
}

/** So many pages in a row without a browser make a domain plain. */
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

const COMPARE_COUNTS = {
  name: 'queue-compare-counts',
  text: `select correct_queue_counts('1 minute') as corrected`,
}

const LIVE = String(priorityNumber('live'))

async function allEnd(promises: readonly Promise<void>[], withinMs: number): Promise<void> {
  await within(withinMs, Promise.all(promises), undefined)
}

import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Listener } from '../../db/listener.ts'
import { createDigester } from '../../sites/inspection/digests.ts'
import { createRecordKeeper } from '../judging/render-records.ts'
import { readStatement } from '../statement.ts'
import { type AfterwardsDeps, afterwards, type Ran } from './after-render.ts'
import type { Ended } from './await.ts'
import { type ClaimedJob, createClaim, createClaimLive } from './claim.ts'
import { type Complete, createComplete, createReaper } from './complete.ts'
import { createEnqueueLive, type EnqueueLive } from './enqueue.ts'
import { JOB_QUEUED_CHANNEL, priorityNumber } from './job.ts'
import { type Held, startLease } from './lease.ts'
import { createPreemption } from './pre-empt.ts'
import { type CarryOutDeps, carryOut, createRequestOf } from './run-job.ts'

export type Worker = {
  /** Jobs that run at this moment. */
  readonly running: number
  /**
   * For the misses of this node: claims in the same step where it has room, so that the render begins at once.
   * Throws as `enqueueLive` does.
   */
  enqueueLive: EnqueueLive
  /** Takes nothing new, lets what runs finish for `deadlineMs`, gives the rest back to the queue at once. */
  close(deadlineMs: number): Promise<void>
}

type Run = Held & { job: ClaimedJob; ended: Promise<void> }

/** Runs jobs of the queue in this node's slots until it is closed. Heals by itself when the database was away. */
export async function startWorker(deps: WorkerDeps, options: WorkerOptions): Promise<Worker> {
  const { pool, log, clock, connection, notifications } = deps
  const settled = { ...WORKER_DEFAULTS, ...options }
  const { node, slots, leaseMs, renewMs, reapMs, pollMs, backgroundEveryMs, patienceMs, ...caps } = settled
  const claim = createClaim(pool, node, { ...caps, leaseMs })
  const claimLive = createClaimLive(deps, node, { ...caps, leaseMs })
  const enqueueOnly = createEnqueueLive({ ...deps, db: pool })
  const digester = createDigester({ pool, log })
  const complete = tellingOf(createComplete(deps), digester)
  const keepRecord = createRecordKeeper(pool)
  const requestOf = createRequestOf(pool)
  const reap = createReaper(pool)
  const preemption = createPreemption({ ...caps, pool, node, patienceMs, nowMs: clock.nowMs })
  const giveBack = readStatement('give-back')
  const runs = new Set<Run>()
  const followings = new Set<Promise<void>>()
  let filled = Promise.resolve()
  let filling = false
  let woken = false
  let closing = false
  /** A crawler may be waiting for room. */
  let mayWait = false
  let lookAgain: NodeJS.Timeout | undefined
  let backgroundMs = Number.NEGATIVE_INFINITY

  const lease = await startLease(connection, { node, leaseMs, renewMs }, runs, log)
  notifications.on(JOB_QUEUED_CHANNEL, (priority) => {
    if (priority === LIVE) mayWait = true
    wake()
  })
  notifications.onLost(wakeForAll)
  const timers = [setInterval(wakeForAll, pollMs), setInterval(() => void reap().catch(complain), reapMs)]
  wake()

  function wakeForAll(): void {
    mayWait = true
    wake()
  }

  /** Called when a job was queued, when a slot became free, and by the poll. */
  function wake(): void {
    woken = true
    if (!filling) filled = fill()
  }

  /** As one look of `fill`, which does not run meanwhile. */
  async function enqueueLive(...[page, requestId]: Parameters<EnqueueLive>): ReturnType<EnqueueLive> {
    const room = slots - runs.size
    if (filling || closing || room === 0 || !lease.held || !deps.canRender()) {
      const job = await enqueueOnly(page, requestId)
      wakeForAll()
      return job
    }
    filling = true
    const want = { slots: room, backgroundSlots: backgroundSlots() }
    const asked = claimLive({ page, requestId }, want, clock.nowMs())
    filled = asked.then(
      // Claimed while `close` began: it gives them back.
      ({ claimed }) => void (closing || claimed.forEach(begin)),
      () => {},
    )
    filled = filled.finally(() => {
      filling = false
      if (woken && !closing) wake()
    })
    const [{ job }] = await Promise.all([asked, filled])
    return job
  }

  async function fill(): Promise<void> {
    filling = true
    try {
      while (woken && !closing && lease.held && deps.canRender()) {
        woken = false
        const want = { slots: slots - runs.size, backgroundSlots: backgroundSlots() }
        const jobs = want.slots > 0 ? await claim(want, clock.nowMs()) : []
        // Claimed while `close` began: it gives them back.
        if (!closing) for (const job of jobs) begin(job)
        if (mayWait && !closing) await makeRoom()
      }
    } catch (error) {
      complain(error)
    } finally {
      // In the same breath as the last look at `woken`: no call of `wake` falls between.
      filling = false
    }
  }

  /**
   * One slot is for live renders, and each of them takes the place of a background render besides: what a crawler
   * waits for has the machine's cores. Where none is left, background work begins now and then all the same.
   */
  function backgroundSlots(): number {
    const background = [...runs].filter(({ job }) => job.priority !== 'live').length
    const left = slots - 1 - runs.size
    if (left > 0 || background > 0) return left
    return runs.size === 0 || clock.nowMs() - backgroundMs >= backgroundEveryMs ? 1 : 0
  }

  async function makeRoom(): Promise<void> {
    mayWait = false
    const running = [...runs]
    if (running.every(({ job }) => job.priority === 'live')) return
    const againMs = await preemption.makeRoom(running, slots - running.length)
    clearTimeout(lookAgain)
    if (againMs !== null && !closing) lookAgain = setTimeout(wakeForAll, againMs)
  }

  function begin(job: ClaimedJob): void {
    if (job.priority !== 'live') backgroundMs = clock.nowMs()
    const abort = new AbortController()
    const carriedOut = carryOut({ ...deps, complete }, job, abort, leaseMs)
    const run: Run = { job, abort, ended: carriedOut.then((ran) => follow(job, ran)) }
    runs.add(run)
    void run.ended.finally(() => {
      runs.delete(run)
      wake()
    })
  }

  /** The next render does not wait for what follows this one, unless that piles up. */
  async function follow(job: ClaimedJob, ran: Ran): Promise<void> {
    const following = afterwards({ ...deps, keepRecord, requestOf }, job, ran)
    followings.add(following)
    const over = following.finally(() => followings.delete(following))
    if (followings.size > slots) await over
  }

  function complain(error: unknown): void {
    log.warn({ err: error }, 'the queue could not be worked on')
  }

  async function runsEnd(withinMs: number): Promise<void> {
    await allEnd(
      [...runs].map(({ ended }) => ended),
      withinMs,
    )
  }

  return {
    get running() {
      return runs.size
    },
    enqueueLive,
    async close(deadlineMs) {
      closing = true
      for (const timer of timers) clearInterval(timer)
      clearTimeout(lookAgain)
      await filled
      await runsEnd(deadlineMs)
      // Before the renders are told: what they still bring is refused by the fence.
      await pool.query({ ...giveBack, values: [node] }).catch(complain)
      for (const { abort } of runs) abort.abort()
      await runsEnd(1_000)
      await allEnd([...followings], 1_000)
      await digester.close()
      await lease.close()
    },
  }
}

/** All of them, or the time. */
async function allEnd(these: readonly Promise<void>[], withinMs: number): Promise<void> {
  const inTime = new AbortController()
  const late = sleep(withinMs, undefined, { signal: inTime.signal }).catch(() => {})
  await Promise.race([Promise.all(these), late])
  inTime.abort()
}

const LIVE = String(priorityNumber('live'))

/** What was stored is told on, for the history of its page; nobody waits for that. */
function tellingOf(complete: Complete, digester: Pick<ReturnType<typeof createDigester>, 'note'>): Complete {
  return async (job, found) => {
    const completion = await complete(job, found)
    const isStored = completion.state === 'done' && completion.outcome === 'rendered'
    if (isStored && found.kind === 'rendered') digester.note({ ...job, html: found.html })
    return completion
  }
}

export type WorkerDeps = Omit<CarryOutDeps, 'complete'> &
  Pick<AfterwardsDeps, 'prober'> & {
    pool: pg.Pool
    /** For the connection that holds the lease. */
    connection: pg.ClientConfig
    notifications: Pick<Listener, 'on' | 'onLost'>
    /** Told of each job that this worker has ended; absent: nobody waits at this node. */
    ended?: Ended
    /** False while there is no browser: jobs are left to other nodes. */
    canRender(): boolean
  }

export type WorkerOptions = {
  /** The name of this run of the node; no other run ever has it. */
  node: string
  /** Renders at once; one of them is for `live` only, unless there is just one. */
  slots: number
} & Partial<typeof WORKER_DEFAULTS>

/** The caps are counted over all nodes, so all nodes must have the same. */
const WORKER_DEFAULTS = {
  /** Renders of one domain at once: what a customer's origin has to bear, and what others need not wait behind. */
  domainCap: 4,
  /** At how many of them `refresh` and `warm` stop, so that a crawler of the same domain finds room. */
  domainBackgroundCap: 3,
  leaseMs: 60_000,
  renewMs: 20_000,
  reapMs: 5_000,
  /** With no slot left beside live renders, background work begins so seldom; it ends all the same. */
  backgroundEveryMs: 1_000,
  /** A live job that has waited so long for a slot, or its domain's cap, has a background render make room. */
  patienceMs: 250,
  /** In case a notification was lost, and for jobs whose back-off ends. */
  pollMs: 1_000,
}

import type { AccountId, DomainId, JobId } from '@prepaint/contract/ids.ts'
import { PRIORITIES } from '@prepaint/contract/outcome/job.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type pg from 'pg'
import { readStatement } from '../statement.ts'
import type { ClaimedJob } from './claim.ts'
import type { Notices } from './notices.ts'

/** Runs that share a slot share `abort`. */
export type Run = { job: ClaimedJob; abort: AbortController; startedMs: number; ended: Promise<void> }

/** The most waiting jobs of an account that are looked at: the most that could get a slot at once. */
const WAITING_LIMIT = 16
/** A render that was given back so often is rendered to its end. */
export const GIVEN_BACK_LIMIT = 5
/** Ten times a usual render: it is not about to end. */
export const LONG_RENDER_MS = 1_000
/** Time for another node with a free slot to claim the job. */
export const CLAIM_GRACE_MS = 20

type WaitingJob = { id: JobId; account_id: AccountId; domain_id: DomainId; running: number }

type PreemptionOptions = {
  node: string
  accountCap: number
  domainCap: number
  /** After this wait, a live job takes the slot of any render that may be given back. */
  preemptAfterMs: number
}

/**
 * Gives renders back when crawlers wait for their slots: docs/decisions/0005-queue.md and 0039-shares-of-slots.md.
 * A live job without a slot, or at its domain's or account's cap, takes the slot of
 * 1. a background or abandoned render, after `preemptAfterMs`, or at once after `LONG_RENDER_MS`;
 * 2. else, if its account has no render here: a long live render of the account that has most of them.
 * A render that was given back may run twice as long the next time, so that slow pages end.
 */
export class Preemption {
  /** When this node first saw them wait: a job that was raised to `live` is older than its crawler's wait. */
  #firstSeenMs = new Map<JobId, number>()
  readonly #pool: pg.Pool
  readonly #clock: Clock
  readonly #notices: Notices
  readonly #options: PreemptionOptions
  readonly #sql = {
    waiting: readStatement('waiting-live'),
    abandoned: readStatement('abandoned'),
    makeRoom: readStatement('make-room'),
  }

  constructor(pool: pg.Pool, clock: Clock, notices: Notices, options: PreemptionOptions) {
    this.#pool = pool
    this.#clock = clock
    this.#notices = notices
    this.#options = options
  }

  /** Returns the milliseconds after which to call it again, or null if nothing waits. */
  async makeRoom(runs: readonly Run[], freeSlots: number): Promise<number | null> {
    const { node, preemptAfterMs } = this.#options
    const { rows: waiting } = await this.#pool.query<WaitingJob>({
      ...this.#sql.waiting,
      values: [WAITING_LIMIT],
    })
    const nowMs = this.#clock.nowMs()
    this.#firstSeenMs = new Map(waiting.map(({ id }) => [id, this.#firstSeenMs.get(id) ?? nowMs]))
    if (waiting.length === 0) return null
    const { rows } = await this.#pool.query<{ id: JobId }>({ ...this.#sql.abandoned, values: [node] })
    const abandoned = new Set(rows.map(({ id }) => id))

    const plan = new Plan(runs, freeSlots)
    let againMs: number | null = null
    for (const job of waiting) {
      if (plan.hasRoomFor(job, this.#options)) {
        plan.add(job)
        continue
      }
      const waitedMs = nowMs - (this.#firstSeenMs.get(job.id) ?? nowMs)
      const dueInMs = (run: Run) => {
        const longInMs = Math.max(CLAIM_GRACE_MS - waitedMs, run.startedMs + longRenderMs(run) - nowMs)
        return mayGo(run, abandoned) ? Math.min(preemptAfterMs - waitedMs, longInMs) : longInMs
      }
      const candidates = this.#candidates(job, plan, abandoned)
      const due = candidates.filter((run) => dueInMs(run) <= 0)
      const gone = await this.#giveOneBack(due, abandoned)
      if (gone === null) {
        const laterMs = candidates.map(dueInMs).filter((ms) => ms > 0)
        againMs = Math.min(againMs ?? preemptAfterMs, ...laterMs)
      } else {
        plan.remove(gone)
        plan.add(job)
      }
    }
    return againMs
  }

  /** Lists the runs that may lose their slots to the job, youngest first: they lose the least work. */
  #candidates(job: WaitingJob, plan: Plan, abandoned: ReadonlySet<JobId>): Run[] {
    const youngest = plan.staying.toReversed()
    const free = youngest.filter((run) => mayGo(run, abandoned))
    if (plan.ofDomain(job) >= this.#options.domainCap) {
      return free.filter((run) => run.job.page.domain === job.domain_id)
    }
    const own = plan.ofAccount(job.account_id)
    if (own >= this.#options.accountCap) return free.filter((run) => run.job.account === job.account_id)
    if (free.length > 0 || own > 0) return free
    const most = Math.max(...youngest.map((run) => plan.ofAccount(run.job.account)))
    return youngest.filter(
      (run) => plan.ofAccount(run.job.account) === most && timesGivenBack(run) < GIVEN_BACK_LIMIT,
    )
  }

  async #giveOneBack(candidates: readonly Run[], abandoned: ReadonlySet<JobId>): Promise<Run | null> {
    for (const run of candidates) {
      if (await this.#giveBack(run, abandoned)) return run
    }
    return null
  }

  async #giveBack(run: Run, abandoned: ReadonlySet<JobId>): Promise<boolean> {
    const { id, attempts } = run.job
    const values = [id, this.#options.node, attempts, !mayGo(run, abandoned)]
    const { rows } = await this.#pool.query<{ priority: number }>({ ...this.#sql.makeRoom, values })
    const [given] = rows
    if (given === undefined) return false
    run.abort.abort()
    this.#notices.jobQueued(PRIORITIES[given.priority]!)
    return true
  }
}

/** What this node will run when the jobs first in line have taken the free slots. */
class Plan {
  #staying: Run[]
  #room: number
  readonly #added: WaitingJob[] = []
  readonly #removed: Run[] = []

  constructor(runs: readonly Run[], freeSlots: number) {
    this.#staying = runs.filter(({ abort }) => !abort.signal.aborted)
    this.#room = freeSlots + runs.length - this.#staying.length
  }

  get staying(): readonly Run[] {
    return this.#staying
  }

  hasRoomFor(job: WaitingJob, caps: { domainCap: number; accountCap: number }): boolean {
    const isCapped = this.ofDomain(job) >= caps.domainCap || this.ofAccount(job.account_id) >= caps.accountCap
    return this.#room > 0 && !isCapped
  }

  add(job: WaitingJob): void {
    this.#added.push(job)
    this.#room--
  }

  remove(run: Run): void {
    this.#staying = this.#staying.filter((other) => other !== run)
    this.#removed.push(run)
    this.#room++
  }

  ofAccount(account: AccountId): number {
    const staying = this.#staying.filter(({ job }) => job.account === account)
    return staying.length + this.#added.filter(({ account_id }) => account_id === account).length
  }

  ofDomain({ domain_id: domain, running }: WaitingJob): number {
    const added = this.#added.filter(({ domain_id }) => domain_id === domain)
    return running + added.length - this.#removed.filter(({ job }) => job.page.domain === domain).length
  }
}

/** Whether a render may be given back, as far as this node knows. The database decides. */
function mayGo(run: Run, abandoned: ReadonlySet<JobId>): boolean {
  const isBackground = run.job.priority !== 'live' || abandoned.has(run.job.id)
  return isBackground && timesGivenBack(run) < GIVEN_BACK_LIMIT
}

function longRenderMs(run: Run): number {
  return LONG_RENDER_MS * 2 ** timesGivenBack(run)
}

/** Counts the claims that were no fault: the job was given back or purged. */
function timesGivenBack({ job }: Run): number {
  return job.attempts - 1 - job.faults
}

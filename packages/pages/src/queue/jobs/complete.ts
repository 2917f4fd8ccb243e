import { AppError, unreachable } from '@prepaint/contract/errors.ts'
import type { JobId } from '@prepaint/contract/ids.ts'
import { type JobEnd, type JobOutcome, PRIORITIES, type Priority } from '@prepaint/contract/outcome/job.ts'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import { isAway } from '@prepaint/postgres/away.ts'
import { type Queryable, retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type pg from 'pg'
import { takeRender } from '../../quota.ts'
import type { BodyStore } from '../../store/bodies/body-store.ts'
import { keepRedirect, keepUnstored, noteRefusal } from '../../store/keep-page.ts'
import { deletePages } from '../../store/purge.ts'
import { noteOutcome } from '../../store/refused-pages.ts'
import { type Effect, effectOf, type Found, lookOf, MAX_FAULTS } from '../judging/effect.ts'
import { type Kept, PageKeeper } from '../judging/judge-page.ts'
import { readStatement, type Statement } from '../statement.ts'
import { keepTried } from '../tries/rule-tries.ts'
import type { Ended } from './await.ts'
import type { ClaimedJob } from './claim.ts'
import { enqueue } from './enqueue.ts'
import type { Notices } from './notices.ts'

export type Completion =
  | (JobEnd & { detail?: string })
  | { state: 'queued' }
  /** The job is no longer this node's: nothing was stored. */
  | { state: 'taken-away' }

/** What a transaction did, of which others are told after the commit. */
type Done = {
  completion: Completion
  /** How many edges wait for the job. */
  waiters?: number
  /** The job waits again. */
  queued?: Priority
  /** A redirect was stored. */
  storedMs?: number
}

const FAULT_BACK_OFF_MS = 500

/** Ends jobs. Only a better page replaces the last good copy. */
export class JobCompleter {
  readonly #pool: pg.Pool
  readonly #plans: PlanCatalogue
  readonly #clock: Clock
  readonly #notices: Notices
  readonly #tell: Ended
  readonly #countOwn: (job: JobId) => number
  readonly #keeper: PageKeeper
  /** Their results were sent, and the connection broke before PostgreSQL said whether they are stored. */
  readonly #unsure = new WeakSet<ClaimedJob>()
  readonly #sql = {
    fence: readStatement('fence'),
    requeue: readStatement('requeue'),
    end: readStatement('end'),
    storeProbe: readStatement('store-probe'),
    requeueLost: readStatement('requeue-lost'),
    endLost: readStatement('end-lost'),
  }

  /** `tell` is called after the commit. `countOwn` says how many requests of this process wait for a job. */
  constructor(
    pool: pg.Pool,
    plans: PlanCatalogue,
    clock: Clock,
    notices: Notices,
    bodies: BodyStore,
    tell: Ended = () => {},
    countOwn: (job: JobId) => number = () => 0,
  ) {
    this.#pool = pool
    this.#plans = plans
    this.#clock = clock
    this.#notices = notices
    this.#tell = tell
    this.#countOwn = countOwn
    this.#keeper = new PageKeeper(pool, plans, clock, bodies, ({ job, page, storedMs, waiters }) => {
      notices.pageStored(page, storedMs)
      notices.jobEnded(job, waiters > countOwn(job))
    })
  }

  /**
   * One transaction. Crawlers and caches are notified after the commit, also if the connection breaks before PostgreSQL
   * says that it is done: then, and again if a further call finds the job ended.
   */
  async complete(job: ClaimedJob, found: Found): Promise<Completion> {
    try {
      const completion = await this.#complete(job, found)
      if (completion.state === 'taken-away' && this.#unsure.has(job)) this.#tellAll(job)
      return completion
    } catch (error) {
      if (isAway(error)) {
        this.#unsure.add(job)
        this.#tellAll(job)
      }
      throw error
    }
  }

  async #complete(job: ClaimedJob, found: Found): Promise<Completion> {
    // Compress and judge before the transaction, which holds locks.
    const judging = found.kind === 'rendered' ? this.#keeper.judge(job, lookOf(job.page.path, found)) : null
    const [effect, judgement] = await Promise.all([effectOf(job, found), judging])
    const kept = effect.do === 'store-page' ? await this.#keeper.keep(job, effect, judgement) : null
    if (kept?.kept === 'stored') {
      const end: JobEnd = { state: 'done', outcome: kept.outcome }
      this.#tell(job.id, end, kept.page)
      await this.#renderLonger(job, found)
      return kept.page === null ? { ...end, detail: 'unchanged' } : end
    }
    const done = await retriedTransaction(this.#pool, async (client): Promise<Done> => {
      const fence = await run(client, this.#sql.fence, [job.id, job.node, job.attempts])
      const [locked] = fence.rows
      if (locked === undefined) return { completion: { state: 'taken-away' } }
      if (locked['superseded']) return this.#requeue(client, job, false)
      const isAwaited = locked['priority'] === 0
      return this.#carryOut(client, job, { found, effect, kept, isAwaited })
    })
    this.#tellDone(job, done)
    if (done.completion.state === 'failed') await this.#renderLonger(job, found)
    return done.completion
  }

  #tellDone({ id, page }: ClaimedJob, { completion, waiters = 0, queued, storedMs }: Done): void {
    if (storedMs !== undefined) this.#notices.pageStored(page, storedMs)
    if (queued !== undefined) this.#notices.jobQueued(queued)
    if (!('outcome' in completion)) return
    this.#notices.jobEnded(id, waiters > this.#countOwn(id))
    this.#tell(id, completion, null)
  }

  /** Who hears of what did not happen reads once more than needed. */
  #tellAll({ id, page }: ClaimedJob): void {
    this.#notices.pageStored(page, this.#clock.nowMs())
    this.#notices.jobEnded(id, true)
  }

  /** Requeues the jobs of dead nodes, or ends those that crashed too often. Returns how many. */
  async reap(): Promise<number> {
    const requeued = await run(this.#pool, this.#sql.requeueLost, [MAX_FAULTS + 1])
    const ended = await run(this.#pool, this.#sql.endLost, [MAX_FAULTS + 1])
    return (requeued.rowCount ?? 0) + (ended.rowCount ?? 0)
  }

  /** Queues a render that can wait for what the crawler could not wait for: the whole page, or a probable long poll. */
  async #renderLonger(job: ClaimedJob, found: Found): Promise<void> {
    const isProbablyWhole =
      found.kind === 'rendered' && found.missing !== undefined && job.captureByMs !== null
    if (job.priority !== 'live' || !(found.kind === 'incomplete' || isProbablyWhole)) return
    const { domain, path, variant } = job.page
    await enqueue(this.#pool, domain, [path], 'refresh', { variant }).catch(throwUnlessExpected)
  }

  async #carryOut(
    client: Queryable,
    job: ClaimedJob,
    {
      found,
      effect,
      kept,
      isAwaited,
    }: { found: Found; effect: Effect; kept: Kept | null; isAwaited: boolean },
  ): Promise<Done> {
    const nowMs = this.#clock.nowMs()
    switch (effect.do) {
      case 'store-page': {
        if (kept?.kept !== 'refused') throw new Error('a job that was lost is there again')
        const { outcome, detail } = kept
        if (kept.isWorse) await noteRefusal(client, job.page, nowMs)
        else await this.#note(client, job, outcome, nowMs)
        const failed: JobEnd = { state: 'failed', outcome }
        const ended = await this.#end(client, job, failed, detail)
        return detail === '' ? ended : { ...ended, completion: { ...failed, detail } }
      }
      case 'store-probe': {
        const finding = effect.finding && JSON.stringify(effect.finding)
        await run(client, this.#sql.storeProbe, [job.page.domain, job.id, finding, new Date(nowMs)])
        return this.#end(client, job, { state: 'done', outcome: 'probed' }, effect.detail)
      }
      case 'store-try':
        await keepTried(client, job.id, effect)
        return this.#end(client, job, { state: 'done', outcome: 'tried' })
      case 'store-redirect':
        await keepRedirect(client, job.page, effect, nowMs)
        await this.#note(client, job, 'redirect', nowMs)
        return { ...(await this.#end(client, job, { state: 'done', outcome: 'redirect' })), storedMs: nowMs }
      case 'give-once': {
        if (effect.outcome === 'no-store') {
          const which = { kind: 'page', page: job.page } as const
          await deletePages(client, job.page.domain, which, 'must-not-be-stored')
        }
        const isGiven =
          isAwaited && effect.page !== null && (await keepUnstored(client, job, effect.page, nowMs))
        const isCounted = !isGiven || (await this.#takeRender(client, job))
        const outcome = isCounted ? effect.outcome : 'over-quota'
        await this.#note(client, job, outcome, nowMs)
        return this.#end(client, job, { state: 'failed', outcome }, effect.detail)
      }
      case 'end':
        if (effect.state === 'failed') await this.#note(client, job, found.kind, nowMs)
        return this.#end(client, job, { state: effect.state, outcome: found.kind }, effect.detail)
      case 'requeue':
        return this.#requeue(client, job, effect.fault)
      default:
        return unreachable(effect)
    }
  }

  /** Remembers a refused page, so that the next visit costs no render, or forgets that it was refused. */
  async #note(client: Queryable, job: ClaimedJob, outcome: JobOutcome, nowMs: number): Promise<void> {
    // Says nothing of the page.
    if (outcome === 'over-quota' || outcome === 'crashed') return
    const { account, page, rule } = job
    await noteOutcome(client, { account, page, effect: rule?.effect ?? '' }, outcome, nowMs)
  }

  /** Counts a render. Returns false, and counts nothing, if it is over the quota. */
  #takeRender(client: Queryable, job: ClaimedJob): Promise<boolean> {
    const limit = planNamed(this.#plans, job.plan).monthly_render_limit
    return takeRender(client, job.page.domain, limit, this.#clock.nowMs())
  }

  async #end(client: Queryable, job: ClaimedJob, ended: JobEnd, detail = ''): Promise<Done> {
    const values = [job.id, ended.state, ended.outcome, detail === '' ? null : detail]
    const { rows } = await run(client, this.#sql.end, values)
    return { completion: ended, waiters: rows[0]?.['waiters'] }
  }

  async #requeue(client: Queryable, job: ClaimedJob, isFault: boolean): Promise<Done> {
    const values = [job.id, isFault ? FAULT_BACK_OFF_MS : 0, isFault ? 1 : 0]
    const { rows } = await run(client, this.#sql.requeue, values)
    return { completion: { state: 'queued' }, queued: PRIORITIES[rows[0]?.['priority']]! }
  }
}

function throwUnlessExpected(error: unknown): void {
  if (!(error instanceof AppError)) throw error
}

function run(client: Queryable, statement: Statement, values: readonly unknown[]): Promise<pg.QueryResult> {
  return client.query({ ...statement, values: [...values] })
}

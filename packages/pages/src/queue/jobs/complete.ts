import { AppError, unreachable } from '@prepaint/contract/errors.ts'
import type { JobEnd, JobOutcome } from '@prepaint/contract/outcome/job.ts'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import { type Queryable, retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type pg from 'pg'
import { takeRender } from '../../quota.ts'
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

export type Completion =
  | (JobEnd & { detail?: string })
  | { state: 'queued' }
  /** The job is no longer this node's: nothing was stored. */
  | { state: 'taken-away' }

const FAULT_BACK_OFF_MS = 500

/** Ends jobs. Only a better page replaces the last good copy. */
export class JobCompleter {
  readonly #pool: pg.Pool
  readonly #plans: PlanCatalogue
  readonly #clock: Clock
  readonly #tell: Ended
  readonly #keeper: PageKeeper
  readonly #sql = {
    fence: readStatement('fence'),
    requeue: readStatement('requeue'),
    end: readStatement('end'),
    storeProbe: readStatement('store-probe'),
    reap: readStatement('reap'),
  }

  /** `tell` is called after the commit. */
  constructor(pool: pg.Pool, plans: PlanCatalogue, clock: Clock, tell: Ended = () => {}) {
    this.#pool = pool
    this.#plans = plans
    this.#clock = clock
    this.#tell = tell
    this.#keeper = new PageKeeper(pool, plans, clock)
  }

  /** One transaction. Crawlers and caches are notified at the commit. */
  async complete(job: ClaimedJob, found: Found): Promise<Completion> {
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
    const completion = await retriedTransaction(this.#pool, async (client): Promise<Completion> => {
      const fence = await run(client, this.#sql.fence, [job.id, job.node, job.attempts])
      const [locked] = fence.rows
      if (locked === undefined) return { state: 'taken-away' }
      if (locked['superseded']) return this.#requeue(client, job, false)
      const isAwaited = locked['priority'] === 0
      return this.#carryOut(client, job, { found, effect, kept, isAwaited })
    })
    if ('outcome' in completion) this.#tell(job.id, completion, null)
    if (completion.state === 'failed') await this.#renderLonger(job, found)
    return completion
  }

  /** Requeues the jobs of dead nodes, or ends those that crashed too often. Returns how many. */
  async reap(): Promise<number> {
    const { rowCount } = await run(this.#pool, this.#sql.reap, [MAX_FAULTS + 1])
    return rowCount ?? 0
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
  ): Promise<Completion> {
    const nowMs = this.#clock.nowMs()
    switch (effect.do) {
      case 'store-page': {
        if (kept?.kept !== 'refused') throw new Error('a job that was lost is there again')
        const { outcome, detail } = kept
        if (kept.isWorse) await noteRefusal(client, job.page, nowMs)
        else await this.#note(client, job, outcome, nowMs)
        const ended = await this.#end(client, job, { state: 'failed', outcome }, detail)
        return detail === '' ? ended : { ...ended, detail }
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
        return this.#end(client, job, { state: 'done', outcome: 'redirect' })
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

  async #end(client: Queryable, job: ClaimedJob, ended: JobEnd, detail = ''): Promise<JobEnd> {
    await run(client, this.#sql.end, [job.id, ended.state, ended.outcome, detail === '' ? null : detail])
    return ended
  }

  async #requeue(client: Queryable, job: ClaimedJob, isFault: boolean): Promise<Completion> {
    await run(client, this.#sql.requeue, [job.id, isFault ? FAULT_BACK_OFF_MS : 0, isFault ? 1 : 0])
    return { state: 'queued' }
  }
}

function throwUnlessExpected(error: unknown): void {
  if (!(error instanceof AppError)) throw error
}

function run(client: Queryable, statement: Statement, values: readonly unknown[]): Promise<pg.QueryResult> {
  return client.query({ ...statement, values: [...values] })
}

import { AppError, unreachable } from '@prepaint/contract/errors.ts'
import type { JobEnd } from '@prepaint/contract/outcome/job.ts'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import { type Queryable, retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type pg from 'pg'
import { takeRender } from '../../quota.ts'
import { keepRedirect, keepUnstored, noteRefusal } from '../../store/keep-page.ts'
import { deletePages } from '../../store/purge.ts'
import { effectOf, type Found, lookOf, MAX_FAULTS } from '../judging/effect.ts'
import { createPageKeeper } from '../judging/judge-page.ts'
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

export type Complete = (job: ClaimedJob, found: Found) => Promise<Completion>

const FAULT_BACK_OFF_MS = 500

type CompleteDeps = { pool: pg.Pool; plans: PlanCatalogue; clock: Clock; ended?: Ended }

/**
 * One transaction. Crawlers and caches are notified at the commit. Only a better page replaces the last good copy.
 */
export function createComplete(deps: CompleteDeps): Complete {
  const { pool, plans, clock, ended: tell = () => {} } = deps
  const sql = {
    fence: readStatement('fence'),
    requeue: readStatement('requeue'),
    end: readStatement('end'),
    storeProbe: readStatement('store-probe'),
  }

  const keeper = createPageKeeper(deps)

  return async function complete(job, found) {
    // Compress and judge before the transaction, which holds locks.
    const judging = found.kind === 'rendered' ? keeper.judge(job, lookOf(job, found)) : null
    const [effect, judgement] = await Promise.all([effectOf(job, found), judging])
    const kept = effect.do === 'store-page' ? await keeper.keep(job, effect, judgement) : null
    if (kept?.kept === 'stored') {
      const end: JobEnd = { state: 'done', outcome: kept.outcome }
      tell(job.id, end, kept.page)
      return kept.page === null ? { ...end, detail: 'unchanged' } : end
    }
    const completion = await retriedTransaction(pool, async (client): Promise<Completion> => {
      const fence = await run(client, sql.fence, [job.id, job.node, job.attempts])
      if (fence.rows[0] === undefined) return { state: 'taken-away' }
      if (fence.rows[0]['superseded']) return requeue(client, false)

      const nowMs = clock.nowMs()
      switch (effect.do) {
        case 'store-page': {
          if (kept?.kept !== 'refused') throw new Error('a job that was lost is there again')
          const { outcome, detail } = kept
          if (kept.isWorse) await noteRefusal(client, job.page, nowMs)
          return {
            ...(await end(client, { state: 'failed', outcome }, detail)),
            ...(detail !== '' && { detail }),
          }
        }
        case 'store-probe': {
          const finding = effect.finding && JSON.stringify(effect.finding)
          await run(client, sql.storeProbe, [job.page.domain, job.id, finding, new Date(nowMs)])
          return end(client, { state: 'done', outcome: 'probed' }, effect.detail)
        }
        case 'store-try':
          await keepTried(client, job.id, effect)
          return end(client, { state: 'done', outcome: 'tried' })
        case 'store-redirect':
          await keepRedirect(client, job.page, effect, nowMs)
          return end(client, { state: 'done', outcome: 'redirect' })
        case 'give-once': {
          if (effect.outcome === 'no-store') {
            const which = { kind: 'page', page: job.page } as const
            await deletePages(client, job.page.domain, which, 'must-not-be-stored')
          }
          const isAwaited = fence.rows[0]['priority'] === 0
          const isGiven =
            isAwaited && effect.page !== null && (await keepUnstored(client, job, effect.page, nowMs))
          const counts = !isGiven || (await isWithinQuota(client))
          const outcome = counts ? effect.outcome : 'over-quota'
          return end(client, { state: 'failed', outcome }, effect.detail)
        }
        case 'end':
          return end(client, { state: effect.state, outcome: found.kind }, effect.detail)
        case 'requeue':
          return requeue(client, effect.fault)
        default:
          return unreachable(effect)
      }
    })
    if ('outcome' in completion) tell(job.id, completion, null)
    // The crawler could not wait for the whole page; this render can.
    if (found.kind === 'incomplete' && job.priority === 'live' && completion.state === 'failed')
      await enqueue(pool, job.page.domain, [job.page.path], 'refresh', job.page).catch(onlyExpected)
    return completion

    function isWithinQuota(client: Queryable): Promise<boolean> {
      return takeRender(
        client,
        job.page.domain,
        planNamed(plans, job.plan).monthly_render_limit,
        clock.nowMs(),
      )
    }

    async function end(client: Queryable, ended: JobEnd, detail = ''): Promise<JobEnd> {
      await run(client, sql.end, [job.id, ended.state, ended.outcome, detail === '' ? null : detail])
      return ended
    }

    async function requeue(client: Queryable, fault: boolean): Promise<{ state: 'queued' }> {
      await run(client, sql.requeue, [job.id, fault ? FAULT_BACK_OFF_MS : 0, fault ? 1 : 0])
      return { state: 'queued' }
    }
  }
}

function onlyExpected(error: unknown): void {
  if (!(error instanceof AppError)) throw error
}

function run(client: Queryable, statement: Statement, values: readonly unknown[]): Promise<pg.QueryResult> {
  return client.query({ ...statement, values: [...values] })
}

/** Requeues the jobs of dead nodes, or ends those that crashed too often. Returns how many. */
export function createReaper(pool: pg.Pool): () => Promise<number> {
  const reap = readStatement('reap')
  return async () => {
    const { rowCount } = await pool.query({ ...reap, values: [MAX_FAULTS + 1] })
    return rowCount ?? 0
  }
}

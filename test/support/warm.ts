import { afterEach } from 'node:test'
import type { DomainId } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { startWarm } from '@prepaint/pages/queue/warm/warm.ts'
import { readWarm, type WarmProgress } from '@prepaint/pages/queue/warm/warm-progress.ts'
import { warmStep } from '@prepaint/pages/queue/warm/warm-step.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { openQueue } from './queue.ts'

/** A queue with warm runs for all tests of a file, each of which finds it empty. */
export async function openWarm() {
  const queue = await openQueue()
  const { pool } = queue
  afterEach(() =>
    pool.query(
      'truncate task, warm, warm_count, warm_paused, warm_sitemap, known_path, sitemap, job, job_ended, unstored_page',
    ),
  )

  /** A step of the run that has waited longest and can move. `idle`: there is none, and none waits. */
  async function step(): Promise<'moved' | 'waiting' | 'idle'> {
    const runs = await queue.column<DomainId>(
      `select domain_id from warm where state in ('queueing', 'rendering') and paused_at is null order by moved_at`,
    )
    let isWaiting = false
    for (const domain of runs) {
      const end = await warmStep(pool, DEFAULT_PLANS, systemClock, domain)
      if (end === 'moved') return 'moved'
      isWaiting ||= end === 'waiting'
    }
    return isWaiting ? 'waiting' : 'idle'
  }

  async function domainWith(count: number, plan = 'enterprise'): Promise<DomainId> {
    const domain = await queue.domain({ plan })
    await pool.query(
      `insert into known_path (domain_id, path, source, seen_at)
       select $1, '/p' || lpad(n::text, 6, '0'), 'sitemap', now() from generate_series(1, $2) as n`,
      [domain, count],
    )
    return domain
  }

  /** Replaces the node that reads sitemaps. */
  const read = (domain: DomainId, robots = '') =>
    pool.query(
      `update warm set state = 'queueing', robots = $2,
              known = (select count(*) from known_path where domain_id = $1)
        where domain_id = $1`,
      [domain, robots],
    )

  return {
    queue,
    step,
    domainWith,
    read,
    /** A run whose sitemaps are read. */
    async started(count: number, { plan = 'enterprise', robots = '' } = {}): Promise<DomainId> {
      const domain = await domainWith(count, plan)
      await startWarm(pool, domain)
      await read(domain, robots)
      return domain
    },
    async settle(): Promise<void> {
      while ((await step()) === 'moved') {}
    },
    queued: async (domain: DomainId): Promise<number> =>
      (await queue.column(`select 1 from job where domain_id = $1 and state = 'queued'`, domain)).length,

    /** Ends waiting jobs in order; without a number, all of them. */
    end: (domain: DomainId, most = 1_000_000, state = 'done', detail: string | null = null) =>
      pool.query(
        `update job set state = $3, outcome = 'x', detail = $4, finished_at = clock_timestamp() where id in (
           select id from job where domain_id = $1 and state = 'queued' order by turn limit $2)`,
        [domain, most, state, detail],
      ),

    async progress(domain: DomainId): Promise<WarmProgress> {
      const progress = await readWarm(pool, domain)
      if (progress === null) throw new Error('no warm was asked for')
      return progress
    },
  }
}

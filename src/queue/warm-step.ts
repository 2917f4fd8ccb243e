import type pg from 'pg'

import { transaction } from '../db/transaction.ts'
import { AppError } from '../errors.ts'
import type { DomainId } from '../ids.ts'
import { enqueue } from './enqueue.ts'
import { nextKnownPaths } from './warm-run.ts'

/** Paths that one step takes: what a run holds in memory, however many pages the domain has. */
const STEP_PATHS = 500

/**
 * Jobs of one domain that may wait at `warm`. A run that is further ahead than
 * this waits for the renderers, so that the bounded queue keeps its room for
 * crawlers who wait and for the other domains.
 */
const WAITING_LIMIT = 2_000

/**
 * `moved`: a batch was queued, there may be more to do. `waiting`: there are
 * runs, but each has enough queued, or the queue is full. `idle`: there is none.
 */
export type WarmStep = 'moved' | 'waiting' | 'idle'

/**
 * Takes the run that moved longest ago and carries it on by one batch, in one
 * transaction with its jobs: after a crash the next node goes on exactly there.
 * Nodes never take the same run.
 */
export async function warmStep(pool: pg.Pool): Promise<WarmStep> {
  try {
    return await transaction(pool, async (client) => {
      const run = await takeRun(client)
      if (run === 'idle' || run === 'waiting') return run
      // Renders of an inactive domain serve nobody.
      const paths = run.active ? await nextKnownPaths(client, run.domain, run.after, STEP_PATHS) : []
      const last = paths.at(-1)
      if (last !== undefined) await enqueue(client, run.domain, paths, 'warm')
      if (last === undefined || paths.length < STEP_PATHS) {
        await client.query('delete from warm_run where domain_id = $1', [run.domain])
      } else {
        await client.query(
          'update warm_run set after_path = $2, moved_at = clock_timestamp() where domain_id = $1',
          [run.domain, last],
        )
      }
      return 'moved'
    })
  } catch (error) {
    if (error instanceof AppError && error.code === 'queue_full') return 'waiting'
    throw error
  }
}

type Run = { domain: DomainId; after: string; active: boolean }

async function takeRun(client: pg.PoolClient): Promise<Run | 'idle' | 'waiting'> {
  const { rows } = await client.query<{ domain_id: DomainId; after_path: string; is_active: boolean }>(
    `select r.domain_id, r.after_path, d.is_active from warm_run r join domain d on d.id = r.domain_id
     where (select count(*) from (
              select from job j where j.domain_id = r.domain_id and j.state = 'queued' and j.priority = 2 limit $1
            ) waiting) < $1
     order by r.moved_at limit 1 for update of r skip locked`,
    [WAITING_LIMIT],
  )
  const run = rows[0]
  if (run !== undefined) return { domain: run.domain_id, after: run.after_path, active: run.is_active }
  const { rowCount } = await client.query('select from warm_run limit 1')
  return rowCount === 0 ? 'idle' : 'waiting'
}

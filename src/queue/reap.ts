import type pg from 'pg'

import { MAX_FAULTS } from './effect.ts'
import { readStatement } from './statement.ts'

/**
 * Takes the jobs of dead nodes away from them: back into the queue, or ended
 * where a job was at fault too often. Gives how many. Every node does it.
 */
export function createReaper(pool: pg.Pool): () => Promise<number> {
  const reap = readStatement('reap')
  return async () => {
    const { rowCount } = await pool.query({ ...reap, values: [MAX_FAULTS + 1] })
    return rowCount ?? 0
  }
}

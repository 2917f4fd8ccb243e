import type pg from 'pg'

import type { DomainId, JobId } from '../../ids.ts'
import { readStatement } from '../statement.ts'
import type { ClaimedJob } from './claim.ts'
import type { Held } from './lease.ts'

/** A render of this node. */
export type Running = Held & { job: ClaimedJob }

/** Live jobs that are looked at: as many as could be made room for at a time. */
const WAITING_LIMIT = 16
/** A job that has made room so often is rendered to its end. */
export const GIVEN_BACK_LIMIT = 5

type Preemption = {
  /**
   * Makes room for live jobs that wait, and have waited long enough: gives the
   * youngest background render back for each, and aborts it. `runs`: in the order
   * in which they began. Gives the milliseconds after which to look again; null:
   * there is nobody to look for.
   */
  makeRoom(runs: readonly Running[], freeSlots: number): Promise<number | null>
}

/**
 * A background render takes a tenth of a second, and whoever waits for its slot
 * waits no longer than for the shortest of them. But all of them may be pages
 * that hang until their time is up, which is longer than a crawler waits. So a
 * live job that has waited for `patienceMs`, with no slot or its domain at its
 * cap, has a background render of this node out of its way.
 */
export function createPreemption(deps: {
  pool: pg.Pool
  node: string
  domainCap: number
  patienceMs: number
  nowMs(): number
}): Preemption {
  const { pool, node, domainCap, patienceMs, nowMs } = deps
  const waitingLive = readStatement('waiting-live')
  const giveBackOne = readStatement('give-back-one')
  /** When this node first saw them wait: a job that was raised to `live` is older than its crawler. */
  let seenMs = new Map<JobId, number>()

  async function giveBack({ job, abort }: Running): Promise<boolean> {
    const { rowCount } = await pool.query({ ...giveBackOne, values: [job.id, node, job.attempts] })
    if (rowCount === 1) abort.abort()
    return rowCount === 1
  }

  return {
    async makeRoom(runs, freeSlots) {
      const { rows } = await pool.query<{ id: JobId; domain_id: DomainId; running: number }>({
        ...waitingLive,
        values: [WAITING_LIMIT],
      })
      const now = nowMs()
      seenMs = new Map(rows.map(({ id }) => [id, seenMs.get(id) ?? now]))
      // Some are on their way out already, for those who came first.
      const leaving = runs.filter(({ abort }) => abort.signal.aborted).length
      const youngest = runs.filter(isInTheWay).reverse()
      let room = freeSlots + leaving
      let againMs: number | null = null
      for (const { id, domain_id: domain, running } of rows) {
        const isCapped = running >= domainCap
        if (!isCapped && room > 0) {
          // It is claimed as soon as that slot is free.
          room--
          continue
        }
        const waitedMs = now - (seenMs.get(id) ?? now)
        if (waitedMs < patienceMs) {
          againMs = Math.min(againMs ?? patienceMs, patienceMs - waitedMs)
          continue
        }
        for (const run of youngest.filter(({ job }) => !isCapped || job.page.domain === domain)) {
          youngest.splice(youngest.indexOf(run), 1)
          if (await giveBack(run)) break
        }
      }
      return againMs
    },
  }
}

function isInTheWay({ job, abort }: Running): boolean {
  // A claim that is no fault was given back, or a purge came.
  const givenBack = job.attempts - 1 - job.faults
  return job.priority !== 'live' && !abort.signal.aborted && givenBack < GIVEN_BACK_LIMIT
}

import type { Clock } from '../../clock.ts'
import type { JobId } from '../../ids.ts'
import type { Log } from '../../log.ts'
import type { RenderRecord } from '../../render/record.ts'
import { detailOf, type Found } from '../judging/effect.ts'
import type { Prober } from '../judging/prober.ts'
import type { KeepRecord } from '../judging/render-records.ts'
import type { ClaimedJob } from './claim.ts'
import type { Completion } from './complete.ts'

export type AfterwardsDeps = {
  keepRecord: KeepRecord
  /** What a live request that the job was queued for is called; for the log. */
  requestOf?(job: JobId): Promise<string | undefined>
  /** Absent: sites are not probed for what they show where there is no page. */
  prober?: Prober
  clock: Clock
  log: Log
}

/** One run of a job: when the node began with it, what it found, how that ended; `record` null: it rendered nothing. */
export type Ran = { startedMs: number; found: Found; completion: Completion; record: RenderRecord | null }

/**
 * What follows once a result has been brought, and whoever waited has been told:
 * the line in the log, a probe of the site if one is due, what the owner may ask
 * for later. The job has ended without it. Never rejects.
 */
export async function afterwards(
  { keepRecord, requestOf, prober, clock, log }: AfterwardsDeps,
  job: ClaimedJob,
  { startedMs, found, completion, record }: Ran,
): Promise<void> {
  const { id, customDomain, page, priority, attempts } = job
  const outcome = 'outcome' in completion ? completion.outcome : found.kind
  const line = { job: id, domain: customDomain, path: page.path, priority, attempts, outcome }
  const storedMs = clock.nowMs() - startedMs
  const requestId = await requestOf?.(id)
  log.info({ ...line, requestId, state: completion.state, ms: storedMs }, 'job')
  const learnt = await prober?.after(job, found, completion, clock.nowMs()).catch((error: Error) => {
    log.warn({ err: error, job: id }, 'a site could not be probed')
    return null
  })
  if (record === null) return
  const own = 'detail' in completion ? completion.detail : undefined
  const detail = (learnt ?? own ?? detailOf(found)) || null
  await keepRecord(job, { outcome, detail, claimedMs: startedMs, storedMs, record }).catch((error: Error) =>
    log.warn({ err: error, job: id }, 'the record of a render could not be stored'),
  )
}

import { setTimeout as sleep } from 'node:timers/promises'

import { errorCode } from '../db/connection.ts'
import type { Log } from '../log.ts'
import type { ClaimedJob } from './claim.ts'
import type { Complete, Completion } from './complete.ts'
import type { Found } from './effect.ts'

const AGAIN_MS = 500

/**
 * Completes a job, again and again for `forMs` while the database cannot take
 * the result: for so long the job may still be ours. Never rejects.
 */
export async function bringResult(
  { complete, log }: { complete: Complete; log: Log },
  job: ClaimedJob,
  found: Found,
  signal: AbortSignal,
  forMs: number,
): Promise<Completion> {
  let result = found
  for (let waitedMs = 0; waitedMs <= forMs; waitedMs += AGAIN_MS) {
    try {
      return await complete(job, result)
    } catch (error) {
      log.warn({ err: error, job: job.id }, 'the result of a job could not be stored')
      if (signal.aborted) break
      // What the database refuses for its content (classes 22 and 23) it would refuse again.
      if (result.kind !== 'crashed' && /^2[23]/.test(errorCode(error))) {
        result = { kind: 'crashed', reason: 'the result could not be stored' }
        continue
      }
      await sleep(AGAIN_MS, undefined, { signal }).catch(() => {})
    }
  }
  return { state: 'taken-away' }
}

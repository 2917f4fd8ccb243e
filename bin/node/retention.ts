import { removeOldJobs } from '@prepaint/contract/outcome/job.ts'
import { removeOldInspections } from '@prepaint/pages/inspection/inspections.ts'
import { removeOldRecords } from '@prepaint/pages/queue/judging/render-records.ts'
import { removeOldTries } from '@prepaint/pages/queue/tries/rule-tries.ts'
import { removeOldFacts } from '@prepaint/pages/site-files/page-facts.ts'
import { removeOldVisits } from '@prepaint/pages/store/last-visits.ts'
import { removeOldDigests } from '@prepaint/pages/store/page-digests.ts'
import { removeExpired, removeOldLastRenders } from '@prepaint/pages/store/remove-expired.ts'
import { removeOldUnstored } from '@prepaint/pages/store/stored-page.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { removeOldCounts, removeOldSecrets, removeOldSignIns } from '@prepaint/service/accounts/retention.ts'
import { removeOldTraffic } from '@prepaint/service/insight/traffic/retention.ts'
import { removeOldEvents } from '@prepaint/service/notifications/delivery/deliveries.ts'
import { removeOldIncidents } from '@prepaint/service/notifications/incidents/incidents.ts'
import type pg from 'pg'

const EVERY_MS = 3_600_000

/** Runs at startup and every hour. Nodes take different rows. An error in one table does not affect others. */
export function startRetention(deps: { pool: pg.Pool; clock: Clock; log: Log; everyMs?: number }): {
  close(): Promise<void>
} {
  const { pool, clock, log, everyMs = EVERY_MS } = deps
  const closing = new AbortController()
  const { signal } = closing
  const tables: Record<string, () => Promise<number>> = {
    jobs: () => removeOldJobs(pool, { signal }),
    records: () => removeOldRecords(pool, { signal }),
    'last renders': () => removeOldLastRenders(pool, { signal }),
    unstored: () => removeOldUnstored(pool, clock.nowMs()),
    pages: () => removeExpired(pool, { signal }),
    digests: () => removeOldDigests(pool, { signal }),
    inspections: () => removeOldInspections(pool, { signal }),
    'rule tries': () => removeOldTries(pool, { signal }),
    'page facts': () => removeOldFacts(pool, signal),
    visits: () => removeOldVisits(pool, { signal }),
    counts: () => removeOldCounts(pool, { signal }),
    traffic: () => removeOldTraffic(pool, { signal }),
    secrets: () => removeOldSecrets(pool, { signal }),
    events: () => removeOldEvents(pool, { signal }),
    incidents: () => removeOldIncidents(pool, { signal }),
    'sign-ins': () => removeOldSignIns(pool, { signal }),
  }

  let running = run()
  const timer = setInterval(() => {
    running = running.then(run)
  }, everyMs)
  return {
    async close() {
      clearInterval(timer)
      closing.abort()
      await running
    },
  }

  async function run(): Promise<void> {
    for (const [what, remove] of Object.entries(tables)) {
      if (signal.aborted) return
      try {
        const removed = await remove()
        if (removed > 0) log.info({ what, removed }, 'removed expired rows')
      } catch (error) {
        log.warn({ err: error, what }, 'expired rows could not be removed; trying again')
      }
    }
  }
}

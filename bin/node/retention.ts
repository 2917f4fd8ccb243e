import type pg from 'pg'
import { removeOldCounts, removeOldSecrets, removeOldSignIns } from '../../src/accounts/retention.ts'
import type { Clock } from '../../src/clock.ts'
import { removeOldTraffic } from '../../src/insight/traffic/retention.ts'
import type { Log } from '../../src/log.ts'
import { removeOldEvents } from '../../src/notifications/delivery/deliveries.ts'
import { removeOldIncidents } from '../../src/notifications/incidents/incidents.ts'
import { removeOldJobs } from '../../src/queue/jobs/job.ts'
import { removeOldRecords } from '../../src/queue/judging/render-records.ts'
import { removeOldTries } from '../../src/queue/tries/rule-tries.ts'
import { removeOldFacts } from '../../src/site-files/page-facts.ts'
import { removeOldInspections } from '../../src/sites/inspection/inspections.ts'
import { removeOldVisits } from '../../src/store/last-visits.ts'
import { removeOldDigests } from '../../src/store/page-digests.ts'
import { removeExpired, removeOldLastRenders } from '../../src/store/remove-expired.ts'
import { removeOldUnstored } from '../../src/store/stored-page.ts'

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

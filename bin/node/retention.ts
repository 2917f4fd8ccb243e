import { removeOldInspections } from '@prepaint/pages/inspection/inspections.ts'
import { removeOldJobs } from '@prepaint/pages/queue/jobs/ended-jobs.ts'
import { removeOldRecords } from '@prepaint/pages/queue/judging/render-records.ts'
import { removeOldTries } from '@prepaint/pages/queue/tries/rule-tries.ts'
import { removeOldFacts } from '@prepaint/pages/site-files/page-facts.ts'
import { removeOldVisits } from '@prepaint/pages/store/last-visits.ts'
import { removeOldDigests } from '@prepaint/pages/store/page-digests.ts'
import { removeOldRefusals } from '@prepaint/pages/store/refused-pages.ts'
import { removeExpired, removeOldLastRenders } from '@prepaint/pages/store/remove-expired.ts'
import { removeOldUnstored } from '@prepaint/pages/store/stored-page.ts'
import { removeOldEntries } from '@prepaint/postgres/audit'
import { analyzeDivided } from '@prepaint/postgres/domain-partitions.ts'
import { removeOldRates } from '@prepaint/postgres/rates'
import type { Task, TaskKind } from '@prepaint/postgres/tasks'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { removeOldInvitations } from '@prepaint/service/accounts/invitations.ts'
import { removeOldCounts, removeOldSecrets, removeOldSignIns } from '@prepaint/service/accounts/retention.ts'
import { removeOldShareLinks } from '@prepaint/service/accounts/share-links.ts'
import { removeOldFronts } from '@prepaint/service/fronts/retention.ts'
import { removeOldMonths } from '@prepaint/service/insight/reports/kept-months.ts'
import { keepTrafficDays, removeOldTraffic } from '@prepaint/service/insight/traffic/retention.ts'
import { removeOldEvents } from '@prepaint/service/notifications/delivery/deliveries.ts'
import { removeOldIncidents } from '@prepaint/service/notifications/incidents/incidents.ts'
import { removeOldFormers } from '@prepaint/service/sites/proof/former-names.ts'
import { removeOldMarks } from '@prepaint/service/sites/proof/marks.ts'
import type pg from 'pg'
import { SCHEMA } from './schema.ts'

const EVERY_MS = 3_600_000

/**
 * Removes old rows every hour, and looks after partitions: a task for each group of tables, so that an error in one does not affect others. A node of
 * version 0.2.0 does the same beside: the two take different rows.
 */
export class Retention implements TaskKind {
  readonly name = 'retention'
  readonly slots = 1
  readonly perAccount = 1
  readonly faultMessage = 'expired rows could not be removed; trying again'
  readonly subjects: string
  readonly #pool: pg.Pool
  readonly #clock: Clock
  readonly #log: Log
  readonly #everyMs: number

  constructor(pool: pg.Pool, clock: Clock, log: Log, everyMs = EVERY_MS) {
    this.#pool = pool
    this.#clock = clock
    this.#log = log
    this.#everyMs = everyMs
    const names = Object.keys(REMOVALS).map((name) => `('${name}')`)
    this.subjects = `select name as key, 0 as account_id, now() as due_at from (values ${names.join(', ')}) as v (name)`
  }

  async run({ key: what }: Task, signal: AbortSignal): Promise<number | null> {
    const remove = REMOVALS[what]
    // Another version had a group of this name.
    if (remove === undefined) return null
    const removed = await remove(this.#pool, { signal, nowMs: this.#clock.nowMs() })
    if (removed > 0) this.#log.info({ what, removed }, 'removed expired rows')
    return this.#everyMs
  }
}

type Removal = (pool: pg.Pool, options: { signal: AbortSignal; nowMs: number }) => Promise<number>

const REMOVALS: Record<string, Removal> = {
  jobs: (pool, { nowMs, signal }) => removeOldJobs(pool, nowMs, { signal }),
  records: (pool, { nowMs, signal }) => removeOldRecords(pool, nowMs, { signal }),
  'last renders': removeOldLastRenders,
  unstored: (pool, { nowMs }) => removeOldUnstored(pool, nowMs),
  pages: removeExpired,
  refusals: removeOldRefusals,
  digests: removeOldDigests,
  inspections: removeOldInspections,
  'rule tries': removeOldTries,
  'page facts': (pool, { signal }) => removeOldFacts(pool, signal),
  visits: removeOldVisits,
  counts: removeOldCounts,
  traffic: removeOldTraffic,
  'traffic days': (pool, { nowMs }) => keepTrafficDays(pool, nowMs),
  secrets: removeOldSecrets,
  events: removeOldEvents,
  incidents: removeOldIncidents,
  months: removeOldMonths,
  rates: removeOldRates,
  'sign-ins': removeOldSignIns,
  invitations: removeOldInvitations,
  fronts: removeOldFronts,
  proofs: async (pool, { signal }) =>
    (await removeOldFormers(pool, { signal })) + (await removeOldMarks(pool, { signal })),
  'share links': removeOldShareLinks,
  'audit log': removeOldEntries,
  statistics: async (pool, { signal }) => {
    await analyzeDivided(pool, SCHEMA.divided, signal)
    return 0
  },
}

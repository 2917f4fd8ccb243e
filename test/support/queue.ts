import { randomUUID } from 'node:crypto'

import { DEFAULT_PLANS } from '../../src/accounts/plans.ts'
import { systemClock } from '../../src/clock.ts'
import type { AccountId, DomainId, PagePath } from '../../src/ids.ts'
import { type ClaimedJob, createClaim } from '../../src/queue/jobs/claim.ts'
import { createComplete } from '../../src/queue/jobs/complete.ts'
import type { RenderOutcome } from '../../src/render/outcome.ts'
import { type TestDatabase, testDatabase } from './database.ts'

/** Paths that need no normalising. */
export function paths(count: number, prefix = '/p'): PagePath[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}` as PagePath)
}

export const HOME = '/' as PagePath

export const RENDERED: RenderOutcome = {
  kind: 'rendered',
  status: 200,
  headers: [['content-type', 'text/html']],
  html: '<!doctype html><h1>rendered</h1>',
}

export type TestQueue = TestDatabase & { accountOf(domain: DomainId): Promise<AccountId> } & {
  domain(options?: { plan?: string; active?: boolean; account?: AccountId }): Promise<DomainId>
  /** Claims as one node with many slots. */
  claim(
    options?: Partial<{
      node: string
      slots: number
      backgroundSlots: number
      cap: number
      accountCap: number
      occupied: AccountId[]
      leaseMs: number
    }>,
  ): Promise<ClaimedJob[]>
  complete: ReturnType<typeof createComplete>
  jobs(domain: DomainId): Promise<
    {
      path: string
      state: string
      outcome: string | null
      priority: number
      superseded: boolean
      faults: number
    }[]
  >
}

export async function testQueue(): Promise<TestQueue> {
  const database = await testDatabase()
  const { pool } = database
  let count = 0
  return {
    ...database,
    async domain({ plan = 'enterprise', active = true, account } = {}) {
      const name = `d${++count}.example`
      const { rows } = await pool.query<{ id: DomainId }>(
        `with owner as (insert into account (email, plan) select $1, $2 where $5::integer is null returning id)
         insert into domain (account_id, custom_domain, origin_url, is_active)
         select coalesce($5, (select id from owner)), $3, 'http://127.0.0.1:1', $4 returning id`,
        [`owner@${name}`, plan, name, active, account ?? null],
      )
      return rows[0]!.id
    },
    async accountOf(domain) {
      const { rows } = await pool.query<{ account_id: AccountId }>(
        'select account_id from domain where id = $1',
        [domain],
      )
      return rows[0]!.account_id
    },
    claim({
      node = randomUUID(),
      slots = 100,
      backgroundSlots = slots,
      cap = 100,
      accountCap = 100,
      occupied = [],
      leaseMs = 60_000,
    } = {}) {
      const caps = { accountCap, domainCap: cap, domainBackgroundCap: cap }
      const claim = createClaim(pool, node, { ...caps, leaseMs, liveWaitMs: 10_000 })
      return claim({ slots, backgroundSlots, occupied }, systemClock.nowMs())
    },
    complete: createComplete({ pool, plans: DEFAULT_PLANS, clock: systemClock }),
    async jobs(domain) {
      const { rows } = await pool.query(
        'select path, state, outcome, priority, superseded, faults from job where domain_id = $1 order by created_at, path',
        [domain],
      )
      return rows
    },
  }
}

import type { AccountId } from '@prepaint/contract/ids.ts'
import type pg from 'pg'

/** What `bench/claims.ts` has a process of `bench/claims-node.ts` do. */
export type NodeTask = {
  connection: pg.ClientConfig
  /** `claim`: claims and ends one job at a time. `disturb`: everything that a node does to jobs. */
  kind: 'claim' | 'disturb'
  /** Claims under way at once. */
  atOnce: number
  /** Between two claims. 0: none. */
  pauseMs: number
}

/** What it claimed: of each account, in each tenth of a second since the Unix epoch. */
export type NodeReport = { claimed: number; byTime: [tenth: number, account: AccountId, claims: number][] }

export const CAPS = { accountCap: 1_000, domainCap: 4, domainBackgroundCap: 3 }

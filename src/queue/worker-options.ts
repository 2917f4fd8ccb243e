import type pg from 'pg'

import type { Listener } from '../db/listener.ts'
import type { AfterwardsDeps } from './afterwards.ts'
import type { Ended } from './await.ts'
import type { CarryOutDeps } from './carry-out.ts'

export type WorkerDeps = Omit<CarryOutDeps, 'complete'> &
  Pick<AfterwardsDeps, 'prober'> & {
    pool: pg.Pool
    /** For the connection that holds the lease. */
    connection: pg.ClientConfig
    notifications: Pick<Listener, 'on' | 'onLost'>
    /** Told of each job that this worker has ended; absent: nobody waits at this node. */
    ended?: Ended
    /** False while there is no browser: jobs are left to other nodes. */
    canRender(): boolean
  }

export type WorkerOptions = {
  /** The name of this run of the node; no other run ever has it. */
  node: string
  /** Renders at once; one of them is for `live` only, unless there is just one. */
  slots: number
} & Partial<typeof WORKER_DEFAULTS>

/** The caps are counted over all nodes, so all nodes must have the same. */
export const WORKER_DEFAULTS = {
  /** Renders of one domain at once: what a customer's origin has to bear, and what others need not wait behind. */
  domainCap: 4,
  /** At how many of them `refresh` and `warm` stop, so that a crawler of the same domain finds room. */
  domainBackgroundCap: 3,
  leaseMs: 60_000,
  renewMs: 20_000,
  reapMs: 5_000,
  /** With no slot left beside live renders, background work begins so seldom; it ends all the same. */
  backgroundEveryMs: 1_000,
  /** A live job that has waited so long for a slot, or its domain's cap, has a background render make room. */
  patienceMs: 250,
  /** In case a notification was lost, and for jobs whose back-off ends. */
  pollMs: 1_000,
}

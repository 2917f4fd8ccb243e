/**
 * A node of `bench/claims.ts`, in a process of its own: it claims and ends jobs until it is told to stop, and then says what
 * it claimed. Its first argument is its task as JSON.
 */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AccountId, DomainId, PagePath } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { cancelJobs, restartRenders } from '@prepaint/pages/queue/jobs/cancel.ts'
import { enqueue, refreshPages } from '@prepaint/pages/queue/jobs/enqueue.ts'
import { BodyStore } from '@prepaint/pages/store/bodies/body-store.ts'
import { retried, retriedTransaction } from '@prepaint/postgres/transaction.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import pg from 'pg'
import { type ClaimedJob, Claims } from '../packages/pages/src/queue/jobs/claim.ts'
import { JobCompleter } from '../packages/pages/src/queue/jobs/complete.ts'
import { Notices } from '../packages/pages/src/queue/jobs/notices.ts'
import { readStatement } from '../packages/pages/src/queue/statement.ts'
import { CAPS, type NodeReport, type NodeTask } from './claims-task.ts'

const DISTURB_SLOTS = 4
const ENQUEUE_PATHS = 40

const task = JSON.parse(process.argv[2]!) as NodeTask
const node = randomUUID()
const pool = new pg.Pool({ ...task.connection, max: task.atOnce + 1 })
const claims = new Claims(pool, DEFAULT_PLANS, node, { ...CAPS, leaseMs: 60_000, liveWaitMs: 10_000 })
const end = readStatement('end')
const counts = new Map<string, number>()
let claimed = 0
let isStopped = false

process.on('message', () => {
  isStopped = true
})
process.on('disconnect', () => process.exit())
// If this process dies, its jobs are taken back by others: packages/pages/src/queue/jobs/lease.ts.
const lease = new pg.Client(task.connection)
await lease.connect()
await lease.query(`select pg_advisory_lock(hashtextextended('prepaint node ' || $1, 0))`, [node])
process.send!('started')

await Promise.all(Array.from({ length: task.atOnce }, task.kind === 'claim' ? claimAndEnd : disturb))
const byTime = [...counts].map(([key, count]) => {
  const [tenth, account] = key.split(' ').map(Number) as [number, AccountId]
  return [tenth, account, count] as [number, AccountId, number]
})
process.send!({ claimed, byTime } satisfies NodeReport, () => process.exit())

async function claimAndEnd(): Promise<void> {
  while (!isStopped) {
    const jobs = await claim(1, 1)
    await Promise.all(jobs.map((job) => pool.query({ ...end, values: [job.id, 'done', 'rendered', null] })))
    if (task.pauseMs > 0) await sleep(task.pauseMs * (0.5 + Math.random()))
  }
}

async function claim(slots: number, backgroundSlots: number): Promise<ClaimedJob[]> {
  const free = { slots, backgroundSlots, occupied: [] }
  const { claimed: jobs } = await claims.claim(free, systemClock.nowMs())
  claimed += jobs.length
  const tenth = Math.floor(Date.now() / 100)
  for (const { account } of jobs) {
    const key = `${tenth} ${account}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return jobs
}

/** Claims several jobs, and ends, requeues or gives each back, or leaves it to the reaper. Changes domains meanwhile. */
async function disturb(): Promise<void> {
  const completer = new JobCompleter(
    pool,
    DEFAULT_PLANS,
    systemClock,
    new Notices(pool, silentLog()),
    BodyStore.none(pool, silentLog()),
  )
  while (!isStopped) {
    const slots = 1 + Math.floor(Math.random() * DISTURB_SLOTS)
    const jobs = await claim(slots, slots - 1)
    for (const job of jobs) await retried(() => endSomehow(job))
    if (Math.random() < 0.05 || jobs.length === 0) await retried(() => changeDomain())
    if (Math.random() < 0.02) await retried(() => completer.reap())
    // What is left running, as at a shutdown.
    if (Math.random() < 0.01)
      await retried(() => pool.query({ ...readStatement('give-back'), values: [node] }))
  }
}

async function endSomehow({ id, attempts }: ClaimedJob): Promise<void> {
  const chance = Math.random()
  if (chance < 0.8) await pool.query({ ...end, values: [id, 'done', 'rendered', null] })
  else if (chance < 0.9) await pool.query({ ...readStatement('requeue'), values: [id, 50, 1] })
  else if (chance < 0.95)
    await pool.query({ ...readStatement('make-room'), values: [id, node, attempts, true] })
}

/** A purge storm: pages are refreshed, jobs cancelled, renders restarted, domains deleted with their accounts, others queued. */
async function changeDomain(): Promise<void> {
  const { rows } = await pool.query<{ id: DomainId }>('select id from domain order by random() limit 1')
  const domain = rows[0]!.id
  const paths = Array.from({ length: ENQUEUE_PATHS }, () => `/${Math.floor(Math.random() * 500)}` as PagePath)
  const chance = Math.random()
  const byDeletion = (error: Error) => {
    if (!('code' in error) || error.code !== 'domain_not_found') throw error
  }
  if (chance < 0.6) {
    const priority = chance < 0.1 ? 'live' : 'warm'
    await enqueue(pool, domain, paths, priority).catch(byDeletion)
  } else if (chance < 0.8) {
    await retriedTransaction(pool, (client) => refreshPages(client, domain, paths)).catch(byDeletion)
  } else if (chance < 0.85) {
    await retriedTransaction(pool, (client) => cancelJobs(client, domain))
  } else if (chance < 0.95) {
    await retriedTransaction(pool, async (client) => {
      await cancelJobs(client, domain, ['mobile'])
      await restartRenders(client, domain)
    })
  } else {
    await pool.query(
      `with gone as (
         delete from account where id = (select account_id from domain where id = $1) returning email
       ), account as (
         insert into account (email, plan) select 'again' || gen_random_uuid() || '@example.com', 'enterprise' from gone returning id)
       insert into domain (account_id, custom_domain, origin_url)
         select id, gen_random_uuid() || '.example', 'https://origin.example' from account, generate_series(1, 3)`,
      [domain],
    )
  }
}

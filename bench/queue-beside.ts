import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'

import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import type { JobWaiter } from '@prepaint/pages/queue/jobs/await.ts'
import { enqueue } from '@prepaint/pages/queue/jobs/enqueue.ts'
import type { WorkerOptions } from '@prepaint/pages/queue/jobs/worker.ts'
import { startWorker } from '@prepaint/pages/queue/jobs/worker.ts'
import type { Listener } from '@prepaint/postgres/listener.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { defaultSlots, thisMachine } from '../bin/settings/config.ts'
import { startTestRenderer } from '../test/support/renderer.ts'
import { openSite } from './sites.ts'

/** Milliseconds from enqueueing to notification of each live job; pages warmed per second. */
export type Beside = { idleMs: number[]; besideMs: number[]; warmedPerSecond: number }

/** Domains that are warmed, all below their cap. */
const WARMED = 10
const BETWEEN_MS = { least: 60, span: 240 }

export async function liveBesideWarm(
  deps: { pool: pg.Pool; connection: pg.ClientConfig; listener: Listener; waiter: JobWaiter; log: Log },
  domains: readonly DomainId[],
  {
    rounds,
    each,
    warmJobs,
    options,
  }: {
    rounds: number
    each: number
    warmJobs: number
    options: Partial<WorkerOptions>
  },
): Promise<Beside> {
  const { pool, waiter } = deps
  const site = await openSite('shop')
  const slots = defaultSlots(thisMachine())
  const renderer = await startTestRenderer({ slots })
  await pool.query('truncate job, unstored_page')
  let warmed = 0
  const worker = await startWorker(
    {
      ...{ pool, connection: deps.connection, log: deps.log, notifications: deps.listener },
      ...{ plans: DEFAULT_PLANS, clock: systemClock, canRender: () => true },
      async render(request) {
        const rendering = await renderer.render({ ...request, originUrl: site.originUrl })
        if (request.path.includes('warm') && rendering.outcome.kind === 'rendered') warmed++
        return rendering
      },
    },
    { node: randomUUID(), slots, ...options },
  )
  await deps.listener.settled()
  let visit = 0
  const [crawled, ...others] = domains as [DomainId, ...DomainId[]]
  const path = (word: string) => `${site.page(visit).path.split('?')[0]}?${word}=${visit++}` as PagePath
  const live = async () => {
    const startMs = performance.now()
    const [job] = await enqueue(pool, crawled, [path('live')], 'live')
    const end = await waiter.wait(job!.jobId, AbortSignal.timeout(30_000))
    if (end === 'late' || end.state !== 'done') throw new Error(`a live job ended as ${JSON.stringify(end)}`)
    return performance.now() - startMs
  }
  const some = async () => {
    const took: number[] = []
    for (let n = 0; n < each; n++) {
      took.push(await live())
      await sleep(BETWEEN_MS.least + ((n * 97) % BETWEEN_MS.span))
    }
    return took
  }
  try {
    for (let n = 0; n < 10; n++) await live()
    const found: Beside = { idleMs: [], besideMs: [], warmedPerSecond: 0 }
    let besideSeconds = 0
    warmed = 0
    for (let round = 0; round < rounds; round++) {
      found.idleMs.push(...(await some()))
      for (const domain of others.slice(0, WARMED)) {
        const paths = Array.from({ length: warmJobs / WARMED }, () => path('warm'))
        await enqueue(pool, domain, paths, 'warm')
      }
      while (worker.running === 0) await sleep(5)
      const startMs = performance.now()
      found.besideMs.push(...(await some()))
      besideSeconds += (performance.now() - startMs) / 1_000
      await pool.query(`delete from job where state = 'queued'`)
      while (worker.running > 0) await sleep(5)
    }
    return { ...found, warmedPerSecond: warmed / besideSeconds }
  } finally {
    await worker.close(5_000)
    await renderer.close()
    await site.close()
  }
}

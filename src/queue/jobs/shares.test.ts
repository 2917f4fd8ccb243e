/** An account whose pages never end leaves room for the others: real Chromium, real queue, the slots of a two-core machine. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, describe, it } from 'node:test'
import { until } from '../../../test/support/condition.ts'
import { openQueue } from '../../../test/support/queue.ts'
import { scripted, startTestRenderer } from '../../../test/support/renderer.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { systemClock } from '../../clock.ts'
import type { DomainId, PagePath } from '../../ids.ts'
import { silentLog } from '../../log.ts'
import { pageId } from '../../store/page-id.ts'
import { createJobWaiter } from './await.ts'
import { startWorker, type Worker } from './worker.ts'

const SLOTS = 3
const LIVE_WAIT_MS = 10_000
const MISSES = 3

const queue = await openQueue()
const listener = await queue.listener()
const waiter = createJobWaiter(listener, queue.pool, silentLog())
const workers: Worker[] = []
const renderer = await startTestRenderer({ slots: SLOTS })
renderer.routes.set('/never-ready', scripted('window.prerenderReady = false'))
renderer.routes.set('/loops', scripted('while (true);'))
renderer.routes.set('/page', scripted(`show('content')`))
after(async () => {
  waiter.close()
  await renderer.close()
})
afterEach(() => Promise.all(workers.splice(0).map((worker) => worker.close(0))))

describe("beside another account's pages, a crawler's page is rendered while they still run:", {
  timeout: 240_000,
}, () => {
  // Proves decided "Fair shares of render slots"
  it('ten crawlers on pages of one domain that never end', async () => {
    const worker = await start()
    await crawl(worker, [await queue.domain()], 10, '/never-ready')
    await missesAreRendered(worker)
  })

  it('ten crawlers on pages of ten domains of one account that compute for ever', async () => {
    const worker = await start()
    await crawl(worker, await domainsOfOneAccount(10), 10, '/loops')
    await missesAreRendered(worker)
  })

  // Proves decided "Fair shares of render slots"
  it('a node with one slot', async () => {
    const worker = await start(1)
    await crawl(worker, [await queue.domain()], 10, '/never-ready')
    const other = await queue.domain()
    assert.deepEqual(await miss(worker, other, '/page?one'), { state: 'done', outcome: 'rendered' })
  })
})

async function start(slots = SLOTS): Promise<Worker> {
  const worker = await startWorker(
    {
      ...{ pool: queue.pool, connection: queue.connection, notifications: listener, ended: waiter.ended },
      ...{ plans: DEFAULT_PLANS, clock: systemClock, log: silentLog(), canRender: () => true },
      render: (request) => renderer.render({ ...request, originUrl: renderer.originUrl }),
    },
    { node: randomUUID(), slots },
  )
  workers.push(worker)
  return worker
}

async function domainsOfOneAccount(count: number): Promise<DomainId[]> {
  const first = await queue.domain()
  const account = await queue.accountOf(first)
  const others = Array.from({ length: count - 1 }, () => queue.domain({ account }))
  return [first, ...(await Promise.all(others))]
}

/** As the edge does it: the job, and a crawler that waits for so long. */
async function miss(worker: Worker, domain: DomainId, path: string) {
  const job = await worker.enqueueLive(pageId(domain, path as PagePath), randomUUID())
  assert(job !== 'over-quota')
  const end = await waiter.wait(job, AbortSignal.timeout(LIVE_WAIT_MS))
  return end === 'late' ? end : { state: end.state, outcome: end.outcome }
}

/** Crawlers that come one after the other, and wait. */
async function crawl(worker: Worker, domains: readonly DomainId[], count: number, page: string) {
  for (let n = 0; n < count; n++) {
    void miss(worker, domains[n % domains.length]!, `${page}?${n}`).catch(() => {})
  }
  await until('renders have begun', () => worker.running > 0)
}

/** Misses of another account, while renders of its neighbour hold slots all the time. */
async function missesAreRendered(worker: Worker): Promise<void> {
  const other = await queue.domain()
  for (let n = 0; n < MISSES; n++) {
    assert.deepEqual(await miss(worker, other, `/page?${n}`), { state: 'done', outcome: 'rendered' })
    const ended = await queue.column(
      'select path from job where finished_at is not null and domain_id <> $1',
      other,
    )
    assert.deepEqual(ended, [], 'a render of the neighbour has ended')
  }
}

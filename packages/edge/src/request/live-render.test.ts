import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import { AppError } from '@prepaint/contract/errors.ts'
import type { JobId, PagePath } from '@prepaint/contract/ids.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import type { JobWaiter, WaitedFor } from '@prepaint/pages/queue/jobs/await.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import pg from 'pg'
import { edgeDomain } from './domain.ts'
import { LiveRenders, WAITING_LIMIT } from './live-render.ts'

const domainOf = (id: number, account_id: number, custom_domain: string) => {
  const row = { id, account_id, custom_domain, origin_url: 'http://o.example', is_active: true }
  return edgeDomain({ ...row, settings: {} })
}
const domain = domainOf(1, 1, 'red.example')
const sibling = domainOf(2, 1, 'pink.example')
const other = domainOf(3, 2, 'blue.example')
/** What one account may hold while no other holds anything. */
const SHARE = WAITING_LIMIT / 2
const key = (path: string, { id } = domain) => pageId(id, path as PagePath)
const connection = () => Object.assign(new EventEmitter(), { req: { headers: {} } }) as ServerResponse
const forEver = () => new Promise<never>(() => {})

/** `wait` and `enqueue`: what comes of a job, and of queueing it. */
function start(parts: { wait?: JobWaiter['wait']; enqueue?: () => Promise<void>; liveWaitMs?: number } = {}) {
  const { wait = forEver, enqueue = async () => {}, liveWaitMs = 60_000 } = parts
  const asked: string[] = []
  const renders = new LiveRenders({
    log: silentLog(),
    db: new pg.Pool(),
    pages: { reread: async () => null, admission: () => () => null },
    waiter: { wait },
    enqueueLive: async ({ path }) => {
      asked.push(path)
      await enqueue()
      return path as string as JobId
    },
    liveWaitMs,
  })
  return { renders, asked }
}

describe('crawlers that wait for renders', () => {
  it('of one account are limited: one past its share is passed; one more, or one of another account, is not', async () => {
    const { renders, asked } = start()
    const connections = Array.from({ length: SHARE }, connection)
    const first = connections[0]!
    const waiting = connections.map((res, at) => {
      const asked = at % 2 === 0 ? domain : sibling
      return renders.render(asked, key(`/${at}`, asked), res)
    })
    assert.equal(await renders.render(domain, key('/more'), connection()), 'busy')
    assert.equal(await renders.render(sibling, key('/more', sibling), connection()), 'busy')
    first.emit('close')
    assert.equal(await waiting[0], 'late')
    waiting.push(renders.render(domain, key('/more'), first))
    waiting.push(renders.render(other, key('/theirs', other), connections[1]!))
    await new Promise(setImmediate)
    for (const res of connections) res.emit('close')
    assert((await Promise.all(waiting)).every((end) => end === 'late'))
    assert(asked.includes('/more') && asked.includes('/theirs'))
  })

  it('for one page share one job, which is waited for until the last has gone', async () => {
    let signalled: AbortSignal | undefined
    const { renders, asked } = start({
      wait: (_job, signal) => {
        signalled = signal
        return forEver()
      },
    })
    const [one, two] = [connection(), connection()]
    const waiting = [one, two].map((res) => renders.render(domain, key('/a'), res))
    await new Promise(setImmediate)
    one.emit('close')
    await waiting[0]
    assert.equal(signalled?.aborted, false)
    two.emit('close')
    await waiting[1]
    assert.equal(signalled?.aborted, true)
    assert.deepEqual(asked, ['/a'])
  })

  it('are told at the deadline, also when PostgreSQL answers nothing at all', async () => {
    const { renders } = start({ enqueue: forEver, liveWaitMs: 10 })
    assert.equal(await renders.render(domain, key('/a'), connection()), 'late')
  })

  it('hear a plain word of every end', async () => {
    const ends: [WaitedFor | 'late' | Error, string][] = [
      [{ state: 'failed', outcome: 'crashed' }, 'crashed'],
      [{ state: 'cancelled', outcome: 'cancelled' }, 'cancelled'],
      // From a node of another version.
      [{ state: 'failed', outcome: 'a\r\nX-Injected: 1' as never }, 'failed'],
      // Done, and purged a moment later.
      [{ state: 'done', outcome: 'rendered' }, 'rendered'],
      ['late', 'late'],
      [new AppError('queue_full'), 'queue-full'],
      [new Error('no database'), 'database'],
    ]
    for (const [end, word] of ends) {
      const isFault = end instanceof Error
      const { renders } = start(isFault ? { enqueue: () => Promise.reject(end) } : { wait: async () => end })
      assert.equal(await renders.render(domain, key('/a'), connection()), word)
    }
  })
})

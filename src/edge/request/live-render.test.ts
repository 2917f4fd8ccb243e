import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, it } from 'node:test'

import pg from 'pg'

import { AppError } from '../../errors.ts'
import type { DomainId, JobId, PagePath } from '../../ids.ts'
import { silentLog } from '../../log.ts'
import type { WaitedFor } from '../../queue/jobs/await.ts'
import { pageId } from '../../store/page-id.ts'
import { edgeDomain } from './domain.ts'
import { LiveRenders, WAITING_LIMIT } from './live-render.ts'

const row = { account_id: 1, custom_domain: 'red.example', origin_url: 'http://o.example', is_active: true }
const domain = edgeDomain({ id: 1, ...row, settings: {} })
const sibling = edgeDomain({ id: 2, ...row, custom_domain: 'pink.example', settings: {} })
const other = edgeDomain({ id: 3, ...row, account_id: 2, custom_domain: 'blue.example', settings: {} })
/** What one account may hold while no other holds anything. */
const SHARE = WAITING_LIMIT / 2
const key = (path: string) => pageId(1 as DomainId, path as PagePath)
const connection = () => Object.assign(new EventEmitter(), { req: { headers: {} } }) as ServerResponse

type Parts = ConstructorParameters<typeof LiveRenders>[0]

function start(parts: Partial<Parts> & { wait?: Parts['waiter']['wait'] }, liveWaitMs = 60_000) {
  const asked: string[] = []
  const { wait = () => new Promise<never>(() => {}), ...rest } = parts
  const renders = new LiveRenders({
    log: silentLog(),
    db: new pg.Pool(),
    pages: { reread: async () => null, admission: () => () => null },
    waiter: { wait },
    enqueueLive: async (page) => {
      asked.push(page.path)
      return page.path as string as JobId
    },
    liveWaitMs,
    ...rest,
  })
  const renderNow = (...args: Parameters<LiveRenders['render']>) => renders.render(...args)
  return { renderNow, asked }
}

describe('crawlers that wait for renders', () => {
  it('of one account are limited: one past its share is passed; one more, or one of another account, is not', async () => {
    const { renderNow, asked } = start({})
    const connections = Array.from({ length: SHARE }, connection)
    const first = connections[0]!
    const waiting = connections.map((res, at) =>
      renderNow(at % 2 === 0 ? domain : sibling, key(`/${at}`), res),
    )
    assert.equal(await renderNow(domain, key('/more'), connection()), 'busy')
    assert.equal(await renderNow(sibling, key('/more'), connection()), 'busy')
    first.emit('close')
    assert.equal(await waiting[0], 'late')
    const others = [renderNow(domain, key('/more'), first), renderNow(other, key('/theirs'), connections[1]!)]
    await Promise.resolve()
    for (const res of connections) res.emit('close')
    assert.deepEqual(await Promise.all(others), ['late', 'late'])
    assert(asked.includes('/more') && asked.includes('/theirs'))
    await Promise.all(waiting)
  })

  it('for one page share one job, which is waited for until the last has gone', async () => {
    let signalled: AbortSignal | undefined
    const { renderNow, asked } = start({
      wait: (_job, signal) => {
        signalled = signal
        return new Promise(() => {})
      },
    })
    const [one, two] = [connection(), connection()]
    const waiting = [renderNow(domain, key('/a'), one), renderNow(domain, key('/a'), two)]
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
    const { renderNow } = start({ enqueueLive: () => new Promise(() => {}) }, 10)
    assert.equal(await renderNow(domain, key('/a'), connection()), 'late')
  })

  it('hear a plain word of every end', async () => {
    const ends: [WaitedFor | 'late', string][] = [
      [{ state: 'failed', outcome: 'crashed' }, 'crashed'],
      [{ state: 'cancelled', outcome: 'cancelled' }, 'cancelled'],
      // From a node of another version.
      [{ state: 'failed', outcome: 'of-another-version' as never }, 'failed'],
      [{ state: 'failed', outcome: 'a\r\nX-Injected: 1' as never }, 'failed'],
      // Done, and purged a moment later.
      [{ state: 'done', outcome: 'rendered' }, 'rendered'],
      ['late', 'late'],
    ]
    for (const [end, word] of ends) {
      const { renderNow } = start({ wait: async () => end })
      assert.equal(await renderNow(domain, key('/a'), connection()), word)
    }
  })

  it('are passed when the queue is full, or PostgreSQL fails', async () => {
    for (const [error, word] of [
      [new AppError('queue_full'), 'queue-full'],
      [new Error('no database'), 'database'],
    ] as const) {
      const { renderNow } = start({ enqueueLive: () => Promise.reject(error) })
      assert.equal(await renderNow(domain, key('/a'), connection()), word)
    }
  })
})

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import type { DomainId, JobId, PagePath } from '@prepaint/contract/ids.ts'
import { parseInvalidations } from '@prepaint/runtime/invalidation.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { until } from '../../../../../test/support/condition.ts'
import { notifiedBy, openTestDatabase } from '../../../../../test/support/database.ts'
import { GATHERED_AT_ONCE, Notices, PAYLOAD_BYTES, WAITING_LIMIT } from './notices.ts'

const database = await openTestDatabase()
const CHANNELS = ['invalidate', 'job_done']
const newJob = () => randomUUID() as JobId
const page = (path: string) => ({ domain: 7 as DomainId, path: path as PagePath })

/** A pool that keeps what it is told to notify, and fails while `isAway`. */
class ToldPool {
  readonly told: { channel: string; payload: string }[][] = []
  isAway = false
  /** Queries end when it settles. */
  held: Promise<void> | null = null

  async query({ values }: { values: [string[], string[]] }): Promise<void> {
    if (this.isAway) throw new Error('PostgreSQL is away')
    if (this.held !== null) await this.held
    this.told.push(values[0].map((channel, at) => ({ channel, payload: values[1][at]! })))
  }
}

function start(tellOwn?: (payload: string) => void): { pool: ToldPool; notices: Notices } {
  const pool = new ToldPool()
  return { pool, notices: new Notices(pool as never, silentLog(), tellOwn) }
}

describe('what renders tell other nodes', () => {
  it('is heard as one payload of pages and one of jobs', async () => {
    const jobs = [newJob(), newJob()]
    const heard = await notifiedBy(database, CHANNELS, async () => {
      const notices = new Notices(database.pool, silentLog())
      for (const path of ['/a', '/b']) notices.pageStored(page(path), 1_000)
      for (const job of jobs) notices.jobEnded(job, false)
      await notices.close()
      assert.equal(notices.commits, 1)
    })
    assert.deepEqual(heard.length, 2)
    const pages = parseInvalidations(heard.find((payload) => payload.startsWith('{'))!)
    assert.partialDeepStrictEqual(pages, [
      { kind: 'page', domain: 7, page: { path: '/a' }, storedMs: 1_000, purged: false },
      { kind: 'page', domain: 7, page: { path: '/b' }, storedMs: 1_000, purged: false },
    ])
    assert.ok(heard.includes(jobs.join()))
  })

  it('waits 20 ms for more, but not for the 500th, nor where a crawler waits at another node', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const almost = start()
    for (let at = 1; at < GATHERED_AT_ONCE; at++) almost.notices.pageStored(page(`/${at}`), 1_000)
    t.mock.timers.tick(19)
    assert.equal(almost.pool.told.length, 0)
    t.mock.timers.tick(1)
    assert.equal(almost.pool.told.length, 1)
    const enough = start()
    for (let at = 1; at <= GATHERED_AT_ONCE; at++) enough.notices.pageStored(page(`/${at}`), 1_000)
    assert.equal(enough.pool.told.length, 1)
    const awaited = start()
    awaited.notices.jobEnded(newJob(), true)
    assert.equal(awaited.pool.told.length, 1)
    for (const { notices } of [almost, enough, awaited]) await notices.close()
  })

  it('has at most 7,900 bytes a payload, however long the paths are', async () => {
    const { pool, notices } = start()
    for (let at = 0; at < 400; at++) notices.pageStored(page(`/${'ä'.repeat(at)}`), 1_000)
    for (let at = 0; at < 499; at++) notices.jobEnded(newJob(), false)
    await notices.close()
    const payloads = pool.told.flat()
    const sizes = payloads.map(({ payload }) => Buffer.byteLength(payload))
    assert.ok(Math.max(...sizes) <= PAYLOAD_BYTES && Math.max(...sizes) > PAYLOAD_BYTES - 850, String(sizes))
    const pages = payloads
      .filter(({ channel }) => channel === 'invalidate')
      .flatMap(({ payload }) => parseInvalidations(payload))
    assert.equal(pages.length, 400)
    const jobs = payloads
      .filter(({ channel }) => channel === 'job_done')
      .flatMap(({ payload }) => payload.split(','))
    assert.equal(jobs.length, 499)
  })

  it('has each priority once in which jobs wait again', async () => {
    const { pool, notices } = start()
    for (const priority of ['refresh', 'live', 'refresh'] as const) notices.jobQueued(priority)
    await notices.close()
    const queued = { channel: 'job_queued', payload: '1' }
    assert.deepEqual(pool.told, [[queued, { ...queued, payload: '0' }]])
  })

  it('is told before the node closes, also what came while something was being told, and begins nothing later', async (t) => {
    const { pool, notices } = start()
    const held = Promise.withResolvers<void>()
    pool.held = held.promise
    notices.jobEnded(newJob(), true)
    await new Promise(setImmediate)
    notices.jobEnded(newJob(), true)
    let isClosed = false
    const closing = notices.close().then(() => {
      isClosed = true
    })
    await new Promise(setImmediate)
    assert.equal(isClosed, false, 'it waits for what is being told')
    held.resolve()
    await closing
    assert.equal(pool.told.flat().length, 2)

    const timers = t.mock.method(globalThis, 'setTimeout')
    pool.isAway = true
    notices.jobEnded(newJob(), true)
    await notices.close()
    assert.equal(timers.mock.callCount(), 0)
  })

  it('reaches the caches of this node at once', () => {
    const own: string[] = []
    const { notices } = start((payload) => own.push(payload))
    notices.pageStored(page('/a'), 1_000)
    assert.partialDeepStrictEqual(own.flatMap(parseInvalidations), [
      { kind: 'page', page: { path: '/a' }, storedMs: 1_000 },
    ])
    return notices.close()
  })

  it('is told later if PostgreSQL is away meanwhile', async () => {
    const { pool, notices } = start()
    pool.isAway = true
    notices.jobEnded(newJob(), true)
    notices.pageStored(page('/a'), 1_000)
    await new Promise(setImmediate)
    pool.isAway = false
    await until('it is told', () => pool.told.flat().length === 2)
    assert.equal(notices.commits, 1)
  })

  it('beyond the limit of what waits makes nodes forget everything, and keeps nothing more', async () => {
    const { pool, notices } = start()
    pool.isAway = true
    for (let at = 0; at < WAITING_LIMIT; at++) notices.pageStored(page(`/${at}`), 1_000)
    await new Promise(setImmediate)
    pool.isAway = false
    await notices.close()
    assert.ok(pool.told.flat().every(({ payload }) => payload !== '{}'))

    const beyond = start()
    beyond.pool.isAway = true
    for (let at = 0; at <= WAITING_LIMIT + GATHERED_AT_ONCE; at++) {
      beyond.notices.pageStored(page(`/${at}`), 1_000)
    }
    await new Promise(setImmediate)
    beyond.pool.isAway = false
    await beyond.notices.close()
    assert.deepEqual(beyond.pool.told.flat(), [{ channel: 'invalidate', payload: '{}' }])
  })
})

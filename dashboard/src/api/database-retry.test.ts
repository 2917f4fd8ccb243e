import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { AppError, publicError } from '@prepaint/contract/errors.ts'
import { QueryObserver } from '@tanstack/react-query'
import { DatabaseRetry } from './database-retry.ts'
import { databaseState } from './database-state.ts'
import { newQueryClient } from './queries.ts'
import { request } from './request.ts'
import { sessionQuery } from './session.ts'

const UNAVAILABLE = publicError(new AppError('database_unavailable'))
const ME = { email: 'owner@example.com' }

/** A server whose database is away until the test says otherwise, a screen that shows the session, and the banner's retries. */
function screen(t: TestContext) {
  const server = { isAway: true, isSilent: false, asked: [] as string[] }
  t.mock.method(globalThis, 'fetch', async (path: string, { method = 'GET' }: RequestInit = {}) => {
    server.asked.push(`${method} ${path}`)
    if (server.isSilent) throw new TypeError('fetch failed')
    if (path === '/readyz') return Response.json({ database: server.isAway ? 'unreachable' : 'ok' })
    if (server.isAway) return Response.json(UNAVAILABLE.body, UNAVAILABLE)
    return Response.json({ account: ME })
  })
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const queries = newQueryClient()
  queries.setQueryData(sessionQuery.queryKey, ME as never)
  const observer = new QueryObserver(queries, sessionQuery)
  t.after(observer.subscribe(() => {}))
  let retry: DatabaseRetry | null = null
  t.after(() => {
    retry?.close()
    databaseState.set('there')
    queries.clear()
  })
  const settle = async () => {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  return {
    server,
    queries,
    begin() {
      retry = new DatabaseRetry(queries)
    },
    async pass(ms: number) {
      t.mock.timers.tick(ms)
      await settle()
    },
  }
}

describe('requests while the database is away', () => {
  it('are repeated every five seconds, not before, until the database answers', async (t) => {
    const { server, queries, begin, pass } = screen(t)
    await queries.refetchQueries(sessionQuery)
    assert.equal(databaseState.isAway, true)
    assert.deepEqual(server.asked, ['GET /api/session'], 'a request is not repeated at once')
    begin()
    await pass(4_999)
    assert.equal(server.asked.length, 1)
    await pass(1)
    assert.equal(server.asked.length, 2)
    assert.equal(databaseState.isAway, true)
    server.isAway = false
    await pass(5_000)
    assert.equal(server.asked.length, 3)
    assert.equal(databaseState.isAway, false)
    await pass(60_000)
    assert.equal(server.asked.length, 3)
  })

  it('leave the session and what was read before', async (t) => {
    const { queries, begin, pass } = screen(t)
    await queries.refetchQueries(sessionQuery)
    begin()
    await pass(5_000)
    assert.deepEqual(queries.getQueryData(sessionQuery.queryKey), ME)
  })

  it('a form that was refused is not sent again: the node is asked whether the database is there', async (t) => {
    const { server, begin, pass } = screen(t)
    const sent = request('POST', '/api/domains', { body: {} })
    await assert.rejects(sent, { status: 503, message: UNAVAILABLE.body.error })
    assert.equal(databaseState.isAway, true)
    begin()
    await pass(5_000)
    assert.equal(databaseState.isAway, true)
    server.isAway = false
    await pass(5_000)
    assert.equal(databaseState.isAway, false)
    assert.deepEqual(server.asked, ['POST /api/domains', 'GET /readyz', 'GET /readyz'])
  })

  it('end no outage where the node does not respond at all', async (t) => {
    const { server, begin, pass } = screen(t)
    await assert.rejects(request('POST', '/api/domains', { body: {} }))
    server.isSilent = true
    begin()
    await pass(5_000)
    assert.equal(databaseState.isAway, true)
  })
})

describe('the banner', () => {
  it('is not shown for other answers 503, or without a response', async (t) => {
    const { server } = screen(t)
    t.mock.method(globalThis, 'fetch', async () => Response.json({ error: 'Busy' }, { status: 503 }))
    await assert.rejects(request('GET', '/api/session'), { status: 503 })
    assert.equal(databaseState.isAway, false)
    assert.deepEqual(server.asked, [])
    t.mock.method(globalThis, 'fetch', async () => {
      throw new TypeError('fetch failed')
    })
    await assert.rejects(request('GET', '/api/session'), { status: 0 })
    assert.equal(databaseState.isAway, false)
  })
})

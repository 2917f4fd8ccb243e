import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openTestDatabase } from '../../test/support/database.ts'
import { listening } from '../../test/support/loopback.ts'
import { checkEdge, checkReadiness, createReadinessServer } from './readiness.ts'

const { pool } = await openTestDatabase({ empty: true })

it('a node is ready when its database answers and its browser runs; one that does not render needs none', async () => {
  const found = (renderer: { healthy: boolean } | null, isDraining = false) =>
    checkReadiness({ isAway: false, db: pool }, renderer, isDraining)
  const whole = { ready: true, state: 'serving', database: 'ok', browser: 'ok' }
  assert.deepEqual(await found({ healthy: true }), whole)
  assert.deepEqual(await found({ healthy: false }), { ...whole, ready: false, browser: 'broken' })
  assert.deepEqual(await found(null), { ...whole, browser: 'none' })
  assert.deepEqual(await found(null, true), { ...whole, ready: false, state: 'draining', browser: 'none' })
})

it('a node whose database does not answer is not ready: /readyz answers 503', async (t) => {
  const db = { query: () => Promise.reject(new Error('connection refused')) }
  const known = { inMemory: 0, inSnapshot: 0 }
  const check = () => checkReadiness({ isAway: false, db }, null, false)
  const server = createReadinessServer(
    check,
    () => checkEdge(true, known, false),
    async () => ({ body: 'metrics', type: 'text/plain' }),
    null,
  )
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${await listening(server)}`
  const answer = await fetch(`${url}/readyz`)
  assert.equal(answer.status, 503)
  assert.equal(((await answer.json()) as { database: string }).database, 'unreachable')
  const edge = async () => {
    const response = await fetch(`${url}/readyz/edge`)
    return [response.status, await response.json()]
  }
  const away = { ready: true, state: 'serving', database: 'unreachable' }
  assert.deepEqual(await edge(), [503, { ...away, ready: false, domains: 'none' }])
  known.inSnapshot = 1
  assert.deepEqual(await edge(), [200, { ...away, domains: 'snapshot' }])
  known.inMemory = 1
  assert.deepEqual(await edge(), [200, { ...away, domains: 'memory' }])
  assert.deepEqual(await (await fetch(`${url}/healthz`)).json(), { status: 'ok' })
  assert.equal(await (await fetch(`${url}/metrics`)).text(), 'metrics')
  assert.equal((await fetch(`${url}/api/domains`)).status, 404)
})

it('an edge is ready while its database is there, also before it knows a domain, and not while it drains', () => {
  const known = { inMemory: 0, inSnapshot: 0 }
  const ready = { ready: true, state: 'serving', database: 'ok', domains: 'memory' }
  assert.deepEqual(checkEdge(false, known, false), ready)
  assert.deepEqual(checkEdge(false, known, true), { ...ready, ready: false, state: 'draining' })
})

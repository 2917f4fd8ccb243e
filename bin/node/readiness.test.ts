import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openTestDatabase } from '../../test/support/database.ts'
import { listening } from '../../test/support/loopback.ts'
import { createReadinessCheck, createReadinessServer } from './readiness.ts'

const database = await openTestDatabase({ empty: true })

it('is given when the database answers and the browser runs', async () => {
  const check = createReadinessCheck({
    pool: database.pool,
    renderer: { healthy: true },
    isDraining: () => false,
  })
  assert.deepEqual(await check(), { ready: true, state: 'serving', database: 'ok', browser: 'ok' })
})

it('is not given without the browser, or while draining; a node without the role needs none', async () => {
  const { pool } = database
  let draining = false
  const isDraining = () => draining
  const broken = await createReadinessCheck({ pool, renderer: { healthy: false }, isDraining })()
  assert.deepEqual([broken.ready, broken.browser], [false, 'broken'])
  const edgeOnly = createReadinessCheck({ pool, renderer: null, isDraining })
  assert.equal((await edgeOnly()).ready, true)
  draining = true
  assert.deepEqual([(await edgeOnly()).ready, (await edgeOnly()).state], [false, 'draining'])
})

it('is not given without the database, and 503 says so', async (t) => {
  const gone = { query: () => Promise.reject(new Error('connection refused')) }
  const check = createReadinessCheck({ pool: gone, renderer: null, isDraining: () => false })
  const server = createReadinessServer(check, async () => ({ body: 'metrics', type: 'text/plain' }), null)
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${await listening(server)}`
  const answer = await fetch(`${url}/readyz`)
  assert.equal(answer.status, 503)
  assert.equal(((await answer.json()) as { database: string }).database, 'unreachable')
  assert.deepEqual(await (await fetch(`${url}/healthz`)).json(), { status: 'ok' })
  assert.equal(await (await fetch(`${url}/metrics`)).text(), 'metrics')
  assert.equal((await fetch(`${url}/api/domains`)).status, 404)
})

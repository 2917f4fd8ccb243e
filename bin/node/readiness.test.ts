import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openTestDatabase } from '../../test/support/database.ts'
import { listening } from '../../test/support/loopback.ts'
import { checkReadiness, createReadinessServer } from './readiness.ts'

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
  const check = () => checkReadiness({ isAway: false, db }, null, false)
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

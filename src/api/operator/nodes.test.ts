import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { startTestApi, type TestApi } from '../../../test/support/api.ts'
import { setRole } from '../../accounts/accounts.ts'
import { lastMigration } from '../../db/migrate.ts'
import { startRegistration } from '../../insight/fleet/registration.ts'
import { silentLog } from '../../log.ts'

let api: TestApi
before(async () => {
  api = await startTestApi()
})
after(() => api.close())

it('GET /api/operator/nodes: operators see every node, owners none', async () => {
  const owner = await api.account('agency')
  const operator = await api.account('enterprise')
  await setRole(api.pool, operator.id, 'operator')
  const cookie = await api.session(operator)
  const get = (as: { cookie?: string; key?: string }) => api.call('GET', '/api/operator/nodes', as)
  assert.deepEqual((await get({ cookie })).body, { schema: lastMigration(), nodes: [] })

  const pulse = {
    apiPort: 3000,
    draining: false,
    running: 1,
    load: 0.25,
    memoryBytes: 1e9,
    browser: 'none' as const,
  }
  const node = await startRegistration(
    { pool: api.pool, log: silentLog(), pulse: () => pulse },
    {
      id: 'n:1',
      host: 'n',
      version: '1.0.0',
      roles: ['edge'],
      cores: 4,
      slots: 0,
      schema: '0001-schema.sql',
    },
  )
  const { status, body } = await get({ cookie })
  assert.equal(status, 200)
  const [{ started_at, seen_at, ...listed } = {}] = body['nodes'] as Record<string, unknown>[]
  assert.match(String(started_at), /Z$/)
  assert.match(String(seen_at), /Z$/)
  assert.deepEqual(listed, {
    ...{
      id: 'n:1',
      host: 'n',
      api_port: 3000,
      version: '1.0.0',
      roles: ['edge'],
      state: 'serving',
      slots: 0,
      running: 1,
    },
    ...{
      cores: 4,
      load: 0.25,
      memory_bytes: 1e9,
      browser: 'none',
      browsers: 0,
      browsers_started: 0,
      schema: '0001-schema.sql',
    },
  })
  assert.equal((await get({ cookie: await api.session(owner) })).status, 403)
  assert.equal((await get({ key: operator.key })).status, 401)
  await node.close()
})

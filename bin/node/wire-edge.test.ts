import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { it, type TestContext } from 'node:test'
import { systemClock } from '../../src/clock.ts'
import { loadConfig } from '../../src/config.ts'
import { DatabaseTimeouts } from '../../src/db/database-timeouts.ts'
import { createListener } from '../../src/db/listener.ts'
import { silentLog } from '../../src/log.ts'
import { createAddressGuard } from '../../src/outbound/address-guard.ts'
import { createJobWaiter } from '../../src/queue/jobs/await.ts'
import { testDatabase } from '../../test/support/database.ts'
import { GPTBOT, request } from '../../test/support/edge.ts'
import { openFolder } from '../../test/support/folder.ts'
import { listening, serve } from '../../test/support/loopback.ts'
import { addTestDomain } from '../../test/support/traffic.ts'
import { wireEdge } from './wire-edge.ts'

/** The edge of a node that nobody renders for, with these settings, in front of an origin on loopback. */
async function edgeOf(t: TestContext, env: Record<string, string>): Promise<number> {
  const database = await testDatabase()
  const log = silentLog()
  const listener = await createListener(database.connection, log)
  const config = loadConfig({
    PREPAINT_ALLOW_PRIVATE_ORIGINS: '127.0.0.1/32',
    PREPAINT_LIVE_WAIT_MS: '0',
    ...env,
  })
  const origin = await serve((_req, res) => res.end('the origin'))
  const domain = await addTestDomain(database.pool, 'red.example')
  await database.pool.query('update domain set origin_url = $2 where id = $1', [domain, origin.url])
  const edge = wireEdge({
    config,
    pool: database.pool,
    timeouts: new DatabaseTimeouts({ pool: database.pool, connection: database.connection, log }),
    listener,
    guard: createAddressGuard(config.allowedPrivateOrigins),
    certificates: null,
    openHeaders: () => [],
    clock: systemClock,
    log,
    metrics: { answered: () => {}, holds: () => {} },
    waiter: createJobWaiter(listener, database.pool, log),
    enqueueLive: null,
  })
  t.after(async () => {
    edge.server.closeAllConnections()
    edge.server.close()
    await edge.close()
    await listener.close()
    await origin.close()
    await database.close()
  })
  return listening(edge.server)
}

it('PREPAINT_VERIFY_CRAWLERS: a crawler from outside the published ranges is forged, from inside it is not', async (t) => {
  const dir = openFolder()
  const file = path.join(dir, 'gptbot.json')
  const settings = { PREPAINT_CRAWLER_RANGES_DIR: dir }
  await writeFile(file, '{"prefixes": [{"ipv4Prefix": "192.0.2.0/24"}]}')
  const verdict = async (env: Record<string, string>) =>
    (await request(await edgeOf(t, env), '/', { agent: GPTBOT })).verdict
  assert.equal(await verdict({ ...settings, PREPAINT_VERIFY_CRAWLERS: '1' }), 'pass; forged')
  assert.equal(await verdict(settings), 'pass; late', 'believed, and nobody renders')
  await writeFile(file, '{"prefixes": [{"ipv4Prefix": "127.0.0.0/8"}]}')
  assert.equal(await verdict({ ...settings, PREPAINT_VERIFY_CRAWLERS: '1' }), 'pass; late')
})

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { it } from 'node:test'
import { createAddressGuard } from '@prepaint/outbound'
import { JobWaiter } from '@prepaint/pages/queue/jobs/await.ts'
import { DatabaseTimeouts } from '@prepaint/postgres/database-timeouts.ts'
import { createListener } from '@prepaint/postgres/listener.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { EdgeMetrics } from '@prepaint/service/insight/metrics/edge-metrics.ts'
import { Registry } from 'prom-client'
import { openTestDatabase } from '../../test/support/database.ts'
import { GPTBOT, request } from '../../test/support/edge.ts'
import { openFolder } from '../../test/support/folder.ts'
import { listening, serve } from '../../test/support/loopback.ts'
import { addTestDomain } from '../../test/support/traffic.ts'
import { loadConfig } from '../settings/config.ts'
import { wireEdge } from './wire-edge.ts'

const { pool, connection } = await openTestDatabase()
const log = silentLog()
const dir = openFolder()

/** The verdict on GPTBot of the edge of a node that nobody renders for, with these settings. */
async function verdict(env: Record<string, string>): Promise<string | undefined> {
  const listener = await createListener(connection, log)
  const config = loadConfig({
    PREPAINT_ALLOW_PRIVATE_ORIGINS: '127.0.0.1/32',
    PREPAINT_LIVE_WAIT_MS: '0',
    PREPAINT_CRAWLER_RANGES_DIR: dir,
    ...env,
  })
  const edge = wireEdge({
    config,
    pool,
    timeouts: new DatabaseTimeouts(pool, connection, log),
    listener,
    guard: createAddressGuard(config.allowedPrivateOrigins),
    certificates: null,
    openHeaders: () => [],
    clock: systemClock,
    log,
    metrics: new EdgeMetrics(new Registry()),
    waiter: new JobWaiter(listener, pool, log),
    enqueueLive: null,
  })
  const found = await request(await listening(edge.server), '/', { agent: GPTBOT })
  edge.server.closeAllConnections()
  edge.server.close()
  await edge.close()
  await listener.close()
  return found.verdict
}

it('PREPAINT_VERIFY_CRAWLERS: a crawler from outside the published ranges is forged, from inside it is not', async (t) => {
  const origin = await serve((_req, res) => res.end('the origin'))
  t.after(origin.close)
  const domain = await addTestDomain(pool, 'red.example')
  await pool.query('update domain set origin_url = $2 where id = $1', [domain, origin.url])
  const publish = (range: string) =>
    writeFile(path.join(dir, 'gptbot.json'), `{"prefixes": [{"ipv4Prefix": "${range}"}]}`)
  await publish('192.0.2.0/24')
  assert.equal(await verdict({ PREPAINT_VERIFY_CRAWLERS: '1' }), 'pass; forged')
  assert.equal(await verdict({}), 'pass; late', 'believed, and nobody renders')
  await publish('127.0.0.0/8')
  assert.equal(await verdict({ PREPAINT_VERIFY_CRAWLERS: '1' }), 'pass; late')
})

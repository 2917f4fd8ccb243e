import assert from 'node:assert/strict'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { it } from 'node:test'
import { clearDataDir, makeDataDir } from '../test/support/data-dir.ts'
import { testDatabase } from '../test/support/database.ts'
import { edgeRequest } from '../test/support/edge-request.ts'
import { startNodeProcess } from '../test/support/node-process.ts'

// Proves decided "Traffic counts"
it('a node that is asked to end writes the traffic that it has counted until its last answer', async () => {
  const database = await testDatabase()
  const origin = http.createServer((_req, res) => res.end('origin'))
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  const dataDir = makeDataDir()
  try {
    const node = await startNodeProcess(dataDir, {
      DATABASE_URL: database.url,
      PREPAINT_ROLES: 'edge,api',
      PREPAINT_LOG_LEVEL: 'warn',
    })
    await database.pool.query(
      `with a as (insert into account (email, plan) values ('a@example.com', 'pro') returning id)
       insert into domain (account_id, custom_domain, origin_url) select id, 'site.example', $1 from a`,
      [`http://127.0.0.1:${(origin.address() as AddressInfo).port}`],
    )
    for (let at = 0; at < 7; at++) {
      await edgeRequest(node.edge, { host: 'site.example', path: '/app.js', userAgent: 'Googlebot' })
    }
    assert.equal(await node.stop(), 0)
    const { rows } = await database.pool.query(
      `select category, crawler, verdict, sum(visits)::int as visits from traffic_hour group by 1, 2, 3`,
    )
    assert.deepEqual(rows, [{ category: 'search', crawler: 'Googlebot', verdict: 'pass; asset', visits: 7 }])
  } finally {
    origin.closeAllConnections()
    origin.close()
    await database.close()
    assert.deepEqual(await clearDataDir(dataDir), [])
  }
})

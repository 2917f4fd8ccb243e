import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { it } from 'node:test'
import { brotliCompressSync } from 'node:zlib'
import { systemClock } from '../../src/clock.ts'
import { loadConfig } from '../../src/config.ts'
import { createListener } from '../../src/db/listener.ts'
import type { AccountId, DomainId, DomainName, PagePath } from '../../src/ids.ts'
import { silentLog } from '../../src/log.ts'
import { findInspection, findPicture, requestInspection } from '../../src/sites/inspection/inspections.ts'
import { pageId } from '../../src/store/page-id.ts'
import { until } from '../../test/support/condition.ts'
import { makeDataDir, removeDir } from '../../test/support/data-dir.ts'
import { testDatabase } from '../../test/support/database.ts'
import { wireInspections } from './wire-renderer.ts'

const ACCOUNT = 1 as AccountId
const SITE = 'shop.example' as DomainName

it('whoever wants to look at a page is told what crawlers and people get, by a node that renders', {
  timeout: 300_000,
}, async () => {
  const asked: string[] = []
  const origin = http.createServer((req, res) => {
    asked.push(req.headers['user-agent'] ?? '')
    res.setHeader('content-type', 'text/html')
    res.end(`<title>Shop</title><p id="p">plain</p><script>p.textContent = 'by a script'</script>`)
  })
  origin.listen(0, '127.0.0.1')
  await once(origin, 'listening')
  const dataDir = makeDataDir()
  const database = await testDatabase()
  const { pool } = database
  const listener = await createListener(database.connection, silentLog())
  const inspections = wireInspections({
    config: loadConfig({ PREPAINT_DATA_DIR: dataDir, PREPAINT_ALLOW_PRIVATE_ORIGINS: '127.0.0.0/8' }),
    ...{ pool, listener, openHeaders: () => [], clock: systemClock, log: silentLog(), node: 'n1' },
  })
  try {
    await pool.query(`insert into account (email, plan) values ('a@example.com', 'pro')`)
    await pool.query(`insert into domain (account_id, custom_domain, origin_url) values (1, $1, $2)`, [
      SITE,
      `http://127.0.0.1:${(origin.address() as AddressInfo).port}`,
    ])
    await pool.query(
      `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
       values (1, '/', 200, '[]', $1, 1, 'e', now())`,
      [brotliCompressSync('<title>Shop</title><p>as it was stored</p>')],
    )
    await listener.settled()
    const { id } = await requestInspection(pool, ACCOUNT, pageId(1 as DomainId, '/' as PagePath))
    const found = async () => (await findInspection(pool, ACCOUNT, SITE, id))!
    await until('it is done', async () => (await found()).state === 'done', 240_000)
    const { crawler, person } = await found()
    assert(
      crawler !== null && 'facts' in crawler && person !== null && 'facts' in person,
      JSON.stringify({ crawler, person }),
    )
    assert.deepEqual([crawler.facts?.text, person.facts?.text], [['as it was stored'], ['by a script']])
    for (const side of ['crawler', 'person'] as const) {
      const picture = await findPicture(pool, ACCOUNT, SITE, id, side)
      assert.equal(picture?.subarray(8, 12).toString(), 'WEBP')
    }
    // Once, for the person: what crawlers get is not asked for. A favicon may be.
    assert(
      asked.every((agent) => /Prepaint\//.test(agent)),
      asked.join(),
    )
  } finally {
    await inspections.close()
    await listener.close()
    await database.close()
    origin.closeAllConnections()
    origin.close()
    removeDir(dataDir)
  }
})

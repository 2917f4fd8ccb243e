import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { it } from 'node:test'
import { silentLog } from '@prepaint/runtime/log.ts'
import { openTestDatabase } from '../../test/support/database.ts'
import { GPTBOT, request } from '../../test/support/edge.ts'
import { openFolder } from '../../test/support/folder.ts'
import { serve } from '../../test/support/loopback.ts'
import { addTestDomain } from '../../test/support/traffic.ts'
import { loadConfig } from '../settings/config.ts'
import { startNode } from './start-node.ts'

const { pool, url } = await openTestDatabase()
const dir = openFolder()

/** The verdict on GPTBot of a node with these settings that nobody renders for. */
async function verdict(env: Record<string, string>): Promise<string | undefined> {
  const config = loadConfig({
    DATABASE_URL: url,
    PREPAINT_DATA_DIR: dir,
    PREPAINT_ROLES: 'edge',
    PREPAINT_API_PORT: '0',
    PREPAINT_EDGE_PORT: '0',
    PREPAINT_ALLOW_PRIVATE_ORIGINS: '127.0.0.1/32',
    PREPAINT_LIVE_WAIT_MS: '0',
    PREPAINT_CRAWLER_RANGES_DIR: dir,
    ...env,
  })
  const node = await startNode({
    config,
    log: silentLog(),
    say: () => {},
    signal: new AbortController().signal,
  })
  try {
    const port = Number(new URL(node.addresses.edge!).port)
    const found = await request(port, '/', { agent: GPTBOT })
    return found.verdict
  } finally {
    await node.close()
  }
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

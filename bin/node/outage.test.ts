import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { pageBody } from '@prepaint/pages/store/stored-page.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { createKey } from '@prepaint/service/accounts/keys.ts'
import { until } from '../../test/support/condition.ts'
import { insertDomain, openTestDatabase } from '../../test/support/database.ts'
import { startDatabaseProxy } from '../../test/support/database-proxy.ts'
import { GOOGLEBOT, PERSON, request } from '../../test/support/edge.ts'
import { openFolder } from '../../test/support/folder.ts'
import { serve } from '../../test/support/loopback.ts'
import { loadConfig } from '../settings/config.ts'
import type { Node } from './node.ts'
import { startNode } from './start-node.ts'

const { pool, connection } = await openTestDatabase()
const origin = await serve((req, res) => res.end(`origin ${req.url}`))
after(origin.close)
const proxy = await startDatabaseProxy(connection)
after(() => proxy.close())

const STATES = ['refuse', 'swallow', '57P03', 'read-only'] as const
type State = (typeof STATES)[number]

await addDomain('red.example', { robots: { mode: 'replace' } })
await pool.query(
  `insert into site_version (domain_id, kind, content, author)
   select id, 'robots', '{"text": "User-agent: *"}', 'a test' from domain where custom_domain = 'red.example'`,
)
for (const state of STATES) {
  await addDomain(`cold-${state.toLowerCase()}.example`)
  await addDomain(`tls-${state.toLowerCase()}.example`)
}
const FIRST = ['refuse', 'swallow'] as const
for (const state of FIRST) {
  await addDomain(`first-${state}.example`, { robots: { mode: 'append' }, sitemap: 'generate' })
}
const DOMAINS = 1 + 2 * STATES.length + FIRST.length
const key = await addKey()
const dir = openFolder()
const node = await startOn(dir)
after(() => node.close())
await until('the snapshot is complete', async () => (await metric('prepaint_snapshot_domains')) === DOMAINS)

async function addDomain(name: string, settings: object = {}): Promise<void> {
  const id = await insertDomain(pool, name, { originUrl: origin.url })
  await pool.query('update domain set settings = $2 where id = $1', [id, settings])
  const { bodyBr, htmlBytes, etag } = await pageBody('<h1>stored</h1>')
  for (const path of ['/held', '/stored']) {
    await pool.query(
      `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
       values ($1, $2, 200, '[]', $3, $4, $5, now())`,
      [id, path, bodyBr, htmlBytes, etag],
    )
  }
}

async function addKey(): Promise<string> {
  const { rows } = await pool.query(`update account set plan = 'agency' where email like 'red%' returning id`)
  const { key: made } = await createKey(
    pool,
    rows[0].id,
    { name: 'a test', expiresAt: null },
    { plans: DEFAULT_PLANS, nowMs: Date.now() },
  )
  return made
}

function startOn(dataDir: string, url = proxy.url): Promise<Node> {
  const config = loadConfig({
    DATABASE_URL: url,
    PREPAINT_DATA_DIR: dataDir,
    PREPAINT_ROLES: 'edge,api',
    PREPAINT_API_PORT: '0',
    PREPAINT_EDGE_PORT: '0',
    PREPAINT_EDGE_TLS_PORT: '0',
    PREPAINT_ALLOW_PRIVATE_ORIGINS: '127.0.0.1/32',
    PREPAINT_LIVE_WAIT_MS: '0',
  })
  const { signal } = new AbortController()
  return startNode({ config, log: silentLog(), say: () => {}, signal })
}

async function ask(path: string, agent: string, host = 'red.example', from = node) {
  const { status, verdict, headers, body } = await request(Number(new URL(from.addresses.edge!).port), path, {
    agent,
    host,
  })
  return { status, verdict, headers, body: String(body) }
}

const verdict = async (path: string, agent = GOOGLEBOT, host?: string, from?: Node) =>
  (await ask(path, agent, host, from)).verdict

async function api(path: string, headers: Record<string, string> = {}, from = node) {
  const response = await fetch(`${from.addresses.api}${path}`, { headers })
  const text = await response.text()
  return { status: response.status, retryAfter: response.headers.get('retry-after'), text }
}

async function metric(name: string): Promise<number> {
  const { text } = await api('/metrics')
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1])
}

/** Puts PostgreSQL away in this way, as the node sees it. */
async function putAway(state: State): Promise<void> {
  if (state !== 'read-only') {
    proxy.set(state)
    // An error for new connections only: the open ones end, too.
    if (state === '57P03') await endConnections()
    return
  }
  await setReadOnly(true)
  await endConnections()
}

async function bringBack(state: State): Promise<void> {
  if (state === 'read-only') await setReadOnly(false)
  else proxy.set('through')
}

async function setReadOnly(isOn: boolean): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('set default_transaction_read_only = off')
    await client.query(
      `alter database ${connection.database} set default_transaction_read_only = ${isOn ? 'on' : 'off'}`,
    )
  } finally {
    client.release(true)
  }
}

async function endConnections(): Promise<void> {
  await pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'prepaint' and pid <> pg_backend_pid()`,
  )
}

async function isThere(): Promise<boolean> {
  return (await api('/readyz')).status === 200
}

for (const state of STATES) {
  describe(`while PostgreSQL is away (${state})`, () => {
    it('every row of the table holds, and what was there is there again afterwards', async (t) => {
      assert.match(String(await verdict('/held')), /^hit$/)
      assert.equal(await verdict('/held'), 'hit')
      assert.equal(await verdict('/any', PERSON), 'pass; not-a-crawler')
      await putAway(state)
      t.after(() => bringBack(state))
      await until('the node knows', async () => (await api('/readyz')).status === 503)

      assert.equal(await verdict('/any', PERSON), 'pass; not-a-crawler')
      assert.equal(await verdict('/held'), 'hit')
      const stored = await ask(`/stored?${state}`, GOOGLEBOT)
      assert.deepEqual([stored.verdict, stored.status], ['pass; database', 200])
      assert.equal(await verdict(`/never-${state}`), 'pass; database')
      const cold = await ask('/any', PERSON, `cold-${state.toLowerCase()}.example`)
      assert.deepEqual([cold.verdict, cold.body], ['pass; not-a-crawler', 'origin /any'])
      assert.equal(await verdict('/held', GOOGLEBOT, `cold-${state.toLowerCase()}.example`), 'pass; database')
      assert.deepEqual(await ask('/robots.txt', GOOGLEBOT).then(({ verdict: v, body }) => [v, body]), [
        'site-file',
        'User-agent: *',
      ])
      const unknown = await ask('/', PERSON, 'nobody.example')
      assert.deepEqual([unknown.status, unknown.verdict], [503, 'none; database'])
      assert.deepEqual([unknown.headers['retry-after'], unknown.headers['cache-control']], ['10', 'no-store'])

      const away = {
        status: 503,
        retryAfter: '5',
        text: '{"error":"Database is unavailable, try again later"}',
      }
      assert.deepEqual(await api('/api/domains', { 'x-api-key': key }), away)
      const unknownKey = key.replace(/.{6}$/, (end) => [...end].reverse().join(''))
      assert.deepEqual(await api('/api/domains', { 'x-api-key': unknownKey }), away)
      assert.equal((await api('/api/domains', { 'x-api-key': 'malformed' })).status, 401)
      assert.equal((await api('/api/domains')).status, 401)
      assert.equal((await api('/api/nothing', { 'x-api-key': key })).status, 404)
      for (const path of ['/healthz', '/metrics', '/openapi.json', '/docs']) {
        assert.equal((await api(path)).status, 200, path)
      }
      const edge = await api('/readyz/edge')
      const ready = { ready: true, state: 'serving', database: 'unreachable', domains: 'memory' }
      assert.deepEqual([edge.status, JSON.parse(edge.text)], [200, ready])
      assert((await metric('prepaint_database_away_seconds')) > 0)

      await bringBack(state)
      await until('the node is back', isThere)
      assert.equal((await api('/api/domains', { 'x-api-key': key })).status, 200)
      assert.equal(await verdict('/held'), 'hit')
      assert.equal(await metric('prepaint_database_away_seconds'), 0)
      assert.equal((await ask('/', PERSON, 'nobody.example')).status, 404)
    })
  })
}

describe('the first requests that meet an outage', () => {
  for (const state of FIRST) {
    it(`crawlers get the origin for files that need PostgreSQL (${state})`, async (t) => {
      const host = `first-${state}.example`
      assert.equal(await verdict('/', PERSON, host), 'pass; not-a-crawler')
      assert.equal(await verdict('/held'), 'hit')
      t.after(async () => {
        proxy.set('through')
        await until('the node is back', isThere)
      })
      proxy.set(state)
      const first = ['/sitemap.xml', '/robots.txt'].map((path) => verdict(path, GOOGLEBOT, host))
      assert.deepEqual(await Promise.all(first), ['pass; database', 'pass; database'])
    })
  }
})

describe('a server that flaps', () => {
  it('never takes a page in memory, or a person, from the node', async () => {
    assert.equal(await verdict('/held'), 'hit')
    const seen = new Set<string | undefined>()
    for (let flap = 0; flap < 10; flap++) {
      proxy.set(flap % 2 === 0 ? 'refuse' : 'through')
      seen.add(await verdict('/held'))
      seen.add(await verdict('/any', PERSON))
      await endConnections()
      seen.add(await verdict('/held'))
    }
    proxy.set('through')
    assert.deepEqual([...seen].sort(), ['hit', 'pass; not-a-crawler'])
    await until('the node is back', isThere)
  })

  it('a purge that was made while the node was cut off holds when it is back', async () => {
    assert.equal(await verdict('/held'), 'hit')
    proxy.set('refuse')
    await until('the node knows', async () => !(await isThere()))
    await pool.query(`delete from page where path = '/held'`)
    assert.equal(await verdict('/held'), 'hit')
    proxy.set('through')
    await until('the node is back', isThere)
    assert.match(String(await verdict('/held')), /^pass; /)
  })
})

describe('a start while PostgreSQL is away', () => {
  it('serves people from the snapshot, and all else begins when PostgreSQL is there', async (t) => {
    const kept = openFolder()
    const first = await startOn(kept)
    await until('the snapshot is complete', async () =>
      (await api('/metrics', {}, first)).text.includes(`prepaint_snapshot_domains ${DOMAINS}\n`),
    )
    await first.close()
    proxy.set('refuse')
    t.after(() => proxy.set('through'))
    const second = await startOn(kept)
    t.after(() => second.close())
    assert.equal(second.hasDatabase, false)
    assert.equal(await verdict('/any', PERSON, 'red.example', second), 'pass; not-a-crawler')
    assert.equal(await verdict('/held', GOOGLEBOT, 'red.example', second), 'pass; database')
    assert.equal((await ask('/', PERSON, 'nobody.example', second)).verdict, 'none; database')
    assert.equal((await api('/api/domains', { 'x-api-key': key }, second)).status, 503)
    assert.deepEqual(JSON.parse((await api('/readyz/edge', {}, second)).text), {
      ...{ ready: true, state: 'serving', database: 'unreachable', domains: 'snapshot' },
    })
    proxy.set('through')
    await until('it has joined', () => second.hasDatabase)
    await until('it is ready', async () => (await api('/readyz', {}, second)).status === 200)
    assert.equal((await api('/api/domains', { 'x-api-key': key }, second)).status, 200)
    assert.equal(await verdict('/stored', GOOGLEBOT, 'red.example', second), 'hit')
  })
})

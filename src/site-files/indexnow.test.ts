import assert from 'node:assert/strict'
import http from 'node:http'
import { after, before, beforeEach, it } from 'node:test'
import ipaddr from 'ipaddr.js'
import { testDatabase } from '../../test/support/database.ts'
import { listening } from '../../test/support/edge.ts'
import type { DomainId, DomainName, PagePath } from '../ids.ts'
import { silentLog } from '../log.ts'
import { createAddressGuard } from '../outbound/address-guard.ts'
import { createClient } from '../outbound/client/pool.ts'
import { pageId } from '../store/page-id.ts'
import { readIndexNow, sendDue } from './indexnow.ts'
import { notePage, notePageGone } from './page-facts.ts'
import type { Redirect } from './redirects.ts'
import { replaceRedirects } from './stored-redirects.ts'

const KEY = '0'.repeat(32)
const origins = createClient(createAddressGuard([{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: null }]))
const told: { host: string; key: string; keyLocation: string; urlList: string[] }[] = []
let answer = 200
const engine = http.createServer(async (req, res) => {
  let text = ''
  for await (const part of req) text += part
  told.push(JSON.parse(text))
  res.writeHead(answer).end()
})
let database: Awaited<ReturnType<typeof testDatabase>>
let url: string
let domain: DomainId
let nowMs = Date.parse('2026-11-15T12:00:00Z')
before(async () => {
  database = await testDatabase()
  url = `http://127.0.0.1:${await listening(engine)}/indexnow`
})
after(async () => {
  engine.close()
  origins.close()
  await database.close()
})
beforeEach(async () => {
  const { pool } = database
  await pool.query('delete from account')
  await pool.query(`insert into account (email, plan) values ('red@example.com', 'pro')`)
  const { rows } = await pool.query<{ id: DomainId }>(
    `insert into domain (account_id, custom_domain, origin_url, settings, indexnow_key)
     select id, 'red.example', 'https://o.example', '{"indexnow": true}', $1 from account returning id`,
    [KEY],
  )
  domain = rows[0]!.id
  told.length = 0
  answer = 200
})

const robots = { rules: async () => null } as never
const send = () =>
  sendDue({ pool: database.pool, url, origins, robots, clock: { nowMs: () => nowMs }, log: silentLog() })
const note = (path: string, text: string, isIndexable = true) =>
  notePage(database.pool, pageId(domain, path as PagePath), { hash: Buffer.from(text), isIndexable }, nowMs)
const sent = () => told.map(({ urlList }) => urlList.map((one) => one.replace('https://red.example', '')))

it('tells what appeared, changed or went, gathered for ten seconds; nothing that stayed or never was listed', async () => {
  await note('/a', '1')
  await note('/hidden', '1', false)
  assert.equal(await send(), false)
  nowMs += 10_000
  assert.equal(await send(), true)
  assert.deepEqual(told[0], {
    ...{ host: 'red.example', key: KEY, keyLocation: `https://red.example/${KEY}.txt` },
    urlList: ['https://red.example/a'],
  })
  await note('/a', '1')
  nowMs += 10_000
  assert.equal(await send(), false)
  await note('/a', '2')
  nowMs += 10_000
  await send()
  await notePageGone(database.pool, pageId(domain, '/a' as PagePath), nowMs)
  nowMs += 10_000
  await send()
  assert.deepEqual(sent(), [['/a'], ['/a'], ['/a']])
  assert.deepEqual(await readIndexNow(database.pool, domain), {
    waiting: 0,
    sent_at: new Date(nowMs).toISOString(),
    status: 200,
  })
})

it('tells of listed pages that a redirect begins or ceases to cover, and of no others', async () => {
  for (const path of ['/a', '/a?x', '/ab', '/shop/1', '/stays']) await note(path, '1')
  await note('/shop/hidden', '1', false)
  nowMs += 10_000
  await send()
  const { rows } = await database.pool.query<{ now: Date }>('select now()')
  nowMs = rows[0]!.now.getTime()
  const put = async (redirects: Redirect[]) => {
    await replaceRedirects(database.pool, { id: domain, name: 'red.example' as DomainName }, redirects, {
      author: 'a test',
    })
    nowMs += 3_600_000
    await send()
    return sent().slice(1)
  }
  const to = { to: 'https://else.example/', status: 301 } as const
  const first = ['/a', '/a?x', '/shop/1']
  assert.deepEqual(
    await put([
      { from: '/a', ...to },
      { from: '/shop/*', ...to },
    ]),
    [first],
  )
  assert.deepEqual(await put([{ from: '/shop/*', ...to, status: 302 }]), [first, ['/a', '/a?x']])
  // Rendered for a front of the site's own, to which redirects do not apply.
  await note('/shop/1', '2')
  nowMs += 10_000
  await send()
  assert.equal(sent().length, 3)
  assert.deepEqual(await put([]), [first, ['/a', '/a?x'], ['/shop/1']])
})

it('tells nothing of changes from before it was switched on', async () => {
  await database.pool.query(`update domain set settings = '{}'`)
  await note('/a', '1')
  await database.pool.query(`update domain set settings = '{"indexnow": true}'`)
  nowMs += 10_000
  assert.equal(await send(), false)
})

it('tries again for a day, and shows a refusal', async () => {
  await note('/a', '1')
  for (const status of [429, 503]) {
    answer = status
    nowMs += 3_600_000
    assert.equal(await send(), true)
    assert.deepEqual(await readIndexNow(database.pool, domain), {
      ...{ waiting: 1, status, sent_at: new Date(nowMs).toISOString() },
    })
    assert.equal(await send(), false, 'there is a pause')
  }
  nowMs += 86_400_000
  await send()
  assert.equal((await readIndexNow(database.pool, domain)).waiting, 0)
  await note('/b', '1')
  answer = 403
  nowMs += 3_600_000
  await send()
  const { waiting, status } = await readIndexNow(database.pool, domain)
  assert.deepEqual([waiting, status], [0, 403])
})

it('sends 10,000 at most, and the rest an hour later', async () => {
  await database.pool.query(
    `insert into indexnow_url select $1, '/p' || n, $2 from generate_series(1, 10001) n`,
    [domain, new Date(nowMs)],
  )
  nowMs += 10_000
  await send()
  assert.equal(await send(), false)
  nowMs += 3_600_000
  await send()
  assert.deepEqual(
    told.map(({ urlList }) => urlList.length),
    [10_000, 1],
  )
})

import assert from 'node:assert/strict'
import { after, beforeEach, it } from 'node:test'
import type { DomainId, DomainName, PagePath } from '@prepaint/contract/ids.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import type { Redirect } from '@prepaint/contract/site-files/redirects.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { HOME, openQueue, RENDERED, runNext } from '../../../../test/support/queue.ts'
import { startTestSite } from '../../../../test/support/site.ts'
import { askForSubjects, bringForward, runDueTasks } from '../../../../test/support/tasks.ts'
import { enqueue } from '../queue/jobs/enqueue.ts'
import { IndexNow, readIndexNow } from './indexnow.ts'
import { notePageGone, notePages } from './page-facts.ts'
import { replaceRedirects } from './stored-redirects.ts'

const KEY = '0'.repeat(32)
const told: { host: string; key: string; keyLocation: string; urlList: string[] }[] = []
let answer = 200
/** While the engine takes a batch. */
let during = async () => {}
const engine = await startTestSite()
engine.answers['/indexnow'] = async (res) => {
  told.push(JSON.parse(Buffer.concat(await res.req.toArray()).toString()))
  await during()
  res.writeHead(answer).end()
}
after(() => engine.close())
const queue = await openQueue()
const { pool, set } = queue
let domain: DomainId
let nowMs = Date.parse('2026-11-15T12:00:00Z')
beforeEach(async () => {
  await pool.query('delete from account')
  await pool.query('truncate task')
  domain = await queue.domain()
  await set(domain, { indexnow: true })
  await pool.query(`update domain set custom_domain = 'red.example', indexnow_key = $1`, [KEY])
  told.length = 0
  answer = 200
})

const robots = { siteOf: async () => null, rules: async () => null } as never
const clock = { nowMs: () => nowMs }
const endpoint = `${engine.origin}/indexnow`
const indexNow = new IndexNow(pool, endpoint, engine.options.origins, robots, clock, silentLog())
const send = async (waitMs = 10_000) => {
  nowMs += waitMs
  await bringForward(pool, waitMs)
  return (await runDueTasks(pool, indexNow)) > 0
}
const page = (path: string) => pageId(domain, path as PagePath)
const note = (path: string, text: string, isIndexable = true) =>
  notePages(pool, [
    { page: page(path), facts: { textHash: Buffer.from(text).toString('hex'), isIndexable }, nowMs },
  ])
const sent = () => told.map(({ urlList }) => urlList.map((one) => one.replace('https://red.example', '')))

it('tells what appeared, changed or went, gathered for ten seconds; nothing that stayed or never was listed', async () => {
  await note('/a', '1')
  await note('/hidden', '1', false)
  assert.equal(await send(9_000), false)
  assert.equal(await send(1_000), true)
  assert.deepEqual(told[0], {
    ...{ host: 'red.example', key: KEY, keyLocation: `https://red.example/${KEY}.txt` },
    urlList: ['https://red.example/a'],
  })
  const changedAt = async () => (await pool.query('select changed_at from page_fact order by path')).rows[0]
  const first = await changedAt()
  await note('/a', '1')
  assert.deepEqual(await changedAt(), first)
  assert.equal(await send(), false)
  await note('/a', '2')
  assert.notDeepEqual(await changedAt(), first)
  during = () => note('/a', '3')
  await send()
  during = async () => {}
  await send()
  await notePageGone(pool, page('/a'), nowMs)
  await send()
  assert.deepEqual(sent(), [['/a'], ['/a'], ['/a'], ['/a']], 'also what changes while it is told')
  const sentAt = new Date(nowMs).toISOString()
  assert.deepEqual(await readIndexNow(pool, domain), { waiting: 0, sent_at: sentAt, status: 200 })
})

it('tells of listed pages that a redirect begins or ceases to cover, and of no others', async () => {
  for (const path of ['/a', '/a?x', '/ab', '/shop/1', '/stays']) await note(path, '1')
  await note('/shop/hidden', '1', false)
  await send()
  const { rows } = await pool.query<{ now: Date }>('select now()')
  nowMs = rows[0]!.now.getTime()
  const put = async (redirects: Redirect[]) => {
    const site = { id: domain, name: 'red.example' as DomainName }
    await replaceRedirects(pool, site, redirects, { author: 'a test' })
    await send(3_600_000)
    return sent().slice(1)
  }
  const to = { to: 'https://else.example/', status: 301 } as const
  const first = ['/a', '/a?x', '/shop/1']
  assert.deepEqual(await put(['/a', '/shop/*'].map((from) => ({ from, ...to }))), [first])
  assert.deepEqual(await put([{ from: '/shop/*', ...to, status: 302 }]), [first, ['/a', '/a?x']])
  // Rendered for a front of the site's own, to which redirects do not apply.
  const state = await readIndexNow(pool, domain)
  await note('/shop/1', '2')
  await send()
  assert.equal(sent().length, 3)
  assert.deepEqual(await readIndexNow(pool, domain), state, 'the last batch is still shown')
  assert.deepEqual(await put([]), [first, ['/a', '/a?x'], ['/shop/1']])
})

it('tells nothing of a page that a rule keeps out of search engines by a header', async () => {
  assert(RENDERED.kind === 'rendered')
  const changes = { rule: 0, removed: [], consent: 0, head: [], headers: ['X-Robots-Tag'] }
  const headers: [string, string][] = [['X-Robots-Tag', 'noindex']]
  const page = { ...RENDERED, changed: { ...RENDERED, headers, changes } }
  await enqueue(pool, domain, [HOME], 'live')
  await runNext(queue, async () => ({ outcome: page, record: null }))
  assert.equal((await readIndexNow(pool, domain)).waiting, 0)
  await enqueue(pool, domain, [HOME], 'live')
  await runNext(queue, async () => ({ outcome: RENDERED, record: null }))
  assert.equal((await readIndexNow(pool, domain)).waiting, 1)
})

it('tells nothing of changes from before it was switched on, and nothing once it is switched off', async () => {
  await set(domain, {})
  await note('/a', '1')
  await set(domain, { indexnow: true })
  assert.equal(await send(), false)
  await note('/b', '1')
  await set(domain, {})
  assert.equal(await send(), true)
  assert.deepEqual(sent(), [])
})

it('tries again for a day, and shows a refusal', async () => {
  await note('/a', '1')
  for (const status of [429, 503]) {
    answer = status
    assert.equal(await send(3_600_000), true)
    const sentAt = new Date(nowMs).toISOString()
    assert.deepEqual(await readIndexNow(pool, domain), { waiting: 1, status, sent_at: sentAt })
    assert.equal(await send(0), false, 'there is a pause')
  }
  await send(86_400_000)
  assert.equal((await readIndexNow(pool, domain)).waiting, 0)
  await note('/b', '1')
  answer = 403
  await send(3_600_000)
  const { waiting, status } = await readIndexNow(pool, domain)
  assert.deepEqual([waiting, status], [0, 403])
})

it('sends 10,000 at once, and more an hour later', async () => {
  const list = async (first: number, last: number) => {
    await pool.query(
      `insert into page_fact (domain_id, path, text_hash, changed_at, rendered_at, is_listed, untold_at)
       select $1, '/p' || n, '', $2, $2, true, $2 from generate_series($3::int, $4::int) n`,
      [domain, new Date(nowMs), first, last],
    )
    await askForSubjects(pool, indexNow)
  }
  await list(1, 10_000)
  await send()
  await list(10_001, 20_001)
  await send()
  assert.equal(await send(), false)
  await send(3_600_000)
  assert.equal(told.map(({ urlList }) => urlList.length).join(), '10000,10000,1')
})

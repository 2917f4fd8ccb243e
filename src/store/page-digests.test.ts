import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import { transaction } from '../db/transaction.ts'
import type { DomainId, DomainName, PagePath } from '../ids.ts'
import { silentLog } from '../log.ts'
import { pageBody } from './keep-page.ts'
import {
  createDigester,
  DIGEST_LIMIT_CHARS,
  DIGESTS_A_PAGE,
  keepDigest,
  listDigests,
  removeOldDigests,
  WAITING_LIMIT,
} from './page-digests.ts'
import { pageId } from './page-id.ts'
import { deletePages, type PurgeWhat, purgePages } from './purge.ts'

const SITE = 1 as DomainId
const path = (text: string) => text as PagePath

let database: TestDatabase
before(async () => {
  database = await testDatabase()
  await database.pool.query(`insert into account (email, plan) values ('a@example.com', 'pro')`)
  await database.pool.query(
    `insert into domain (account_id, custom_domain, origin_url) values (1, 'red.example', 'http://o.example')`,
  )
})
after(() => database.close())
beforeEach(() => database.pool.query('truncate page, page_digest, redirect, sitemap'))

/** As a render does that has been completed. */
async function store(of: string, html: string): Promise<void> {
  const { bodyBr, htmlBytes, etag } = await pageBody(html)
  await database.pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     values (1, $1, 200, '[]', $2, $3, $4, now())
     on conflict (domain_id, path, variant) do update set body_br = $2, html_bytes = $3, etag = $4, rendered_at = now()`,
    [of, bodyBr, htmlBytes, etag],
  )
}
const stored = (of: string, html: string) => ({
  page: pageId(SITE, path(of)),
  customDomain: 'red.example' as DomainName,
  html,
})
async function render(of: string, html: string): Promise<boolean> {
  await store(of, html)
  return keepDigest(database.pool, stored(of, html))
}
const titles = async (of: string) =>
  (await listDigests(database.pool, pageId(SITE, path(of)))).map(({ facts }) => facts.title)
const page = (title: string) => `<title>${title}</title><p>Text of ${title}</p><a href="/x">x</a>`

describe('the history of a page', () => {
  // Proves decided "Page details"
  it('has what each different snapshot said, newest first, and so many of them', async () => {
    for (let n = 0; n < DIGESTS_A_PAGE; n++) assert.equal(await render('/', page(`${n}`)), true)
    assert.equal(await render('/', page('4')), false, 'the same document again')
    assert.deepEqual(await titles('/'), ['4', '3', '2', '1', '0'])
    await render('/', page('5'))
    assert.deepEqual(await titles('/'), ['5', '4', '3', '2', '1'])
    await render('/', page('4'))
    assert.equal((await titles('/'))[0], '4', 'what was said before is said again')
    const [newest] = await listDigests(database.pool, pageId(SITE, path('/')))
    assert.deepEqual(newest?.facts.text, ['Text of 4', 'x'])
    assert.deepEqual([newest?.status, newest?.htmlBytes], [200, page('4').length])
    assert.deepEqual(await titles('/other'), [])
  })

  it('knows nothing of what is no longer stored, or of another document than is stored', async () => {
    await store('/', page('stored'))
    assert.equal(await keepDigest(database.pool, stored('/', page('another'))), false)
    assert.equal(await keepDigest(database.pool, stored('/gone', page('gone'))), false)
  })

  for (const what of [
    { kind: 'all' },
    { kind: 'path', path: path('/') },
    { kind: 'prefix', prefix: '/' },
  ] as PurgeWhat[]) {
    it(`a purge (${what.kind}) takes it along, and does not count it; a refresh leaves it`, async () => {
      await render('/', page('1'))
      await transaction(database.pool, (client) => deletePages(client, SITE, [path('/')]))
      assert.deepEqual(await titles('/'), ['1'])
      await store('/', page('1'))
      assert.equal(await transaction(database.pool, (client) => purgePages(client, SITE, what)), 1)
      assert.deepEqual(await titles('/'), [])
    })
  }

  it('is kept for 30 days', async () => {
    await render('/', page('1'))
    await render('/', page('2'))
    await database.pool.query(
      `update page_digest set rendered_at = now() - interval '30 days 1 minute'
        where id = (select min(id) from page_digest)`,
    )
    assert.equal(await removeOldDigests(database.pool), 1)
    assert.deepEqual(await titles('/'), ['2'])
  })
})

describe('beside the renders', () => {
  it('keeps one after the other; so many wait, and larger ones have no history', async () => {
    const digester = createDigester({ pool: database.pool, log: silentLog() })
    const count = WAITING_LIMIT + 1
    for (let n = 0; n < count; n++) await store(`/${n}`, page(`${n}`))
    for (let n = 0; n < count; n++) digester.note(stored(`/${n}`, page(`${n}`)))
    await digester.close()
    assert.deepEqual(await titles(`/${WAITING_LIMIT - 1}`), [`${WAITING_LIMIT - 1}`])
    assert.deepEqual(await titles(`/${WAITING_LIMIT}`), [])

    const of = (chars: number) => page('large').padEnd(chars, ' ')
    for (const [name, chars] of [
      ['/fits', DIGEST_LIMIT_CHARS],
      ['/does-not', DIGEST_LIMIT_CHARS + 1],
    ] as const) {
      await store(name, of(chars))
      digester.note(stored(name, of(chars)))
    }
    await digester.close()
    assert.deepEqual([await titles('/fits'), await titles('/does-not')], [['large'], []])
  })

  it('a database that is away costs an entry, and nothing else', async () => {
    const digester = createDigester({ pool: database.pool, log: silentLog() })
    await store('/', page('1'))
    await database.pool.query('alter table page_digest rename to elsewhere')
    digester.note(stored('/', page('1')))
    await digester.close()
    await database.pool.query('alter table elsewhere rename to page_digest')
    digester.note(stored('/', page('1')))
    await digester.close()
    assert.deepEqual(await titles('/'), ['1'])
  })
})

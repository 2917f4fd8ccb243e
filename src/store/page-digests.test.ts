import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { openQueue } from '../../test/support/queue.ts'
import { transaction } from '../db/transaction.ts'
import type { DomainName, PagePath } from '../ids.ts'
import { silentLog } from '../log.ts'
import {
  createDigester,
  DIGEST_LIMIT_CHARS,
  DIGESTS_A_PAGE,
  keepDigests,
  listDigests,
  removeOldDigests,
  WAITING_LIMIT,
} from './page-digests.ts'
import { pageId } from './page-id.ts'
import { deletePages, type PurgeWhat, purgePages } from './purge.ts'
import { pageBody } from './stored-page.ts'

const path = (text: string) => text as PagePath

const queue = await openQueue()
const { pool } = queue
const SITE = await queue.domain()
beforeEach(() => pool.query('truncate page, page_digest, redirect, sitemap'))

/** As a render does that has been completed. */
async function store(of: string, html: string): Promise<void> {
  const { bodyBr, htmlBytes, etag } = await pageBody(html)
  await pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     values ($5, $1, 200, '[]', $2, $3, $4, now())
     on conflict (domain_id, path, variant) do update set body_br = $2, html_bytes = $3, etag = $4, rendered_at = now()`,
    [of, bodyBr, htmlBytes, etag, SITE],
  )
}
const stored = (of: string, html: string) => ({
  ...{ page: pageId(SITE, path(of)), customDomain: 'red.example' as DomainName, html },
})
async function render(of: string, html: string): Promise<boolean> {
  await store(of, html)
  return (await keepDigests(pool, [stored(of, html)]))[0]!
}
const titles = async (of: string) =>
  (await listDigests(pool, pageId(SITE, path(of)))).map(({ facts }) => facts.title)
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
    const [newest] = await listDigests(pool, pageId(SITE, path('/')))
    assert.deepEqual(newest?.facts.text, ['Text of 4', 'x'])
    assert.deepEqual([newest?.status, newest?.htmlBytes], [200, page('4').length])
    assert.deepEqual(await titles('/other'), [])
  })

  it('knows nothing of what is no longer stored, or of another document than is stored', async () => {
    await store('/', page('stored'))
    const neither = [stored('/', page('another')), stored('/gone', page('gone'))]
    assert.deepEqual(await keepDigests(pool, neither), [false, false])
  })

  for (const what of [
    { kind: 'all' },
    { kind: 'path', path: path('/') },
    { kind: 'prefix', prefix: '/' },
  ] as PurgeWhat[]) {
    it(`a purge (${what.kind}) takes it along, and does not count it; a refresh leaves it`, async () => {
      await render('/', page('1'))
      await transaction(pool, (client) => deletePages(client, SITE, [path('/')]))
      assert.deepEqual(await titles('/'), ['1'])
      await store('/', page('1'))
      assert.equal(await transaction(pool, (client) => purgePages(client, SITE, what)), 1)
      assert.deepEqual(await titles('/'), [])
    })
  }

  it('is kept for 30 days', async () => {
    await render('/', page('1'))
    await render('/', page('2'))
    await pool.query(
      `update page_digest set rendered_at = now() - interval '30 days 1 minute'
        where id = (select min(id) from page_digest)`,
    )
    assert.equal(await removeOldDigests(pool), 1)
    assert.deepEqual(await titles('/'), ['2'])
  })
})

describe('beside the renders', () => {
  it('keeps one after the other; so many wait, and larger ones have no history', async () => {
    const digester = createDigester({ pool: pool, log: silentLog() })
    const count = WAITING_LIMIT + 1
    for (let n = 0; n < count; n++) await store(`/${n}`, page(`${n}`))
    for (let n = 0; n < count; n++) digester.note(stored(`/${n}`, page(`${n}`)))
    await digester.close()
    assert.deepEqual(await titles(`/${WAITING_LIMIT - 1}`), [`${WAITING_LIMIT - 1}`])
    assert.deepEqual(await titles(`/${WAITING_LIMIT}`), [])

    for (const [name, chars] of Object.entries({
      '/fits': DIGEST_LIMIT_CHARS,
      '/does-not': DIGEST_LIMIT_CHARS + 1,
    })) {
      const html = page('large').padEnd(chars, ' ')
      await store(name, html)
      digester.note(stored(name, html))
    }
    await digester.close()
    assert.deepEqual([await titles('/fits'), await titles('/does-not')], [['large'], []])
  })

  it('a database that is away costs an entry, and nothing else', async () => {
    const digester = createDigester({ pool: pool, log: silentLog() })
    await store('/', page('1'))
    await pool.query('alter table page_digest rename to elsewhere')
    digester.note(stored('/', page('1')))
    await digester.close()
    await pool.query('alter table elsewhere rename to page_digest')
    digester.note(stored('/', page('1')))
    await digester.close()
    assert.deepEqual(await titles('/'), ['1'])
  })
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { seenQueries } from '../../test/support/edge.ts'
import { openQueue } from '../../test/support/queue.ts'
import type { DomainId, PagePath } from '../ids.ts'
import { type PageId, type PageVariant, pageId } from './page-id.ts'
import { createStoredReader, MOST_AT_ONCE, readStored } from './stored-page.ts'

const queue = await openQueue()
const { pool } = queue
const statements: string[] = []
let fault: Error | null = null
const db = seenQueries(pool, ({ name }) => {
  statements.push(name)
  if (fault !== null) throw fault
})
const id = (domain: DomainId, path: string, variant?: PageVariant) =>
  pageId(domain, path as PagePath, variant)

const store = (domain: DomainId, path: string, etag: string, variant = 'desktop') =>
  pool.query(
    `insert into page (domain_id, path, variant, status, headers, body_br, html_bytes, etag, rendered_at)
     values ($1, $2, $4, 200, '[["X-One", "1"]]', 'body', 1, $3, now())`,
    [domain, path, etag, variant],
  )

it('pages that are read at once come in one statement, each as it comes alone', async () => {
  const [red, blue] = [await queue.domain(), await queue.domain()]
  await store(red, '/', 'red')
  await store(red, '/', 'red-phone', 'mobile')
  await store(blue, '/', 'blue')
  await store(red, '/moved', 'older')
  await pool.query(`insert into redirect values ($1, '/moved', 301, '/', now() + interval '1 minute')`, [red])
  const pages: PageId[] = [
    ...[
      id(blue, '/'),
      id(red, '/none'),
      id(red, '/', 'mobile'),
      id(red, '/moved'),
      id(red, '/'),
      id(red, '/'),
    ],
  ]
  const read = createStoredReader(db)
  const together = await Promise.all(pages.map(read))
  assert.deepEqual(statements.splice(0), ['stored-pages-read'])
  const alone: typeof together = []
  for (const page of pages) alone.push(await read(page))
  assert.deepEqual(
    statements.splice(0),
    pages.map(() => 'stored-page-read'),
  )
  assert.deepEqual(together, alone)
  assert.deepEqual(
    together.map((entry) => (entry?.kind === 'page' ? entry.etag : (entry?.kind ?? null))),
    ['blue', null, 'red-phone', 'redirect', 'red', 'red'],
  )
  assert.deepEqual(await readStored(pool, pages[3]!), alone[3])
})

it(`${MOST_AT_ONCE} in a statement; one that fails fails those that wait for it, and no later one`, async () => {
  const red = await queue.domain()
  const read = createStoredReader(db)
  const many = Array.from({ length: 2 * MOST_AT_ONCE + 1 }, (_, n) => id(red, `/${n}`))
  assert.deepEqual(new Set(await Promise.all(many.map(read))), new Set([null]))
  assert.deepEqual(statements.splice(0), ['stored-pages-read', 'stored-pages-read', 'stored-page-read'])
  fault = new Error('no database')
  const failed = await Promise.allSettled(many.slice(0, 2).map(read))
  assert.deepEqual(
    failed.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  fault = null
  assert.equal(await read(many[0]!), null)
})

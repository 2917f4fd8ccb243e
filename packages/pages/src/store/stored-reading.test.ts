import assert from 'node:assert/strict'
import { it } from 'node:test'
import { brotliCompressSync } from 'node:zlib'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { readPage } from '@prepaint/runtime/read-page.ts'
import { type UnreadOutcome, withReading } from '../../../../test/support/outcome.ts'
import { HOME, openQueue } from '../../../../test/support/queue.ts'
import { findReading } from './stored-reading.ts'

const queue = await openQueue()
const html =
  '<html lang="de"><head><title>Rakes \ud800\0</title></head><body><p>All of them</p></body></html>'
const rendered: UnreadOutcome & { kind: 'rendered' } = { kind: 'rendered', status: 200, headers: [], html }

async function storedPage(outcome: UnreadOutcome = rendered) {
  const domain = await queue.domain()
  await queue.complete(await queue.running(domain), outcome)
  const stored = await queue.page(domain)
  assert(stored?.kind === 'page')
  const find = (etag = stored.etag) => findReading(queue.pool, pageId(domain, HOME), etag)
  const write = (reading: Buffer | null) =>
    queue.pool.query('update page set reading_br = $2 where domain_id = $1', [domain, reading])
  return { find, write }
}

it('a page is stored with the reading that the engine made, without its words', async () => {
  const { words: _, ...expected } = readPage(html, 'https://site.invalid/')
  const { find } = await storedPage()
  assert.deepEqual(await find(), expected)
})

it('a page that a rule changed is stored with the reading of what is stored', async () => {
  const changes = { rule: 0, removed: [], consent: 0, head: ['title'], headers: [] }
  const changed = { html: html.replace('Rakes', 'Spades'), headers: [], changes }
  const { find } = await storedPage({ ...rendered, changed })
  assert.match((await find())?.title ?? '', /^Spades/)
})

it('a reading is not that of another snapshot, of another version, or of a page without one', async () => {
  const { find, write } = await storedPage()
  assert.equal(await find('another'), null)
  await write(brotliCompressSync(JSON.stringify({ ...withReading({ html }).reading, version: 0 })))
  assert.equal(await find(), null)
  await write(null)
  assert.equal(await find(), null)
})

/** What the commands say of objects that another database may own. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { after, it } from 'node:test'
import { checkBodies } from '@prepaint/pages/store/bodies/check.ts'
import { testCommands } from '../../test/support/commands.ts'
import { insertDomain, openTestDatabase } from '../../test/support/database.ts'
import { openFolder } from '../../test/support/folder.ts'
import { TestObjectStore } from '../../test/support/object-store.ts'

const folder = openFolder()
const store = await TestObjectStore.start()
after(() => store.close())
const first = await openTestDatabase()
const copies = {
  untouched: await openTestDatabase({ empty: true }),
  owner: await openTestDatabase({ empty: true }),
}
const commandsAt = (url: string) =>
  testCommands({ DATABASE_URL: url, PREPAINT_DATA_DIR: folder, PREPAINT_BODIES: store.setting })
const file = path.join(folder, 'all.backup')

await checkBodies(first.pool, store.address)
const id = await insertDomain(first.pool, 'shop.example.com')
for (const at of ['/', '/about']) {
  await first.pool.query(
    `insert into page (domain_id, path, status, headers, body_key, body_bytes, body_sum, html_bytes, etag, rendered_at)
     values ($1, $2, 200, '[]', $3, 3000, $4, 9000, 'e', now())`,
    [id, at, `${id}/${randomBytes(16).toString('hex')}`, randomBytes(8)],
  )
}
await commandsAt(first.url).good(`backup ${file}`)

it('a restored copy says that its objects may be those of the first database, counts them, and adopts them', async () => {
  const { good, printed } = commandsAt(copies.untouched.url)
  const restored = await printed(`restore ${file}`)
  assert.match(restored, /2 page bodies stay in the object store/)
  assert.match(restored, /2 of them may belong to the database of the backup.*bodies adopt.*--take-over/)
  assert.equal((await good('bodies status'))['foreign'], 2)
  assert.match(await printed('bodies status'), /^foreign +2 of those in the store/m)
  assert.deepEqual(await good('bodies adopt'), { adopted: 2 })
  assert.deepEqual(await good('bodies adopt'), { adopted: 0 })
  assert.equal((await good('bodies status'))['foreign'], 0)
  assert.doesNotMatch(await printed('bodies status'), /foreign/)
})

it('with --take-over nothing is another database’s', async () => {
  const { good, printed } = commandsAt(copies.owner.url)
  assert.doesNotMatch(await printed(`restore ${file} --take-over`), /may belong/)
  assert.equal((await good('bodies status'))['foreign'], 0)
})

import assert from 'node:assert/strict'
import { it } from 'node:test'

import { hashPassword, verifyPassword } from './passwords.ts'

// Made by @better-auth/utils 0.5.1 from a password with a ligature, which NFKC takes apart.
const FOREIGN =
  'e1705ba87328428481e1dee8439b7d92:fa5d302fe36f66daec9769663d74ab22e7fa6626780c7b38e65b120470ae5235afcbb97577824ad0175bd89d40c51db57aa9bd975643722fcccdb5517c71f39c'

it('reads hashes that better-auth wrote, which earlier versions used', async () => {
  assert.equal(await verifyPassword('correct horse ﬁne', FOREIGN), true)
  assert.equal(await verifyPassword('correct horse fine', FOREIGN), true)
  assert.equal(await verifyPassword('correct horse fin', FOREIGN), false)
})

it('writes the same form, with a salt of its own each time', async () => {
  const [first, second] = [await hashPassword('secret-one'), await hashPassword('secret-one')]
  assert.match(first, /^[0-9a-f]{32}:[0-9a-f]{128}$/)
  assert.notEqual(first, second)
  assert.equal(await verifyPassword('secret-one', first), true)
  assert.equal(await verifyPassword('secret-two', first), false)
})

it('a stored value that is no hash matches nothing', async () => {
  for (const broken of ['', ':', 'salt:', 'salt:zz', 'plain text']) {
    assert.equal(await verifyPassword('', broken), false)
  }
})

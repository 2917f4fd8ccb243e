import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ShareByAccount } from './share-by-account.ts'

/** How many places the account gets. */
function fill(share: ShareByAccount, account: number): (() => void)[] {
  const places: (() => void)[] = []
  for (let leave = share.enter(account); leave !== null; leave = share.enter(account)) places.push(leave)
  return places
}

describe('a share by account', () => {
  it('is half of the limit for an account that is alone, and not one more', () => {
    assert.equal(fill(new ShareByAccount(8), 1).length, 4)
    assert.equal(fill(new ShareByAccount(1), 1).length, 1)
    assert.equal(fill(new ShareByAccount(0), 1).length, 0)
  })

  it('leaves room for another account, whatever the first one holds', () => {
    const share = new ShareByAccount(8)
    fill(share, 1)
    assert.equal(fill(share, 2).length, 2)
    assert.equal(fill(share, 3).length, 1)
    assert.equal(fill(share, 4).length, 1)
    assert.equal(share.enter(5), null, 'all eight are taken')
  })

  it('is free again when places are left, each once', () => {
    const share = new ShareByAccount(8)
    const [first, ...others] = fill(share, 1)
    assert.equal(share.enter(1), null)
    first!()
    first!()
    assert.notEqual(share.enter(1), null)
    assert.equal(share.enter(1), null)
    for (const leave of others) leave()
    assert.equal(fill(share, 2).length, 4)
  })
})

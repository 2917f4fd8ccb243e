import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CacheTrust } from './cache-trust.ts'

function newTrust(isConnected: boolean) {
  const state = { isConnected, emptied: 0 }
  const trust = new CacheTrust(
    () => state.isConnected,
    () => {
      state.emptied++
    },
  )
  return { trust, state }
}

describe('trust in a cache', () => {
  it('holds while no notification is lost, and empties nothing', () => {
    const { trust, state } = newTrust(true)
    assert.equal(trust.recover(), true)
    trust.notified()
    assert.equal(trust.recover(), true)
    assert.equal(state.emptied, 0)
  })

  it('is lost with notifications; the cache is emptied once, when they arrive again', () => {
    const { trust, state } = newTrust(true)
    state.isConnected = false
    trust.lost()
    assert.equal(trust.recover(), false)
    assert.equal(state.emptied, 0, 'what it holds stays as a fallback')
    state.isConnected = true
    assert.equal(trust.recover(), true)
    assert.equal(trust.recover(), true)
    assert.equal(state.emptied, 1)
  })

  it('is not there before the first connection', () => {
    const { trust, state } = newTrust(false)
    assert.equal(trust.begin(), null)
    state.isConnected = true
    assert.notEqual(trust.begin(), null)
    assert.equal(state.emptied, 1)
  })
})

describe('a value that was read', () => {
  it('is cached if nothing was heard or lost meanwhile', () => {
    const { trust } = newTrust(true)
    assert(trust.admits(trust.begin()))
  })

  it('is not cached if a notification came meanwhile', () => {
    const { trust } = newTrust(true)
    const began = trust.begin()
    trust.notified()
    assert(!trust.admits(began))
  })

  it('is not cached if notifications were lost meanwhile, also after they arrive again', () => {
    const { trust, state } = newTrust(true)
    const began = trust.begin()
    state.isConnected = false
    trust.lost()
    assert(!trust.admits(began))
    state.isConnected = true
    assert(!trust.admits(began))
    assert(trust.recover())
    assert(!trust.admits(began))
  })

  it('is not cached if it was read without notifications, also if they arrive meanwhile', () => {
    const { trust, state } = newTrust(false)
    const began = trust.begin()
    assert(!trust.admits(began))
    state.isConnected = true
    trust.recover()
    assert(!trust.admits(began))
  })
})

import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { QueryClient } from '@tanstack/react-query'
import { sessionQuery, switchAccount } from '../api/session.ts'
import { recentlyUsed, rememberUse } from './recent.ts'

const ANN = 1
const BEN = 2
const KEY = 'prepaint.recently-used'
const kept = new Map<string, string>()

Object.defineProperty(globalThis, 'localStorage', {
  configurable: true,
  value: {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, text: string) => kept.set(name, text),
    removeItem: (name: string) => kept.delete(name),
  },
})

beforeEach(() => kept.clear())

describe('what was opened by searching', () => {
  it('is listed last first, once each, and twelve at most', () => {
    for (const key of ['a', 'b', 'a']) rememberUse(ANN, key)
    assert.deepEqual(recentlyUsed(ANN), ['a', 'b'])
    for (let at = 0; at < 11; at++) rememberUse(ANN, `c${at}`)
    assert.equal(recentlyUsed(ANN).length, 12)
    assert.deepEqual([recentlyUsed(ANN)[0], recentlyUsed(ANN).at(-1)], ['c10', 'a'])
  })

  it('is not shown to another person of the same browser', () => {
    rememberUse(ANN, 'site shop.example.com')
    assert.deepEqual(recentlyUsed(BEN), [])
    rememberUse(BEN, 'site blog.example.com')
    assert.deepEqual(recentlyUsed(BEN), ['site blog.example.com'])
    assert.deepEqual(recentlyUsed(ANN), [])
  })

  it('is gone after the sign-out, and stays when another account is opened', () => {
    const queries = new QueryClient()
    rememberUse(ANN, 'x')
    switchAccount(queries, { account: null, person: { id: ANN } } as never)
    assert.deepEqual(recentlyUsed(ANN), ['x'])
    switchAccount(queries, null)
    assert.equal(kept.has(KEY), false)
    queries.clear()
  })

  it('is gone once the server says that the session has ended', async (t) => {
    const queries = new QueryClient()
    rememberUse(ANN, 'x')
    t.mock.method(globalThis, 'fetch', async () => Response.json({ error: 'Sign in first' }, { status: 401 }))
    assert.equal(await queries.fetchQuery({ ...sessionQuery, staleTime: 0 }), null)
    assert.equal(kept.has(KEY), false)
    queries.clear()
  })

  it('is nothing if an earlier version kept it without its person, or if it is malformed', () => {
    for (const text of [
      '["site shop.example.com"]',
      '{"person":1}',
      '{"person":"1","keys":[]}',
      'null',
      '{',
    ]) {
      kept.set(KEY, text)
      assert.deepEqual(recentlyUsed(ANN), [], text)
    }
  })
})

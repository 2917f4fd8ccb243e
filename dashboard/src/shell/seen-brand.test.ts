import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { parseBrand, type SeenBrand, seenBrands } from './seen-brand.ts'

const BLUE: SeenBrand = {
  account: 'agency@example.com',
  name: 'Blue Agency',
  colour: '#1a7f64',
  logo_url: null,
  show_prepaint: true,
}
const RED: SeenBrand = { ...BLUE, name: 'Red Agency' }

for (const storage of ['localStorage', 'sessionStorage'] as const) {
  const kept = new Map<string, string>()
  const value = {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, text: string) => kept.set(name, text),
    removeItem: (name: string) => kept.delete(name),
  }
  Object.defineProperty(globalThis, storage, { configurable: true, value })
}

beforeEach(() => seenBrands.keepOfAccount(null))

describe('the brand that was seen last', () => {
  it('is ours in a browser that has seen none', () => {
    assert.equal(seenBrands.last(), null)
  })

  it('is that of the account whose dashboard was open, until one without a brand is', () => {
    seenBrands.keepOfAccount(BLUE)
    assert.deepEqual(seenBrands.last(), BLUE)
    assert.equal(seenBrands.ofTab(), null)
    seenBrands.keepOfAccount(null)
    assert.equal(seenBrands.last(), null)
  })

  it('is that of a share link in its tab only, until an account is opened in it', () => {
    seenBrands.keepOfAccount(BLUE)
    seenBrands.keepOfLink(RED)
    assert.deepEqual([seenBrands.last(), seenBrands.ofTab()], [RED, RED])
    seenBrands.keepOfLink(null)
    assert.deepEqual([seenBrands.last(), seenBrands.ofTab()], [BLUE, null])
    seenBrands.keepOfLink(RED)
    seenBrands.keepOfAccount(BLUE)
    assert.deepEqual([seenBrands.last(), seenBrands.ofTab()], [BLUE, null])
  })
})

describe('a stored brand', () => {
  it('is read without fields that are not its own', () => {
    assert.deepEqual(parseBrand(JSON.stringify({ ...BLUE, sender_name: 'x' })), BLUE)
  })

  it('is none if a field is missing or has another type', () => {
    for (const text of [null, 'null', '[]', '1', '{}']) assert.equal(parseBrand(text), null, String(text))
    for (const field of Object.keys(BLUE)) {
      assert.equal(parseBrand(JSON.stringify({ ...BLUE, [field]: 1 })), null, field)
    }
  })
})

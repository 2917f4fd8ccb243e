import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FOUND_SETTINGS } from '../screens/settings/setting-fields.ts'
import { rank } from './rank.ts'

const items = [
  { key: 'shop', title: 'shop.example.com' },
  { key: 'blog', title: 'blog.example.com' },
  { key: 'pause', title: 'Pause shop.example.com' },
  { key: 'fresh', title: 'Fresh for', words: 'TTL cache' },
  { key: 'members', title: 'Members', words: 'people' },
]
const found = (text: string, recent: string[] = []) => rank(items, text, recent).map(({ key }) => key)

describe('what is found by a text', () => {
  it('is all without a text, in its order', () => {
    assert.deepEqual(found(' '), ['shop', 'blog', 'pause', 'fresh', 'members'])
  })

  it('begins with it before it has it later', () => {
    assert.deepEqual(found('shop'), ['shop', 'pause'])
    assert.deepEqual(found('example')[0], 'shop')
  })

  it('has each of its words, in any order and case', () => {
    assert.deepEqual(found('SHOP pau'), ['pause'])
    assert.deepEqual(found('pause blog'), [])
  })

  it('may have it among its other words', () => {
    assert.deepEqual(found('ttl'), ['fresh'])
  })

  it('was used recently before it matches better', () => {
    assert.deepEqual(found('shop', ['pause']), ['pause', 'shop'])
    assert.deepEqual(found('', ['members', 'blog']).slice(0, 2), ['members', 'blog'])
  })

  it('may differ by one letter: wrong, missing, too many or exchanged, and not by two', () => {
    for (const text of ['membirs', 'membrs', 'memmbers', 'memebrs', 'membe']) {
      assert.deepEqual(found(text), ['members'], text)
    }
    for (const text of ['mimbirs', 'memb ers x', 'zzz']) assert.deepEqual(found(text), [], text)
    assert.deepEqual(found('tlt'), ['fresh'])
    assert.deepEqual(found('shop.exmaple.com'), ['shop', 'pause'])
  })

  it('has actions of the open site first, also by another word', () => {
    const actions = [
      { key: 'resume shop', title: 'Resume shop', words: 'pause offline', isNear: true },
      { key: 'pause blog', title: 'Pause blog', words: 'offline' },
    ]
    const keys = (text: string) => rank(actions, text).map(({ key }) => key)
    assert.deepEqual(keys('pause'), ['resume shop', 'pause blog'])
    assert.deepEqual(keys('offline'), ['resume shop', 'pause blog'])
    assert.deepEqual(keys('blog'), ['pause blog'])
  })

  it('ignores accents', () => {
    assert.deepEqual(rank([{ key: 'a', title: 'Café' }], 'cafe').length, 1)
  })
})

it('"TTL" finds freshness first among all settings', () => {
  const settings = FOUND_SETTINGS.map(({ name, label, words }) => ({ key: name, title: label, words }))
  assert.equal(rank(settings, 'TTL')[0]?.key, 'fresh_seconds')
  assert.equal(rank(settings, 'soft 404')[0]?.key, 'soft_404')
  assert.equal(rank(settings, 'cache lifetime')[0]?.key, 'fresh_seconds')
})

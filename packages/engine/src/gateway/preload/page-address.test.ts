import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fillTemplate, readPageAddress, templateOf } from './page-address.ts'

/** What a request of one page becomes for another one; null: there is no such request. */
function carriedOver(page: string, request: string, other: string): string | null {
  return fillTemplate(templateOf(request, readPageAddress(page)), readPageAddress(other))
}

describe('the request of one page, for another page of its kind', () => {
  const cases: [page: string, request: string, other: string, expected: string | null][] = [
    ['/product/red', '/api/products/red/more', '/product/blue', '/api/products/blue/more'],
    ['/product/red?size=2', '/api/red?s=2&lang=en', '/product/blue?size=3', '/api/blue?s=3&lang=en'],
    ['/guide', '/guide.md', '/reference', '/reference.md'],
    ['/a/b', '/api/page?path=%2Fa%2Fb', '/a/c', '/api/page?path=%2Fa%2Fc'],
    ['/list?ids=1', '/api/items?ids=1,2;3=1', '/list?ids=9', '/api/items?ids=9,2;3=9'],
    // A part of a word is none.
    ['/p/red', '/api/redder/rediscovered', '/p/blue', '/api/redder/rediscovered'],
    // The other page lacks what this one had.
    ['/p?size=2', '/api?size=2', '/p', null],
    ['/', '/api/home', '/', '/api/home'],
  ]
  for (const [page, request, other, expected] of cases) {
    it(`${page} asks for ${request}: ${other} for ${expected}`, () => {
      assert.equal(carriedOver(page, request, other), expected)
    })
  }
})

describe('what anybody can put into an address', () => {
  const WORDS = ['..', '.', '%2e%2E', '.%2e', '%2e', '..%2fa', 'a..b', 'a b', 'a"b', 'a\r\nx: y', 'a#b']
  for (const word of [...WORDS, 'a@b', 'a/b', "a'b"]) {
    it(`${JSON.stringify(word)} is put into no other request`, () => {
      assert.equal(carriedOver('/list?next=red', '/api/red', `/list?next=${word}`), null)
    })
  }
  it('a word of more than 200 characters is no part of an address', () => {
    const of = (length: number) => carriedOver('/p/red', '/api/red', `/p/${'x'.repeat(length)}`)
    assert.equal(of(200), `/api/${'x'.repeat(200)}`)
    assert.equal(of(201), null)
  })
  it('the path of a request with more than 64 words gets no placeholders', () => {
    const of = (words: number) => carriedOver('/p/red', `/${'a,'.repeat(words - 2)}red`, '/p/blue')
    assert.match(of(64)!, /blue$/)
    assert.match(of(65)!, /red$/)
  })
  it('of an address sixteen segments and sixteen values of its query are looked at', () => {
    const partsOf = (text: string) => [...readPageAddress(text).parts.keys()]
    const segments = partsOf(`/${Array.from({ length: 17 }, (_, index) => `s${index}`).join('/')}`)
    assert.equal(segments.filter((name) => name.startsWith('segment')).length, 16)
    const values = partsOf(`/?${Array.from({ length: 17 }, (_, index) => `q${index}=${index}`).join('&')}`)
    assert.equal(values.filter((name) => name.startsWith('query')).length, 16)
  })
})

it('pages are of a kind by their folder, and by its first name and their depth', () => {
  assert.deepEqual(readPageAddress('/').kinds, ['/'])
  assert.deepEqual(readPageAddress('/?a=/b').kinds, ['/'])
  assert.deepEqual(readPageAddress('/about').kinds, ['/*'])
  assert.deepEqual(readPageAddress('/product/red?a=b').kinds, ['/product/*'])
  assert.deepEqual(readPageAddress('/en/product/red').kinds, ['/en/product/*', '/en/*/*'])
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Knowledge, type SiteRequest } from './knowledge.ts'
import { readPageAddress } from './page-address.ts'

const HEADERS = { accept: '*/*', 'sec-fetch-dest': 'empty' }

/** A page that asks for all of `paths`; what it is known to ask for is sent ahead. Returns that. */
function visit(
  knowledge: Knowledge,
  page: string,
  paths: readonly string[],
  headersOf: (path: string) => SiteRequest['headers'] = () => HEADERS,
): string[] {
  const address = readPageAddress(page)
  const url = `https://shop.example${page}`
  const predictions = knowledge.predict(address, url)
  const early = new Set(predictions.filter(({ isSure }) => isSure))
  const asked = paths.map((path) => ({ path, headers: { referer: url, ...headersOf(path) } }))
  knowledge.learn(address, url, { predictions, early, wasted: new Set(), asked })
  return [...early].map(({ request }) => request.path)
}

it('what three different pages have asked for, the fourth is asked ahead for', () => {
  const knowledge = new Knowledge()
  for (const name of ['red', 'blue', 'green'])
    assert.deepEqual(visit(knowledge, `/product/${name}`, [`/api/${name}`, '/api/menu']), [])
  assert.deepEqual(visit(knowledge, '/product/white', ['/api/white', '/api/menu']), [
    '/api/white',
    '/api/menu',
  ])
  assert.deepEqual(visit(knowledge, '/category/white', ['/api/white']), [], 'another kind')
})

it('a header that changes from page to page is never sent ahead; the address of the page is, as its own', () => {
  const knowledge = new Knowledge()
  const tokens = (path: string) =>
    path === '/api/secret' ? { ...HEADERS, token: `${Math.random()}` } : HEADERS
  for (let page = 0; page < 20; page++) {
    const sent = visit(knowledge, `/p/${page}`, ['/api/secret', '/api/menu'], tokens)
    assert.deepEqual(sent, page < 3 ? [] : ['/api/menu'], `page ${page}`)
  }
  const address = readPageAddress('/p/other')
  const [menu] = knowledge.predict(address, 'https://shop.example/p/other')
  assert.deepEqual(menu?.request.headers, { ...HEADERS, referer: 'https://shop.example/p/other' })
})

// Proves decided "Requests ahead of the page"
it('each time that an origin was asked in vain, twice as many pages are needed, up to 96', () => {
  const knowledge = new Knowledge()
  const waits: number[] = []
  let page = 0
  for (let round = 0; round < 8; round++) {
    let pages = 0
    while (visit(knowledge, `/p/${page++}`, ['/api/menu']).length === 0) pages++
    waits.push(pages)
    assert.deepEqual(visit(knowledge, `/p/${page++}`, []), ['/api/menu'])
  }
  assert.deepEqual(waits, [3, 6, 12, 24, 48, 96, 96, 96])
})

it('of one kind 24 requests are known, of one site 64 KiB, of one request 4 KiB', () => {
  const many = new Knowledge()
  const paths = (count: number) => Array.from({ length: count }, (_, index) => `/api/${index + 100}`)
  for (let page = 0; page < 3; page++) visit(many, `/p/${page}`, paths(25))
  assert.equal(visit(many, '/p/3', paths(25)).length, 24)

  const large = new Knowledge()
  const long = (chars: number) => () => ({ ...HEADERS, x: 'x'.repeat(chars) })
  for (let page = 0; page < 3; page++) visit(large, `/p/${page}`, ['/api'], long(3_500))
  assert.equal(visit(large, '/p/3', ['/api'], long(3_500)).length, 1)
  for (let page = 0; page < 3; page++) visit(large, `/q/${page}`, ['/api'], long(4_100))
  assert.equal(visit(large, '/q/3', ['/api'], long(4_100)).length, 0)

  const wide = new Knowledge()
  for (let kind = 0; kind < 40; kind++) visit(wide, `/kind${kind}/1`, ['/api'], long(3_500))
  const known = Array.from({ length: 40 }, (_, kind) => wide.predict(readPageAddress(`/kind${kind}/1`), ''))
  const kinds = known.filter((predictions) => predictions.length > 0).length
  assert.ok(kinds >= 15 && kinds <= 18, `${kinds} kinds of 3.7 KiB`)
})

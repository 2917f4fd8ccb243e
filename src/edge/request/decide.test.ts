import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { timesThroughUs } from './decide.ts'
import { type EdgeDomain, edgeDomain } from './domain.ts'
import { Targets } from './target.ts'

const names = { custom_domain: 'red.example', origin_url: 'http://o.example' }
const row = { id: 1, account_id: 1, ...names, is_active: true }
const domain = (settings: object = {}): EdgeDomain => edgeDomain({ ...row, settings })
const targets = new Targets()
const kindOf = (url: string, settings = {}) => targets.of(domain(settings), url).kind

describe('what a URL stands for', () => {
  const rows: [kind: string, urls: string[]][] = [
    ['page', ['/', '/a', '/a/', '/a.html', '/a.php?x=1', '/v1.2', '/john.doe', '/a?file=x.js', '/js']],
    ['asset', ['/app.js', '/a/b.CSS', '/a.js?v=1', '/data.json', '/x.tar.gz', '/m.woff2', '/b.pdf']],
    ['excluded', ['/robots.txt', '/favicon.ico', '/.well-known/acme-challenge/x', '/ads.txt']],
    ['sitemap', ['/sitemap.xml', '/sitemap-2.xml.gz', '/shop/post-sitemap1.xml', '/Sitemap_Index.XML']],
    ['xml', ['/feed.xml', '/map/en.xml.gz']],
    ['path', ['//else.example', '/%00', `/${'a'.repeat(2_048)}`, '*', '/\xe9']],
  ]
  for (const [kind, urls] of rows) {
    for (const url of urls) it(`${url.slice(0, 40)} -> ${kind}`, () => assert.equal(kindOf(url), kind))
  }

  it('is remembered, and forgotten when the domain has changed', () => {
    const red = domain()
    assert.equal(targets.of(red, '/a'), targets.of(red, '/a'))
    assert.notEqual(targets.of(red, '/a'), targets.of(domain({ query: 'ignore' }), '/a'))
  })
})

it('counts how often a request went through us, by our name alone', () => {
  assert.equal(timesThroughUs(undefined), 0)
  assert.equal(timesThroughUs('1.1 prepaint.example, 1.1 xprepaint, HTTP/1.1 else (prepaint)'), 0)
  assert.equal(timesThroughUs('1.1 prepaint, 1.1 cdn,1.1 prepaint (comment)'), 2)
})

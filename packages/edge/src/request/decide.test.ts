import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Rule } from '@prepaint/contract/rules/schema.ts'
import { servedDomain } from '../../../../test/support/memory-backend.ts'
import { type EdgeDomain, edgeDomain } from './domain.ts'
import { Targets } from './target.ts'

const domain = (settings: object = {}): EdgeDomain => edgeDomain(servedDomain({ settings }))
const targets = new Targets()

describe('the kind of a URL', () => {
  const rows: Record<string, string[]> = {
    page: ['/', '/a', '/a/', '/a.html', '/a.php?x=1', '/v1.2', '/john.doe', '/a?file=x.js', '/js'],
    asset: ['/app.js', '/a/b.CSS', '/a.js?v=1', '/data.json', '/x.tar.gz', '/m.woff2', '/b.pdf'],
    excluded: ['/robots.txt', '/favicon.ico', '/.well-known/acme-challenge/x', '/ads.txt'],
    sitemap: ['/sitemap.xml', '/sitemap-2.xml.gz', '/shop/post-sitemap1.xml', '/Sitemap_Index.XML'],
    xml: ['/feed.xml', '/map/en.xml.gz'],
    path: ['//else.example', '/%00', `/${'a'.repeat(2_048)}`, '*', '/\xe9'],
  }
  for (const [kind, urls] of Object.entries(rows)) {
    it(`is ${kind} for ${urls.length} examples`, () => {
      for (const url of urls) assert.equal(targets.of(domain(), url).kind, kind, url)
    })
  }

  // Proves decided "Rules of a domain"
  it('a rule can pass a page, render a file and set lifetimes, but never renders robots.txt', () => {
    const by = (url: string, rule: Omit<Rule, 'path'>) =>
      targets.of(domain({ rules: [{ path: '/*', ...rule }] }), url)
    assert.equal(by('/cart', { action: 'pass' }).kind, 'rule')
    assert.equal(by('/v1.json', { action: 'render' }).kind, 'page')
    assert.equal(by('/robots.txt', { action: 'render' }).kind, 'excluded')
    assert.equal(by('/photo.jpg', { fresh_seconds: 60 }).kind, 'asset')
    const lifetimes = { freshMs: 0, staleMs: 604_800_000, keepMs: 9_000 }
    assert.partialDeepStrictEqual(by('/live', { fresh_seconds: 0, keep_seconds: 9 }), { lifetimes })
  })
})

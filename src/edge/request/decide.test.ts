import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import type { CrawlerCategory } from '../../sites/domain-settings.ts'
import { askingOf, decide, timesThroughUs } from './decide.ts'
import { type EdgeDomain, edgeDomain } from './domain.ts'
import { type Target, Targets } from './target.ts'

const row = {
  id: 1,
  account_id: 1,
  custom_domain: 'red.example',
  origin_url: 'http://o.example',
  is_active: true,
}
const domain = (settings: object = {}): EdgeDomain => edgeDomain({ ...row, settings })
const targets = new Targets()
const kindOf = (url: string, settings = {}) => targets.of(domain(settings), url).kind

describe('what a URL stands for', () => {
  const pages = [
    '/',
    '/a',
    '/a/',
    '/a.html',
    '/a.php?x=1',
    '/v1.2',
    '/john.doe',
    '/a?file=x.js',
    '/js',
    '/a.unknown',
  ]
  const assets = ['/app.js', '/a/b.CSS', '/a.js?v=1', '/data.json', '/x.tar.gz', '/m.woff2', '/b.pdf']
  const excluded = ['/robots.txt', '/favicon.ico', '/.well-known/acme-challenge/x', '/ads.txt']
  const sitemaps = ['/sitemap.xml', '/sitemap-2.xml.gz', '/shop/post-sitemap1.xml', '/Sitemap_Index.XML']
  const none = ['//else.example', '/%00', `/${'a'.repeat(2_048)}`, '*', '/\xe9']
  const rows: [string, string[]][] = [
    ['page', pages],
    ['asset', assets],
    ['excluded', excluded],
    ['sitemap', sitemaps],
    ['xml', ['/feed.xml', '/map/en.xml.gz']],
    ['path', none],
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

describe('what is ours', () => {
  const page = targets.of(domain(), '/a')
  const asked: Asked = { method: 'GET', crawler: 'search' }
  type Asked = {
    method: string | undefined
    crawler: CrawlerCategory | null
    via?: string | undefined
    authorization?: string | undefined
  }
  const decided = ({ method, crawler, ...headers }: Asked, ...rest: [EdgeDomain, Target]) =>
    decide({ method, headers }, askingOf({ headers }, crawler, rest[0]), ...rest)
  const why = (...args: Parameters<typeof decided>) => {
    const decision = decided(...args)
    return decision.kind === 'pass' ? decision.why : decision.kind
  }
  it('a page that a crawler gets or heads', () => {
    assert.equal(decided(asked, domain(), page), page)
    assert.equal(decided({ ...asked, method: 'HEAD' }, domain(), page), page)
    assert.equal(why({ ...asked, via: '1.1 varnish, 2 cdn' }, domain(), page), 'page')
  })
  it('all else passes, for the first reason of many', () => {
    assert.equal(why({ ...asked, crawler: null, method: 'POST' }, domain(), page), 'not-a-crawler')
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND', undefined]) {
      assert.equal(why({ ...asked, method }, domain(), page), 'method')
    }
    assert.equal(why(asked, domain(), targets.of(domain(), '/a.js')), 'asset')
    const noAi = domain({ categories: { ai: 'pass', seo: 'render' } })
    assert.equal(why({ ...asked, crawler: 'ai' }, noAi, page), 'category')
    assert.equal(why({ ...asked, crawler: 'ai', method: 'POST' }, noAi, page), 'method')
    assert.equal(why({ ...asked, crawler: 'seo' }, noAi, page), 'page')
    assert.equal(why(asked, noAi, page), 'page')
    assert.equal(why({ ...asked, authorization: 'Basic cmVkOnJlZA==' }, domain(), page), 'authorization')
    assert.equal(why(asked, { ...domain(), isActive: false }, page), 'inactive')
    assert.equal(why({ ...asked, via: '1.1 prepaint' }, domain(), page), 'loop')
  })
})

it('counts how often a request went through us, by our name alone', () => {
  assert.equal(timesThroughUs(undefined), 0)
  assert.equal(timesThroughUs('1.1 prepaint.example, 1.1 xprepaint, HTTP/1.1 else (prepaint)'), 0)
  assert.equal(timesThroughUs('1.1 prepaint, 1.1 cdn,1.1 prepaint (comment)'), 2)
})

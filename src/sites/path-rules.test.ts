import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { edgeDomain } from '../edge/request/domain.ts'
import { Targets } from '../edge/request/target.ts'
import type { PathRule } from './domain-settings.ts'
import { ruleFor } from './domain-settings.ts'

const targets = new Targets()
const target = (url: string, rules: PathRule[]) =>
  targets.of(
    edgeDomain({
      id: 1,
      account_id: 1,
      custom_domain: 'red.example',
      origin_url: 'http://o.example',
      is_active: true,
      settings: { rules },
    }),
    url,
  )

describe('a rule by its path', () => {
  const matches = (pattern: string, path: string) => {
    const rule: PathRule = { path: pattern, action: 'pass' }
    return ruleFor([rule], path) === rule
  }
  const rows: [string, string, boolean][] = [
    ['/a', '/a', true],
    ['/a', '/A', false],
    ['/a', '/a/b', false],
    ['/a*', '/a/b', true],
    ['/a*', '/a', true],
    ['/a*', '/b/a', false],
    ['/*/edit', '/a/b/edit', true],
    ['/*/edit', '/edit', false],
    ['/*.json', '/a.json', true],
    ['/*.json', '/a.json?x=1', false],
    ['/a*b*c', '/a-b-b-c', true],
    ['/a*b*c', '/a-c-b', false],
    ['/a*b*c', '/a-c', false],
    ['/a**', '/a', true],
    ['/ab*bc', '/abc', false],
    ['/ab*bc', '/abbc', true],
    ['/a*x*c', '/a-cx', false],
    ['/a*cx*cx', '/a-cx', false],
    ['/a*cx*cx', '/a-cxcx', true],
    ['/a.b', '/axb', false],
    ['/*?page=*', '/list?page=2', true],
  ]
  for (const [pattern, path, match] of rows) {
    it(`${pattern} ${match ? 'matches' : 'does not match'} ${path}`, () =>
      assert.equal(matches(pattern, path), match))
  }

  // Proves decided "Rules of a domain"
  it('the first that matches counts, alone', () => {
    const rules: PathRule[] = [
      { path: '/a/b', action: 'render' },
      { path: '/a*', action: 'pass' },
    ]
    assert.equal(ruleFor(rules, '/a/b')?.action, 'render')
    assert.equal(ruleFor(rules, '/a/c')?.action, 'pass')
    assert.equal(ruleFor(rules, '/b'), null)
  })
})

describe('what a rule does', () => {
  it('pass: the origin answers, also sitemaps', () => {
    assert.equal(target('/cart/1', [{ path: '/cart*', action: 'pass' }]).kind, 'rule')
    assert.equal(target('/sitemap.xml', [{ path: '/site*', action: 'pass' }]).kind, 'rule')
    assert.equal(target('/shop', [{ path: '/cart*', action: 'pass' }]).kind, 'page')
  })

  it('render: may make a page of what looks like an asset, and never hides robots.txt', () => {
    const rules: PathRule[] = [{ path: '/*', action: 'render' }]
    assert.equal(target('/docs/v1.json', rules).kind, 'page')
    assert.equal(target('/robots.txt', rules).kind, 'excluded')
  })

  // Proves decided "Rules of a domain"
  it('a fresh time alone makes no page of an asset, and leaves the other times', () => {
    const rules: PathRule[] = [{ path: '/news*', fresh_seconds: 60 }]
    const news = target('/news/1', rules)
    assert(news.kind === 'page')
    assert.deepEqual(news.lifetimes, { freshMs: 60_000, staleMs: 604_800_000, keepMs: 2_592_000_000 })
    assert.equal(target('/news/photo.jpg', rules).kind, 'asset')
    const other = target('/shop', rules)
    assert(other.kind === 'page')
    assert.equal(other.lifetimes.freshMs, 86_400_000)
  })

  it('a fresh time of nothing: each answer is stale at once, and refreshed', () => {
    const page = target('/live', [{ path: '/live', action: 'render', fresh_seconds: 0 }])
    assert(page.kind === 'page')
    assert.equal(page.lifetimes.freshMs, 0)
  })
})

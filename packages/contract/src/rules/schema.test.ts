import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { givenRules, MAX_RULES, RULES_LIMIT_CHARS, storedRules } from './schema.ts'

const problem = (rule: object) => {
  const issue = givenRules.safeParse([{ path: '/a', ...rule }]).error?.issues[0]
  return issue === undefined ? null : `${issue.path.slice(1).join('.')} ${issue.message}`.trim()
}

it('takes the rule of the documents as a whole', () => {
  const rule = {
    path: '/product/*',
    when: { categories: ['search', 'ai'], variant: 'mobile', query: { lang: 'de' } },
    action: 'render',
    ...{ fresh_seconds: 3600, stale_seconds: 86400, keep_seconds: 604800 },
    render: { wait_for: '#price', wait_ms: 2000, block: ['chat', '*.example-widget.com'], locale: 'de-CH' },
    change: {
      remove: ['.cookie-banner', '#chat'],
      consent: true,
      head: {
        ...{ title: '…', robots: 'noindex', canonical: 'self' },
        meta: [{ property: 'og:type', content: 'product' }],
      },
      headers: { 'X-Robots-Tag': 'noarchive' },
    },
  }
  assert.deepEqual(givenRules.parse([rule]), [rule])
  assert.deepEqual(storedRules.parse([rule]), [rule])
})

describe('limits of a rule, tested at each and one past it', () => {
  const named = (size: number) => Object.fromEntries(Array.from({ length: size }, (_, n) => [`x-${n}`, 'a']))
  const many = (size: number, one: unknown = 'a') => Array(size).fill(one)
  const long = 'de-abcdefg1-abcdefg2-abcdefg3-abcdefg4'
  const takes: [string, (size: number, text: string) => object, most: number][] = [
    ['remove', (size) => ({ change: { remove: many(size) } }), 50],
    ['block', (size) => ({ render: { block: many(size, 'ads') } }), 50],
    ['wait_ms', (size) => ({ render: { wait_ms: size } }), 30_000],
    ['a selector', (_, text) => ({ render: { wait_for: text } }), 500],
    ['meta', (size) => ({ change: { head: { meta: many(size, { name: 'a', content: '' }) } } }), 50],
    ['title', (_, text) => ({ change: { head: { title: text } } }), 1_000],
    ['header value', (_, text) => ({ change: { headers: { 'x-a': text } } }), 2_048],
    ['headers', (size) => ({ change: { headers: named(size) } }), 20],
    ['categories', (size) => ({ action: 'pass', when: { categories: many(size, 'ai') } }), 8],
    ['query', (size) => ({ action: 'pass', when: { query: named(size) } }), 10],
    ['query name', (_, text) => ({ action: 'pass', when: { query: { [text]: '' } } }), 200],
    ['query value', (_, text) => ({ action: 'pass', when: { query: { a: text } } }), 500],
    ['path', (size) => ({ path: '/'.repeat(size), action: 'pass' }), 2_048],
    ['* in a path', (size) => ({ path: `/${'*a'.repeat(size)}`, action: 'pass' }), 20],
    ['a lifetime', (size) => ({ keep_seconds: size }), 316_224_000],
    ['user agent', (_, text) => ({ render: { user_agent: text } }), 500],
    ['width', (size) => ({ render: { viewport: { width: size, height: 200 } } }), 4_000],
    ['height', (size) => ({ render: { viewport: { width: 200, height: size } } }), 4_000],
    ['locale', (size) => ({ render: { locale: long.slice(0, size) } }), 35],
    ['host', (_, text) => ({ render: { block: [text] } }), 253],
    ['robots', (_, text) => ({ change: { head: { robots: text } } }), 500],
    ['canonical', (_, text) => ({ change: { head: { canonical: `http://a/${text.slice(9)}` } } }), 2_048],
    ['meta name', (_, text) => ({ change: { head: { meta: [{ name: text, content: '' }] } } }), 200],
    ['meta property', (_, text) => ({ change: { head: { meta: [{ property: text, content: '' }] } } }), 200],
    ['meta content', (_, text) => ({ change: { head: { meta: [{ name: 'a', content: text }] } } }), 5_000],
    ['header name', (_, text) => ({ change: { headers: { [text]: '' } } }), 100],
  ]
  for (const [name, rule, most] of takes) {
    it(`${name} is accepted at the limit of ${most} and refused one past it`, () => {
      assert.equal(problem(rule(most, 'a'.repeat(most))), null)
      assert.notEqual(problem(rule(most + 1, 'a'.repeat(most + 1))), null)
    })
  }

  it('the smallest lifetimes, waits and viewports are accepted', () => {
    const least = { wait_ms: 0, viewport: { width: 200, height: 200 } }
    assert.equal(problem({ keep_seconds: 0, render: least }), null)
  })

  it('as many rules as allowed are accepted, and one more is refused', () => {
    const rules = Array(MAX_RULES).fill({ path: '/a', action: 'pass' })
    assert(givenRules.safeParse(rules).success)
    assert(!givenRules.safeParse([...rules, rules[0]]).success)
  })

  it('rules of the allowed length as JSON are accepted, and one character more is refused', () => {
    const wide = (chars: number, letter: string) => {
      const remove = Array(50).fill(letter.repeat(500))
      const rules = Array(5).fill({ path: `/${'c'.repeat(800)}`, change: { remove } })
      const left = chars - JSON.stringify([...rules, { path: '/', action: 'pass' }]).length
      return givenRules.safeParse([...rules, { path: `/${'b'.repeat(left)}`, action: 'pass' }])
    }
    assert(wide(RULES_LIMIT_CHARS, 'a').success)
    const said = wide(RULES_LIMIT_CHARS + 1, '%').error?.issues.map(({ message }) => message)
    assert.deepEqual(said, ['must have at most 131072 characters as JSON'])
  })
})

describe('what is wrong is named', () => {
  const rows: [object, RegExp][] = [
    [{}, /^must have an action, a lifetime, render or change$/],
    [{ render: { viewport: { width: 199, height: 200 } } }, /^render\.viewport\.width /],
    [{ render: { viewport: { width: 200, height: 199 } } }, /^render\.viewport\.height /],
    [{ render: { block: ['Ads!'] } }, /^render\.block\.0 must be "ads", /],
    [{ change: { head: { canonical: '/a' } } }, /^change\.head\.canonical must be "self" or/],
    [{ change: { head: { canonical: 'https://u@a.example/' } } }, /^change\.head\.canonical must be/],
    [{ change: { head: { meta: [{ content: 'a' }] } } }, /^change\.head\.meta\.0 must have either/],
    [{ change: { head: { meta: [{ name: 'render:status_code', content: '1' }] } } }, /only Prepaint reads/],
    [{ change: { headers: { 'a b': 'c' } } }, /^change\.headers\.a b is not a header name/],
    [{ change: { headers: { 'X-A': 'b\r\nSet-Cookie: c=d' } } }, /^change\.headers\.X-A must be printable/],
    [{ when: { categories: [] }, action: 'pass' }, /^when\.categories /],
  ]
  for (const [rule, expected] of rows)
    it(JSON.stringify(rule), () => assert.match(problem(rule) ?? '', expected))

  const never = `Connection Transfer-Encoding Content-Length Content-Type Set-Cookie Location TE Keep-Alive Trailer
    Trailers Content-Encoding Content-Range Cookie Set-Cookie2 Status Proxy-Authenticate HTTP2-Settings Expires Pragma
    Content-Location Date Server Host X-Accel-Redirect X-Sendfile Surrogate-Control Last-Modified Alt-Svc Via Age ETag
    Clear-Site-Data X-Prepaint X-Prepaint-Variant X-Request-Id Vary Cache-Control Access-Control-Allow-Origin Upgrade
    Strict-Transport-Security Refresh Cache-Status Report-To NEL Repr-Digest No-Vary-Search X-Prerender-Throttled`
  const sets = (name: string) => problem({ change: { headers: { [name]: 'a' } } })
  it('a rule may not set headers of the connection or our own, and may set others', () => {
    for (const name of never.split(/\s+/)) {
      assert.equal(sets(name), `change.headers.${name} must not be set by a rule`)
    }
    for (const name of ['X-Robots-Tag', 'Link', 'Content-Language', 'Content-Security-Policy', 'X-Own']) {
      assert.equal(sets(name), null)
    }
  })
  it('a stored rule stays readable with a header that rules could set in 0.2.0', () => {
    const rule = { path: '/a', change: { headers: { 'Report-To': '{}' } } }
    assert.deepEqual(storedRules.parse([rule]), [rule])
  })
})

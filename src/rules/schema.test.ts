import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { checkedRules, MAX_RULES, RULES_LIMIT_CHARS, storedRules } from './schema.ts'
import { selectorProblem } from './selector.ts'

const problem = (rule: object) => {
  const issue = checkedRules.safeParse([{ path: '/a', ...rule }]).error?.issues[0]
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
  assert.deepEqual(checkedRules.parse([rule]), [rule])
  assert.deepEqual(storedRules.parse([rule]), [rule])
})

describe('limits of a rule, tested at each and one past it', () => {
  const named = (size: number) => Object.fromEntries(Array.from({ length: size }, (_, n) => [`x-${n}`, 'a']))
  const takes: [string, (size: number) => object, most: number][] = [
    ['remove', (size) => ({ change: { remove: Array(size).fill('a') } }), 50],
    ['block', (size) => ({ render: { block: Array(size).fill('ads') } }), 50],
    ['wait_ms', (size) => ({ render: { wait_ms: size } }), 30_000],
    ['a selector', (size) => ({ render: { wait_for: 'a'.repeat(size) } }), 500],
    ['meta', (size) => ({ change: { head: { meta: Array(size).fill({ name: 'a', content: '' }) } } }), 50],
    ['title', (size) => ({ change: { head: { title: 'a'.repeat(size) } } }), 1_000],
    ['header value', (size) => ({ change: { headers: { 'x-a': 'a'.repeat(size) } } }), 2_048],
    ['headers', (size) => ({ change: { headers: named(size) } }), 20],
    ['query', (size) => ({ action: 'pass', when: { query: named(size) } }), 10],
    ['query name', (size) => ({ action: 'pass', when: { query: { ['a'.repeat(size)]: '' } } }), 200],
    ['query value', (size) => ({ action: 'pass', when: { query: { a: 'a'.repeat(size) } } }), 500],
    ['path', (size) => ({ path: '/'.repeat(size), action: 'pass' }), 2_048],
    ['* in a path', (size) => ({ path: `/${'*a'.repeat(size)}`, action: 'pass' }), 20],
    ['a lifetime', (size) => ({ keep_seconds: size }), 316_224_000],
    ['user agent', (size) => ({ render: { user_agent: 'a'.repeat(size) } }), 500],
    ['width', (size) => ({ render: { viewport: { width: size, height: 200 } } }), 4_000],
    ['height', (size) => ({ render: { viewport: { width: 200, height: size } } }), 4_000],
    [
      'locale',
      (size) => ({ render: { locale: 'de-abcdefg1-abcdefg2-abcdefg3-abcdefg4'.slice(0, size) } }),
      35,
    ],
    ['host', (size) => ({ render: { block: ['a'.repeat(size)] } }), 253],
    ['robots', (size) => ({ change: { head: { robots: 'a'.repeat(size) } } }), 500],
    ['canonical', (size) => ({ change: { head: { canonical: `http://a/${'a'.repeat(size - 9)}` } } }), 2_048],
    ['meta name', (size) => ({ change: { head: { meta: [{ name: 'a'.repeat(size), content: '' }] } } }), 200],
    [
      'meta property',
      (size) => ({ change: { head: { meta: [{ property: 'a'.repeat(size), content: '' }] } } }),
      200,
    ],
    [
      'meta content',
      (size) => ({ change: { head: { meta: [{ name: 'a', content: 'a'.repeat(size) }] } } }),
      5_000,
    ],
    ['header name', (size) => ({ change: { headers: { ['a'.repeat(size)]: '' } } }), 100],
    [
      'nested pseudo-classes',
      (size) => ({ change: { remove: [`${':not('.repeat(size)}a${')'.repeat(size)}`] } }),
      3,
    ],
    [':has()', (size) => ({ change: { remove: [':has(a)'.repeat(size)] } }), 1],
  ]
  for (const [name, rule, most] of takes) {
    it(name, () => {
      assert.equal(problem(rule(most)), null)
      assert.notEqual(problem(rule(most + 1)), null)
    })
  }

  it('wait_ms 0 is taken', () => assert.equal(problem({ render: { wait_ms: 0 } }), null))

  it('a window is at least 200 by 200', () => {
    const sized = (width: number, height: number) => problem({ render: { viewport: { width, height } } })
    assert.equal(sized(200, 200), null)
    for (const [width, height] of [
      [199, 200],
      [200, 199],
    ] as const) {
      assert.notEqual(sized(width, height), null)
    }
  })

  it('rules', () => {
    const rules = Array(MAX_RULES).fill({ path: '/a', action: 'pass' })
    assert(checkedRules.safeParse(rules).success)
    assert(!checkedRules.safeParse([...rules, rules[0]]).success)
  })

  it('rules together, before their selectors are read', () => {
    const wide = (chars: number) => {
      const rules = Array.from({ length: 5 }, () => ({
        path: `/${'c'.repeat(800)}`,
        change: { remove: Array(50).fill('a'.repeat(500)) },
      }))
      const last = { path: '/', action: 'pass' }
      const left = chars - JSON.stringify([...rules, last]).length
      return [...rules, { ...last, path: `/${'b'.repeat(left)}` }]
    }
    const most = wide(RULES_LIMIT_CHARS)
    assert.equal(JSON.stringify(most).length, RULES_LIMIT_CHARS)
    assert(checkedRules.safeParse(most).success)
    const one = wide(RULES_LIMIT_CHARS + 1)
    one[0] = { ...one[0]!, change: { remove: Array(50).fill('%'.repeat(500)) } }
    const { issues } = checkedRules.safeParse(one).error!
    assert.deepEqual(
      issues.map(({ path, message }) => [path, message]),
      [[[], 'must have at most 131072 characters as JSON']],
    )
  })

  it('a stored list with more * than can be saved is read', () => {
    assert(storedRules.safeParse([{ path: `/${'*a'.repeat(21)}`, action: 'pass' }]).success)
  })
})

describe('what is wrong is named', () => {
  const rows: [object, RegExp][] = [
    [{}, /^must have an action, a lifetime, render or change$/],
    [{ render: { wait_for: 'a >' } }, /^render\.wait_for is not a CSS selector/],
    [{ render: { wait_ms: -1 } }, /^render\.wait_ms /],
    [{ render: { block: ['Ads!'] } }, /^render\.block\.0 must be "ads", /],
    [{ render: { cookies: 'a' } }, /^render /],
    [{ change: { remove: ['a', '..b'] } }, /^change\.remove\.1 is not a CSS selector/],
    [{ change: { head: { canonical: '/a' } } }, /^change\.head\.canonical must be "self" or/],
    [{ change: { head: { canonical: 'https://u@a.example/' } } }, /^change\.head\.canonical must be/],
    [{ change: { head: { meta: [{ content: 'a' }] } } }, /^change\.head\.meta\.0 must have either/],
    [{ change: { head: { meta: [{ name: 'render:status_code', content: '1' }] } } }, /only Prepaint reads/],
    [{ change: { headers: { 'a b': 'c' } } }, /^change\.headers\.a b is not a header name/],
    [{ change: { headers: { 'X-A': 'b\r\nSet-Cookie: c=d' } } }, /^change\.headers\.X-A must be printable/],
    [{ when: { categories: ['people'] }, action: 'pass' }, /^when\.categories\.0 /],
    [{ when: { categories: [] }, action: 'pass' }, /^when\.categories /],
  ]
  for (const [rule, expected] of rows)
    it(JSON.stringify(rule), () => assert.match(problem(rule) ?? '', expected))

  for (const name of [
    ...['Connection', 'Transfer-Encoding', 'Content-Length', 'Content-Type', 'Set-Cookie', 'Location', 'TE'],
    ...[
      'Keep-Alive',
      'Trailer',
      'Trailers',
      'Content-Encoding',
      'Content-Range',
      'Cookie',
      'Set-Cookie2',
      'Status',
    ],
    ...[
      'Proxy-Authenticate',
      'HTTP2-Settings',
      'Content-Location',
      'Expires',
      'Pragma',
      'Date',
      'Server',
      'Host',
    ],
    ...['X-Accel-Redirect', 'X-Sendfile', 'Surrogate-Control', 'Last-Modified', 'Alt-Svc', 'Clear-Site-Data'],
    ...['X-Prepaint', 'X-Prepaint-Variant', 'X-Request-Id', 'Via', 'Age', 'ETag', 'Vary', 'Cache-Control'],
    ...['Access-Control-Allow-Origin', 'Strict-Transport-Security', 'Upgrade', 'Refresh', 'Cache-Status'],
  ]) {
    it(`no rule sets ${name}`, () =>
      assert.equal(
        problem({ change: { headers: { [name]: 'a' } } }),
        `change.headers.${name} must not be set by a rule`,
      ))
  }
  for (const name of ['X-Robots-Tag', 'Link', 'Content-Language', 'Content-Security-Policy', 'X-Own']) {
    it(`a rule may set ${name}`, () => assert.equal(problem({ change: { headers: { [name]: 'a' } } }), null))
  }
})

describe('selectors, as browsers read them', () => {
  const good = [
    ...['#price', '.a > .b', 'a[href^="x" i]', ':has(> img)', 'li:nth-child(2n+1 of .x)', 'a , b'],
    ...['p:nth-child( -n + 3 )', ':not(.a,.b)', '.\\@md\\:x', ':lang(de)', '*|a', 'ünï', '[x=a]', '--x'],
    ...['li:not(:first-child) ~ a', 'button[aria-label="x, (y]"]', 'a:hover', 'my-element'],
    ...[':not(:not(:not(:nth-child(2n))))', '[a="(((((("]', '[a="(((((("] b:not([c=")"])'],
  ]
  for (const selector of good) it(selector, () => assert.equal(selectorProblem(selector), null))
  const bad = [
    ...['', ' ', '..a', 'a,,b', 'a >', '> a', ':is()', 'a[b!=c]', 'svg|a', 'a::before', ':contains(x)'],
    ...['#1a', 'a:nth-child(foo)', '[data-x=1]', '[x=a b]', 'a || b', 'a < b', 'div:nth-child(', '"'],
    ...['a{b}', ':host', 'a]', 'a:eq(1)', 'a!b', '%', '@media', 'a;b', '$x', 'a\0b', '[a', '[a="b]'],
    ...[':not()', 'a > > b', ':not(:not(:not(:not(a))))', ':has(a):has(b)'],
    ...[':not('.repeat(99), ':is(:is(:is(:is(:is(a)))))', ':nth-child(2n of :is(:is(:is(a))))'],
  ]
  for (const selector of bad)
    it(`not ${JSON.stringify(selector)}`, () => assert.notEqual(selectorProblem(selector), null))
})

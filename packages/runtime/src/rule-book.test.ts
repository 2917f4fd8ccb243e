import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Rule } from '@prepaint/contract/rules/schema.ts'
import { coveredRules, RuleBook } from './rule-book.ts'

const ruleFor = (rules: Rule[], path: string, category = 'search') =>
  new RuleBook(rules).chosen(path, category)?.rule ?? null

describe('a rule by its path', () => {
  const matches = (pattern: string, path: string) => {
    const rule: Rule = { path: pattern, action: 'pass' }
    return ruleFor([rule], path) === rule
  }
  const rows: [string, string, boolean][] = [
    ['/a', '/a', true],
    ['/a', '/a/b', false],
    ['/a*', '/a/b', true],
    ['/a*', '/b/a', false],
    ['/café', '/caf%C3%A9', true],
    ['/café', '/cafe', false],
    ['/caf%c3%a9/*', '/caf%C3%A9/menu', true],
    ['/%7Euser/*', '/~user/a', true],
    ['/a/*?size=größe', '/a/b?size=gr%C3%B6%C3%9Fe', true],
    ['/*.json', '/a.json', true],
    ['/*.json', '/a.json?x=1', false],
    ['/a*b*c', '/a-b-b-c', true],
    ['/a*b*c', '/a-c-b', false],
    ['/ab*bc', '/abc', false],
    ['/a*cx*cx', '/a-cx', false],
    ['/a*cx*cx', '/a-cxcx', true],
    ['/a.b', '/axb', false],
    ['/*a-long-piece-of-text*b', '/a-long-piecea-long-piece-of-text-b', true],
    ['/*a-long-piece-of-text*b', '/a-long-piecea-long-piece-of-texb', false],
    ['/*long-overlapping-piece*piece', '/long-overlapping-piece', false],
  ]
  it('matches with its * and letter by letter', () => {
    for (const [pattern, path, match] of rows) assert.equal(matches(pattern, path), match, pattern)
  })

  it('long pieces of the same letters are found where a search of every place finds them', () => {
    // All texts of nine bits, in pieces that repeat them.
    const letters = (number: number) => number.toString(2).padStart(9, '0')
    for (let number = 0; number < 512; number++) {
      const piece = letters(number).repeat(2) + letters(number).slice(0, number % 9)
      for (const text of [
        letters(number ^ 1) + piece,
        piece.slice(1),
        piece.slice(0, -1) + piece,
        piece.repeat(2).slice(1, -1),
      ]) {
        assert.equal(matches(`/*${piece}*`, `/${text}`), text.includes(piece), `${piece} in ${text}`)
      }
    }
  })

  // Proves decided "Rules of a domain"
  it('the first that matches counts, alone', () => {
    const rules: Rule[] = [
      { path: '/a/b', action: 'render' },
      { path: '/a*', action: 'pass' },
    ]
    assert.equal(ruleFor(rules, '/a/b')?.action, 'render')
    assert.equal(ruleFor(rules, '/a/c')?.action, 'pass')
    assert.equal(ruleFor(rules, '/b'), null)
  })
})

describe('a rule for some requests of its paths', () => {
  const matches = (when: Rule['when'], path: string, category: string) =>
    ruleFor([{ path: '/*', when, action: 'pass' }], path, category) !== null
  const rows: [Rule['when'], path: string, category: string, boolean][] = [
    [{ categories: ['search'] }, '/a', 'social', false],
    [{ categories: ['ai'] }, '/a', 'ai-training', true],
    [{ categories: ['ai-training'] }, '/a', 'ai-user', false],
    [{ categories: ['ai-training'] }, '/a', 'ai', false],
    [{ variant: 'desktop' }, '/a', 'search', true],
    [{ variant: 'mobile' }, '/a', 'search', false],
    [{ query: { lang: 'de' } }, '/a?b=1&lang=de&z=2', 'search', true],
    [{ query: { lang: 'de' } }, '/a?lang=de-CH', 'search', false],
    [{ query: { lang: 'de' } }, '/a?xlang=de', 'search', false],
    [{ query: { lang: '*' } }, '/a?lang=de', 'search', true],
    [{ query: { lang: '*' } }, '/a?language=de', 'search', false],
    [{ query: { q: 'a b&c' } }, '/a?q=a%20b%26c', 'search', true],
    [{ query: { a: '1', b: '2' } }, '/?a=1', 'search', false],
  ]
  it('matches if category, variant and query are all as it asks', () => {
    for (const [when, path, category, match] of rows) {
      assert.equal(matches(when, path, category), match, `${JSON.stringify(when)} ${path} ${category}`)
    }
  })

  it('knows what rules for other crawlers do to the render', () => {
    const book = new RuleBook([
      { path: '/a*', when: { categories: ['social'] }, change: { consent: true } },
      { path: '/a*', change: { remove: ['.x'] } },
    ])
    const [social, search] = [book.chosen('/a', 'social')?.effect, book.chosen('/a')?.effect]
    assert.notEqual(social, search)
    assert.deepEqual([...book.otherEffects('/a', 'search')], [social])
    assert.deepEqual([...book.otherEffects('/a', 'social')], [search])
    assert.equal(book.chosen('/b'), null)
    assert.deepEqual([...book.otherEffects('/b', 'search')], [])
  })

  it('is the same effect for the same render and change, in whatever order', () => {
    const effect = (rule: Omit<Rule, 'path'>) => new RuleBook([{ path: '/*', ...rule }]).chosen('/')?.effect
    assert.equal(
      effect({ action: 'render', render: { wait_ms: 1, wait_for: 'a' } }),
      effect({ fresh_seconds: 9, render: { wait_for: 'a', wait_ms: 1 } }),
    )
    assert.notEqual(effect({ render: { wait_ms: 1 } }), effect({ render: { wait_ms: 2 } }))
    // The screen of phones is changed by rules for phones only.
    const render = { viewport: { width: 300, height: 300 } }
    const ofPhones = new RuleBook([{ path: '/*', when: { variant: 'mobile' }, render }])
    assert.notEqual(effect({ render }), ofPhones.chosen('/', 'search', 'mobile')?.effect)
  })
})

describe('rules that never match', () => {
  const by = (categories: string[]) => ({ path: '/*', when: { categories } }) as Rule
  const asked = (query: Record<string, string>): Rule => ({ path: '/*', when: { query } })
  const rows: [string, Rule[], [number, number][]][] = [
    ['a wider pattern first', [{ path: '/a*' }, { path: '/a/b*' }], [[1, 0]]],
    ['a narrower pattern first', [{ path: '/a/b*' }, { path: '/a*' }], []],
    ['patterns that only overlap', [{ path: '/*b' }, { path: '/a*' }], []],
    ['for some crawlers first', [by(['search']), { path: '/a' }], []],
    ['for the same crawlers first', [by(['search', 'ai']), by(['ai-user'])], [[1, 0]]],
    ['with a parameter first', [asked({ a: '*' }), { path: '/a' }], []],
    ['with any value first', [asked({ a: '*' }), asked({ a: '1', b: '2' })], [[1, 0]]],
    ['for phones first', [{ path: '/*', when: { variant: 'mobile' } }, { path: '/a' }], []],
  ]
  it('are found by their index and that of the rule before them', () => {
    for (const [name, rules, expected] of rows) {
      const found = coveredRules(rules).map(({ rule, covered_by }) => [rule, covered_by])
      assert.deepEqual(found, expected, name)
    }
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { factsForSitemap } from './page-facts.ts'

const page = (head: string, body = '<p>text</p>') =>
  `<!doctype html><html><head>${head}</head><body>${body}</body></html>`
const facts = (html: string, headers: [string, string][] = []) =>
  factsForSitemap(html, headers, { name: 'red.example', path: '/a?x=1', query: 'keep' })

const canonical = (href: string) => `<link rel="canonical" href="${href}">`
const OTHER: [string, string] = ['link', '<https://red.example/b>; rel="canonical"']

describe('what a sitemap lists', () => {
  const rows: [name: string, listed: boolean, head: string, headers?: [string, string][]][] = [
    ['a plain page', true, '<title>a</title>'],
    ['noindex', false, '<meta name="robots" content="noindex, follow">'],
    ['none', false, '<meta name="Robots" content="NONE">'],
    [
      'noindex for Google',
      false,
      '<meta name="robots" content="index"><meta name="googlebot" content="noindex">',
    ],
    ['the header', false, '', [['x-robots-tag', 'nofollow, noindex']]],
    ['the header for Google', false, '', [['X-Robots-Tag', 'otherbot: nofollow, googlebot: noindex']]],
    ['the header for another', true, '', [['x-robots-tag', 'otherbot: noindex, nofollow']]],
    ['a header with a date', true, '', [['x-robots-tag', 'unavailable_after: 25 Jun 2030 15:00:00 PST']]],
    ['its own canonical, spelt otherwise', true, canonical('http://red.example/a?utm_source=x&amp;x=1#top')],
    ['another canonical', false, canonical('/a')],
    ['another host', false, canonical('https://blue.example/a?x=1')],
    ['another canonical by header', false, '', [OTHER]],
    ['the element before the header', true, canonical('/a?x=1'), [OTHER]],
  ]
  for (const [name, listed, head, headers] of rows) {
    it(`${name}: ${listed ? 'listed' : 'not listed'}`, () =>
      assert.equal(facts(page(head), headers).isIndexable, listed))
  }
})

it('a change is one of title, description or text', () => {
  const hash = (head: string, body?: string) => facts(page(head, body)).hash.toString('hex')
  const before = hash('<title>a</title><script src="/app.1.js"></script>', '<p class="x1">some  text</p>')
  const same = hash(
    '<title> a</title><script src="/app.2.js" nonce="n"></script>',
    '<p class="y2">some\ntext</p>',
  )
  assert.equal(same, before)
  assert.notEqual(hash('<title>b</title>', '<p>some text</p>'), before)
  assert.notEqual(hash('<title>a</title><meta name="description" content="d">', '<p>some text</p>'), before)
  assert.notEqual(hash('<title>a</title>', '<p>other text</p>'), before)
})

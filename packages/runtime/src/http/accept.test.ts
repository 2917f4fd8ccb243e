import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { mediaTypeWeight, parseAccept } from './accept.ts'
import { chooseEncoding, type Encoding, EncodingChooser } from './accept-encoding.ts'
import { prefersMarkdown } from './accept-markdown.ts'

describe('parsing a list with weights', () => {
  const cases: [name: string, header: string, weights: Record<string, number>][] = [
    ['an empty header lists nothing', '', {}],
    ['empty members are skipped', ', ,a,, b,', { a: 1, b: 1 }],
    ['a member without q has weight 1', 'a', { a: 1 }],
    ['names are in lower case', 'Text/HTML;Q=0.5', { 'text/html': 0.5 }],
    [
      'weights have up to three decimals',
      'a;q=0.123, b;q=1.000, c;q=0., d;q=1',
      { a: 0.123, b: 1, c: 0, d: 1 },
    ],
    ['a weight of 0 is kept, as it refuses', 'a;q=0.000', { a: 0 }],
    ['a weight above 1 is malformed', 'a;q=1.001, b;q=5, c', { c: 1 }],
    ['a weight with four decimals is malformed', 'a;q=0.1234, c', { c: 1 }],
    ['a weight that is no number is malformed', 'a;q=high, b;q=, c', { c: 1 }],
    ['q without a value is malformed', 'a;q, c', { c: 1 }],
    ['a quoted weight is malformed', 'a;q="1", c', { c: 1 }],
    ['a negative weight is malformed', 'a;q=-1, c', { c: 1 }],
    ['a second equals sign is malformed', 'a;q=0.5=1, c', { c: 1 }],
    ['a space before the equals sign is malformed', 'a;q =1, c', { c: 1 }],
    ['a space behind the equals sign is malformed', 'a;q= 1, c', { c: 1 }],
    ['spaces around commas and semicolons are allowed', ' a ; q=0.5 ,\tb ;q=0.4 ', { a: 0.5, b: 0.4 }],
    ['the first q of a member counts', 'a;q=0.5;q=0.9', { a: 0.5 }],
    ['other parameters are skipped', 'a;level=1;q=0.5;x=y', { a: 0.5 }],
    ['a parameter whose name begins with q is another one', 'a;qs=0.1', { a: 1 }],
    ['the highest weight of a repeated name counts', 'a;q=0.2, a;q=0.8, a;q=0.5', { a: 0.8 }],
    ['separators in quoted strings separate nothing', 'a;x="1,b;q=0.3";q=0.5', { a: 0.5 }],
    ['an escaped quote ends no quoted string', 'a;x="\\",b";q=0.5', { a: 0.5 }],
    ['a quoted string without an end reaches to the end of the header', 'a, b;x=", c', { a: 1, b: 1 }],
  ]
  for (const [name, header, weights] of cases) {
    it(name, () => {
      const parsed = [...parseAccept(header)].map(([key, { weight }]) => [key, weight])
      assert.deepEqual(Object.fromEntries(parsed), weights)
    })
  }

  it('a name keeps the place of its highest weight', () => {
    assert.equal(parseAccept('a;q=0.2, b, a;q=0.8').get('a')?.at, 2)
    assert.equal(parseAccept('a;q=0.8, b, a;q=0.8').get('a')?.at, 0)
  })

  it('a header of 16 KiB of quotes, commas or semicolons is read in linear time', () => {
    for (const text of ['"', ',', ';', '\\"', 'a;q="', 'q=']) parseAccept(text.repeat(16_384 / text.length))
  })
})

it('the weight of a media type is by its name, then by its group, then by the wildcard for all', () => {
  const accepted = parseAccept('text/csv;q=0.1, text/*;q=0.2, */*;q=0.3')
  const weights = ['text/csv', 'text/html', 'application/json'].map((type) => mediaTypeWeight(accepted, type))
  assert.deepEqual(weights, [0.1, 0.2, 0.3])
  assert.equal(mediaTypeWeight(parseAccept('text/csv'), 'text/html'), 0)
  assert.equal(mediaTypeWeight(parseAccept('text/csv;q=0, */*'), 'text/csv'), 0)
})

it('Accept-Encoding chooses the encoding, read or remembered', () => {
  const cases: [header: string | undefined, encoding: Encoding][] = [
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip, deflate, br', 'br'],
    ['x-gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['br;q=0.5, gzip;q=0.8', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['gzip;q=0.2, identity;q=0.5', 'identity'],
    ['*', 'br'],
    ['*;q=0.5, br;q=0.1', 'gzip'],
    ['*;q=0, gzip', 'gzip'],
    ['identity;q=0', 'identity'],
    ['br;q=2, gzip;q=0.1', 'gzip'],
    ['br ; q=0.9 , gzip ; q=1', 'gzip'],
    ['br;Q=0.1, gzip;Q=0.2', 'gzip'],
    ['x-gzip;q=0, gzip', 'gzip'],
    ['x-gzip;q=0, *;q=0.5', 'br'],
    ['x-gzip, br;q=0.5', 'gzip'],
    // A malformed member says nothing: the wildcard counts for it.
    ['br;q=2, *', 'br'],
    ['br;q=2', 'identity'],
  ]
  const remembered = new EncodingChooser()
  for (const [header, encoding] of cases) {
    const chosen = [chooseEncoding(header), remembered.choose(header), remembered.choose(header)]
    assert.deepEqual(chosen, Array(3).fill(encoding), header)
  }
})

it('Markdown is for those who name it first, or prefer it to HTML', () => {
  const MARKDOWN = [
    'text/markdown',
    'text/markdown, */*',
    'text/html;q=0, text/markdown;q=0.001',
    'text/markdown;q=0.8,text/html;q=0.8',
    'TEXT/MarkDown;Q=1.000',
    'text/markdown;variant=GFM;charset=utf-8',
    'text/markdown;charset="a,text/html;q=1";q=0.7, text/html;q=0.6',
    'text/markdown;x="\\",text/html", text/html;q=0.9',
    ',, text/markdown ;q=0.5 , text/html ;q=0.4 ',
    'text/markdown;q=0.1, text/html;q=2',
    'text/markdown;q=0, text/markdown;q=0.3',
    `text/markdown, ${'x'.repeat(4_096 - 15)}`,
  ]
  for (const accept of MARKDOWN) assert(prefersMarkdown(accept), accept)
  const HTML = [
    undefined,
    '*/*',
    'text/*',
    'text/html, text/markdown',
    'text/markdown;q=0.5, */*;q=0.8',
    'text/markdown;q=0.000, text/html;q=0',
    ...['text/markdown;q=1.5', 'text/markdown;q=0.1234', 'text/markdown;q', 'text/markdown;q="1"'],
    'text/markdownx',
    'application/json;profile="a, text/markdown, b"',
    'text/html;q=0.8, text/markdown;q=0.8',
    `text/markdown, ${'x'.repeat(4_096 - 14)}`,
    // Chrome with a navigation.
    'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7',
  ]
  for (const accept of HTML) assert(!prefersMarkdown(accept), accept)
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PageFacts } from '../../api/types.ts'
import { differences, textDifference } from './differences.ts'
import { linkPreview } from './link-preview.ts'
import { sourceLines } from './source-lines.ts'

const link = (href: string, text = href) => ({ href, text })
const FACTS: PageFacts = {
  ...{ title: 'Rakes', description: null, canonical: 'https://shop.example/', robots: null, lang: 'en' },
  ...{ headings: ['h1: Rakes'], text: [], textChars: 0, links: [link('/a'), link('/b')], linkCount: 2 },
  structured: [{ kind: 'json-ld', types: ['Product'], json: '{ "a": 1 }', isBroken: false }],
  social: { 'og:title': 'Rakes' },
}

describe('the difference of two versions of a page', () => {
  it('is nothing between a page and itself', () => {
    const { differ, same } = differences(FACTS, structuredClone(FACTS))
    assert.deepEqual(differ, [])
    assert.equal(same.length, 9)
  })

  it('names what was removed and added', () => {
    const after: PageFacts = {
      ...FACTS,
      description: 'All rakes',
      links: [link('/b', 'other words'), link('/c')],
      structured: [{ kind: 'json-ld', types: [], json: '{', isBroken: true }],
      social: { 'og:title': 'Rakes', 'og:image': '/x.png' },
    }
    assert.deepEqual(differences(FACTS, after), {
      differ: [
        { kind: 'value', name: 'Description', before: null, after: 'All rakes' },
        { kind: 'list', name: 'Links', removed: ['/a'], added: ['/c'], same: 1 },
        {
          kind: 'list',
          name: 'Structured data',
          removed: ['Product: { "a": 1 }'],
          added: ['json-ld (invalid): {'],
          same: 0,
        },
        { kind: 'list', name: 'Link preview', removed: [], added: ['og:image: /x.png'], same: 1 },
      ],
      same: ['Title', 'Canonical', 'Robots', 'Language', 'Headings'],
    })
  })
})

describe('the difference of two texts', () => {
  const lines = (...numbers: number[]) => numbers.map((number) => `line ${number}`)
  it('keeps the lines around it, and counts the others', () => {
    const before = lines(1, 2, 3, 4, 5, 6, 7, 8, 9)
    const after = lines(1, 2, 3, 4, 50, 6, 7, 8, 9)
    assert.equal(
      textDifference(before, after)
        ?.map(({ kind, lines, count }) => [kind, count, ...lines].join(' '))
        .join(', '),
      'skipped 2, same 2 line 3 line 4, removed 1 line 5, added 1 line 50, same 2 line 6 line 7, skipped 2',
    )
  })

  it('is one run for identical texts, and none for empty texts', () => {
    assert.deepEqual(textDifference(['a'], ['a']), [{ kind: 'same', lines: ['a'], count: 1 }])
    assert.deepEqual(textDifference([], []), [])
    assert.deepEqual(textDifference([], ['a']), [{ kind: 'added', lines: ['a'], count: 1 }])
  })

  it('is not computed for texts that differ too much', () => {
    const many = (word: string) => Array.from({ length: 20_000 }, (_, n) => `${word} ${n}`)
    assert.equal(textDifference(many('a'), many('b')), null)
  })
})

const facts = (social: Record<string, string>, own: Partial<PageFacts> = {}): PageFacts => ({
  ...{ title: 'The page', description: 'What it is', canonical: null, robots: null, lang: null },
  ...{ headings: [], text: [], textChars: 0, links: [], linkCount: 0, structured: [], social },
  ...own,
})
const of = (social: Record<string, string>, own?: Partial<PageFacts>) =>
  linkPreview(facts(social, own), 'shop.example', '/rakes')

describe('a link preview', () => {
  it('uses the social tags of the page', () => {
    const preview = of({
      'og:title': 'Rakes',
      'og:description': 'All of them',
      'og:image': 'https://pics.example/a.png',
      'og:site_name': 'Shop',
      'og:url': 'https://shop.example/rakes',
      'twitter:card': 'summary_large_image',
    })
    assert.deepEqual(preview, {
      ...{ title: 'Rakes', description: 'All of them', site: 'Shop', image: 'https://pics.example/a.png' },
      ...{ isLarge: true, remarks: [] },
    })
  })

  it('falls back like social networks, and names missing tags', () => {
    const preview = of({})
    assert.deepEqual(
      [preview.title, preview.description, preview.site, preview.image, preview.isLarge],
      ['The page', 'What it is', 'shop.example', null, false],
    )
    assert.equal(preview.remarks.length, 3)
    assert.equal(of({}, { title: null }).title, 'shop.example/rakes')
    assert.equal(of({ 'twitter:title': 'T', 'twitter:image': '/x.png' }).image, 'https://shop.example/x.png')
  })

  it('names wrong tags', () => {
    const said = (social: Record<string, string>) => of(social).remarks.join(' ')
    assert.match(said({ 'og:image': 'javascript:alert(1)' }), /not a valid URL/)
    assert.match(said({ 'og:image': '/a.png' }), /not an absolute URL/)
    assert.match(said({ 'og:url': 'https://other.example/' }), /points to another site/)
    assert.match(said({ 'og:title': 'x'.repeat(91) }), /cut after about 90/)
    assert.equal(of({ 'og:title': 'x'.repeat(91) }).title.length, 91)
    assert.doesNotMatch(said({ 'og:title': 'x'.repeat(90) }), /cut after/)
  })
})

it('loses no text, and makes no line too long', () => {
  const sources = [
    '',
    'a\n\nb',
    `<p>${'x'.repeat(1_000)}</p>`,
    '<i></i>'.repeat(500),
    'x'.repeat(140),
    'x'.repeat(141),
  ]
  for (const source of sources) {
    const lines = sourceLines(source)
    assert.equal(
      lines.map(({ number, text }, at) => (number === null || at === 0 ? '' : '\n') + text).join(''),
      source,
    )
    assert(lines.every(({ text }) => text.length <= 140))
  }
})

it('breaks a line before a tag if one is near', () => {
  const [first] = sourceLines(`<p>${'x'.repeat(100)}</p><p>${'y'.repeat(100)}</p>`)
  assert.equal(first?.text, `<p>${'x'.repeat(100)}</p>`)
})

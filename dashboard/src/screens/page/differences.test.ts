import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { PageFacts } from '../../api/types.ts'
import { differences, textDifference } from './differences.ts'
import { linkPreview } from './link-preview.ts'
import { ruleChangeWords } from './rule-changes.ts'
import { sourceLines } from './source-lines.ts'

const link = (href: string, text = href) => ({ href, text })
const FACTS: PageFacts = {
  title: 'Rakes',
  description: null,
  canonical: 'https://shop.example/',
  robots: null,
  lang: 'en',
  headings: ['h1: Rakes'],
  text: [],
  textChars: 0,
  links: [link('/a'), link('/b')],
  linkCount: 2,
  structured: [{ kind: 'json-ld', types: ['Product'], json: '{ "a": 1 }', isBroken: false }],
  social: { 'og:title': 'Rakes' },
}

it('the difference of two versions names what was removed and added, and what is the same', () => {
  assert.deepEqual(differences(FACTS, structuredClone(FACTS)).differ, [])
  const after: PageFacts = {
    ...FACTS,
    description: 'All rakes',
    links: [link('/b', 'other words'), link('/c')],
    structured: [{ kind: 'json-ld', types: [], json: '{', isBroken: true }],
    social: { 'og:title': 'Rakes', 'og:image': '/x.png' },
  }
  const list = { kind: 'list', removed: [], added: [], same: 0 }
  assert.deepEqual(differences(FACTS, after), {
    differ: [
      { kind: 'value', name: 'Description', before: null, after: 'All rakes' },
      { ...list, name: 'Links', removed: ['/a'], added: ['/c'], same: 1 },
      {
        ...list,
        name: 'Structured data',
        removed: ['Product: { "a": 1 }'],
        added: ['json-ld (invalid): {'],
      },
      { ...list, name: 'Link preview', added: ['og:image: /x.png'], same: 1 },
    ],
    same: ['Title', 'Canonical', 'Robots', 'Language', 'Headings'],
  })
})

it('the difference of two texts has the lines around it and counts the others, and is null for too many lines', () => {
  const shown = (before: string, after: string) =>
    textDifference(before.split(' '), after.split(' '))
      ?.map(({ kind, lines, count }) => [kind, count, ...lines].join(' '))
      .join(', ')
  assert.equal(
    shown('1 2 3 4 5 6 7 8 9', '1 2 3 4 50 6 7 8 9'),
    'skipped 2, same 2 3 4, removed 1 5, added 1 50, same 2 6 7, skipped 2',
  )
  const many = (word: string) => Array.from({ length: 20_000 }, (_, n) => `${word} ${n}`)
  assert.equal(textDifference(many('a'), many('b')), null)
})

it('the difference of two texts keeps blank lines', () => {
  assert.deepEqual(textDifference(['a', '', 'b'], ['a', '', '', 'c']), [
    { kind: 'same', lines: ['a', ''], count: 2 },
    { kind: 'removed', lines: ['b'], count: 1 },
    { kind: 'added', lines: ['', 'c'], count: 2 },
  ])
})

const previewWith = (social: Record<string, string>) =>
  linkPreview({ ...FACTS, title: 'The page', description: 'What it is', social }, 'shop.example', '/rakes')

it('a link preview has the social tags or what networks show without them, and names missing tags', () => {
  const tags = {
    'og:title': 'Rakes',
    'og:description': 'All of them',
    'og:image': 'https://pics.example/a.png',
    'og:site_name': 'Shop',
    'og:url': 'https://shop.example/rakes',
    'twitter:card': 'summary_large_image',
  }
  assert.deepEqual(previewWith(tags), {
    title: 'Rakes',
    description: 'All of them',
    site: 'Shop',
    image: 'https://pics.example/a.png',
    isLarge: true,
    remarks: [],
  })
  const { remarks, ...bare } = previewWith({})
  assert.deepEqual(bare, {
    title: 'The page',
    description: 'What it is',
    site: 'shop.example',
    image: null,
    isLarge: false,
  })
  assert.equal(remarks.length, 3)
  assert.equal(previewWith({ 'twitter:image': '/x.png' }).image, 'https://shop.example/x.png')
})

it('a link preview names wrong tags', () => {
  const said = (social: Record<string, string>) => previewWith(social).remarks.join(' ')
  assert.match(said({ 'og:image': 'javascript:alert(1)' }), /not a valid URL/)
  for (const picture of ['https://x.example/card.svg', '/card.SVG?v=2']) {
    assert.match(said({ 'og:image': picture }), /is an SVG: most networks do not show it/, picture)
  }
  assert.doesNotMatch(said({ 'og:image': 'https://x.example/svg.png?x=.svg' }), /SVG/)
  assert.match(said({ 'og:url': 'https://other.example/' }), /points to another site/)
  assert.match(said({ 'og:title': 'x'.repeat(91) }), /cut after about 90/)
  assert.doesNotMatch(said({ 'og:title': 'x'.repeat(90) }), /cut after/)
})

it('what a rule changed is counted with the right noun, and what it did not find is left out', () => {
  const nothing = { rule: 0, removed: [], consent: 0, head: [], headers: [] }
  assert.deepEqual(ruleChangeWords({ ...nothing, removed: [{ selector: '.x', elements: 0 }] }), [])
  const removed = [
    { selector: '.a', elements: 1 },
    { selector: '.b', elements: 2 },
  ]
  assert.deepEqual(
    ruleChangeWords({ rule: 0, removed, consent: 1, head: ['title'], headers: ['X-A', 'X-B'] }),
    [
      '1 element removed (.a)',
      '2 elements removed (.b)',
      '1 element of consent banners removed',
      'head: title',
      'headers: X-A, X-B',
    ],
  )
})

it('the lines of a source together have all of its text, and none is too long', () => {
  const long = `<p>${'x'.repeat(1_000)}</p>`
  for (const source of ['', 'a\n\nb', long, '<i></i>'.repeat(500), 'x'.repeat(140), 'x'.repeat(141)]) {
    const lines = sourceLines(source)
    const joined = lines.map(({ number, text }, at) => (number === null || at === 0 ? '' : '\n') + text)
    assert.equal(joined.join(''), source)
    assert(lines.every(({ text }) => text.length <= 140))
  }
})

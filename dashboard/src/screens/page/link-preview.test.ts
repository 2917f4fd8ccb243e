import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import type { PageFacts } from '../../api/types.ts'
import { linkPreview } from './link-preview.ts'

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
      title: 'Rakes',
      description: 'All of them',
      site: 'Shop',
      image: 'https://pics.example/a.png',
      isLarge: true,
      remarks: [],
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

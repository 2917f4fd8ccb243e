import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { DIGEST_FACTS, factsOf, WHOLE_FACTS } from './facts.ts'

const URL_OF = 'https://shop.example/products/1?x=1'
const of = (html: string) => factsOf(html, URL_OF)

describe('what a page says', () => {
  it('its head', () => {
    const facts = of(`<!DOCTYPE html><html lang="de"><head><title>Rakes &amp; more</title>
      <meta name="description" content="Every &quot;rake&quot; there is">
      <meta name="robots" content="noindex"><link rel="canonical" href="/products/1">
      <meta property="og:title" content="OG"><meta property="og:title" content="second">
      <meta name="twitter:card" content="summary"><meta name="generator" content="x">
      </head><body></body></html>`)
    assert.partialDeepStrictEqual(facts, {
      ...{ title: 'Rakes & more', description: 'Every "rake" there is', robots: 'noindex', lang: 'de' },
      canonical: 'https://shop.example/products/1',
      social: { 'og:title': 'OG', 'twitter:card': 'summary' },
    })
  })

  it('its text, a line for each block, without what nobody is shown', () => {
    const facts = of(`<body><h1>A <em>great</em> rake</h1><script>var no = "<p>script</p>"</script>
      <style>p { no: 1 }</style><noscript><p>no script</p></noscript><template><p>later</p></template>
      <!-- <p>comment</p> --><p>one
        two<br>three</p><ul><li>four</li><li>five</li></ul>6 &lt; 7
      <x-y><template shadowrootmode="open"><p>inside</p></template></x-y></body>`)
    const lines = ['A great rake', 'one two', 'three', 'four', 'five', '6 < 7', 'inside']
    assert.deepEqual(facts.text, lines)
    assert.deepEqual(facts.headings, ['h1: A great rake'])
    assert.equal(facts.textChars, facts.text.join('').length)
  })

  it('its links, each once, with what they say', () => {
    const facts = of(`<a href="/a">First</a><a href="/a#part">again</a><a href="b"><img alt="a picture"></a>
      <a href="https://other.example/x?y=1">away</a><a href="javascript:alert(1)">no</a>
      <a href="mailto:a@b.example">no</a><a>none</a><a href="http://[">broken</a>`)
    assert.deepEqual(facts.links, [
      { href: '/a', text: 'First' },
      { href: '/products/b', text: 'a picture' },
      { href: 'https://other.example/x?y=1', text: 'away' },
    ])
    assert.equal(facts.linkCount, 4)
    assert.equal(of('<base href="/deep/"><a href="b">x</a>').links[0]?.href, '/deep/b')
  })

  it('its structured data, also where it is broken', () => {
    const facts = of(`<script type="application/ld+json">{"@type":"Product","name":"<b>"}</script>
      <script type="application/ld+json">{"@graph":[{"@type":["WebSite","Thing"]},{"@type":"FAQPage"}]}</script>
      <script type="application/ld+json">{"@type": oops}</script>
      <div itemscope="" itemtype="https://schema.org/Recipe"></div>`)
    assert.deepEqual(
      facts.structured.map(({ kind, types, isBroken }) => [kind, types, isBroken]),
      [
        ['json-ld', ['Product'], false],
        ['json-ld', ['WebSite', 'Thing', 'FAQPage'], false],
        ['json-ld', [], true],
        ['microdata', ['https://schema.org/Recipe'], false],
      ],
    )
    assert.equal(facts.structured[0]?.json, '{\n  "@type": "Product",\n  "name": "<b>"\n}')
  })

  it('is bounded at every point, exactly', () => {
    const words = (chars: number) => of(`<p>${'x'.repeat(chars)}</p>`).text.join('').length
    assert.equal(words(WHOLE_FACTS.textChars), WHOLE_FACTS.textChars)
    assert.equal(words(WHOLE_FACTS.textChars + 1), WHOLE_FACTS.textChars)
    const links = (count: number) =>
      of(Array.from({ length: count }, (_, n) => `<a href="/${n}">x</a>`).join('')).links.length
    assert.equal(links(WHOLE_FACTS.links), WHOLE_FACTS.links)
    assert.equal(links(WHOLE_FACTS.links + 1), WHOLE_FACTS.links)
    const json = `<script type="application/ld+json">"${'x'.repeat(30_000)}"</script>`
    const { structured } = of(json.repeat(30))
    assert.equal(structured.map(({ json }) => json).join('').length, WHOLE_FACTS.structuredChars)
    const metas = Array.from({ length: 60 }, (_, n) => `<meta property="og:x${n}" content="y">`).join('')
    assert.equal(Object.keys(of(metas).social).length, 40)
    const digest = factsOf(
      `<title>${'t'.repeat(9_000)}</title><p>${'x'.repeat(99_000)}</p>${json}`,
      URL_OF,
      DIGEST_FACTS,
    )
    assert(JSON.stringify(digest).length < 40_000)
  })

  it('no document costs more than its length', () => {
    const hostile = [
      '<'.repeat(1_000_000),
      '<a href="'.repeat(200_000),
      '<script>'.repeat(200_000),
      `${'<i>'.repeat(300_000)}${'</b>'.repeat(300_000)}`,
      '<!--'.repeat(300_000),
      `<script type="application/ld+json">${'['.repeat(500_000)}</script>`,
      `<p>${' '.repeat(2_000_000)}</p>`,
      '<template shadowrootmode="open">'.repeat(100_000),
    ]
    for (const html of hostile) assert(JSON.stringify(of(html)).length < 2_000_000, html.slice(0, 20))
  })
})

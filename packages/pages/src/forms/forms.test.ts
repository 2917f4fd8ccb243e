import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readPage } from '@prepaint/runtime/read-page.ts'
import { CARD_LIMIT_BYTES, CARD_VALUE_CHARS, pageCard } from './card.ts'
import { Converter, WAITING_LIMIT } from './converter.ts'
import { pageMarkdown } from './markdown.ts'

const url = 'https://shop.example/dir/page'
const changedAt = '2026-01-01T00:00:00.000Z'
const whole = (html: string) => pageMarkdown(html, readPage(html, url), { url, modified: changedAt })
const content = (body: string) =>
  whole(`<body>${body}</body>`)
    .replace(/^---\n.*?\n---\n\n?/s, '')
    .trimEnd()

describe('Markdown of a page', () => {
  it('the front matter has one JSON string a line, and only what the page has', () => {
    const html = `<html lang="de"><head><title>A "b"\u2028\u0085c\n d</title><meta name="description" content="x: y">
      <base href="/base/"><link rel="canonical" href="javascript:c"><link rel="canonical" href="c">
      <script type="application/ld+json">{"@graph":[{"@type":"Product"},{"@type":["A","Product"]}]}</script>
      <script type="application/ld+json">{broken</script></head><body></body></html>`
    assert.equal(
      whole(html).split('\n---\n')[0],
      '---\ntitle: "A \\"b\\" \\u0085c d"\ndescription: "x: y"\ncanonical: "https://shop.example/base/c"\nlanguage: "de"\nmodified: "2026-01-01T00:00:00.000Z"\ntypes: ["Product", "A"]',
    )
    assert.equal(whole('<p>x</p>'), '---\nmodified: "2026-01-01T00:00:00.000Z"\n---\n\nx\n')
  })

  const CASES: Record<string, [html: string, markdown: string]> = {
    'main, and the first h1 wherever it is': [
      '<header><h1>Head</h1></header><nav>n</nav><main>a</main><div role="main">b</div><p>c</p>',
      '# Head\n\na\n\nb',
    ],
    'the first h1, also beside another': ['<header><h1>A</h1></header><h1>B</h1>', '# A\n\n# B'],
    'all, where nothing is marked as content': ['<nav>a</nav><header>b</header>', 'a\n\nb'],
    'no main of pictures only': ['<main><img src="a.png"><svg><text>x</text></svg></main><p>a</p>', 'a'],
    'words of drawings, where there are no others': [
      '<main><svg><defs><text>x</text></defs><title>x</title><g><text>a <tspan>b</tspan></text><text display="none">x</text></g><text>c</text></svg></main>',
      'a b\n\nc',
    ],
    'without main: all but the surroundings of the page': [
      '<header>x</header><nav>x</nav><div role="search">x</div><div role="banner">x</div><aside>x</aside><dialog open>x</dialog><article><header>a</header><aside>b</aside><footer>c</footer></article><footer>x</footer>',
      'a\n\nb\n\nc',
    ],
    'nothing hidden': [
      '<p hidden>x</p><p style="color:red; DISPLAY : none">x</p><template>x</template><script>x</script><style>x</style><noscript>x</noscript><!-- x --><p>a</p>',
      'a',
    ],
    'shadow roots, flattened': [
      '<x-a><template shadowrootmode="open"><h2><slot name="t">f</slot></h2><x-b><template shadowrootmode="closed">[<slot></slot>]</template><slot></slot></x-b></template><b slot="t">title</b>light</x-a>',
      '## **title**\n\n\\[light]',
    ],
    'text that looks like markup': [
      '<p># a</p><p>- b</p><p>1. c</p><p>*d* `e` [f](g) &lt;script&gt;h&lt;/script&gt; &amp;amp; snake_case ~~i~~ AT&amp;T</p><p>---</p>',
      '\\# a\n\n\\- b\n\n1\\. c\n\n\\*d\\* \\`e\\` \\[f]\\(g) \\<script>h\\</script> \\&amp; snake_case \\~\\~i\\~\\~ AT&T\n\n\\---',
    ],
    'links: absolute, and none that runs something': [
      '<a href="x">a</a> <a href="java\nscript:y">b</a> <a href="VBScript:y">c</a> <a href="data:text/html,x">d</a> <a href="http://[">e</a> <a href="/f"><h3>f</h3><p>g</p></a> <a href="/h" aria-label="h"></a>',
      '[a](https://shop.example/dir/x) b c d e\n\n### [f](https://shop.example/f)\n\n[g](https://shop.example/f)\n\n[h](https://shop.example/h)',
    ],
    'images with a text, and never their bytes': [
      '<img src="a.png" alt="A"> <img src="b.png"> <img src="data:image/png;base64,xxxx" alt="C">',
      '![A](https://shop.example/dir/a.png) C',
    ],
    fences: ['<pre><code class="hljs language-ts">a\n```\nb</code></pre>', '````ts\na\n```\nb\n````'],
    'tables: spans, bars, blocks in cells': [
      '<table><caption>T</caption><tr><th colspan="2">a</th><th>b|c</th></tr><tr><td>d</td><td><p>e</p><p>f</p></td><td><ul><li>g</li></ul></td></tr></table>',
      'T\n\n| a | | b\\|c |\n| - | - | - |\n| d | e f | g |',
    ],
    'tables that only arrange': ['<table><tr><td><h2>a</h2></td><td>b</td></tr></table>', '## a\n\nb'],
    'definitions and details': [
      '<dl><dt>t</dt><dd>d</dd><dd>e</dd></dl><details><summary>s</summary><p>h</p></details>',
      '**t**\n: d\n: e\n\n**s**\n\nh',
    ],
    'forms: labels and values, no secrets': [
      '<form><label>n <input value="v"></label><input type="hidden" value="x"><input type="password" value="x"><select><option>r</option><option selected>s</option></select><textarea>t</textarea></form>',
      'n v r, s t',
    ],
    'formulas and frames': [
      '<math alttext="x^2"><mi>x</mi></math> <math><semantics><mi>y</mi><annotation encoding="application/x-tex">\\frac{a}{b}</annotation></semantics></math> <iframe src="/v" title="V"></iframe><iframe src="/w"></iframe>',
      '`x^2` `\\frac{a}{b}` [V](https://shop.example/v)',
    ],
    'words of buttons, apart': ['<button>a</button><button>b</button><p>c</p>', 'a b\n\nc'],
    'code beside code': ['a <code></code><code>b</code><kbd>c`</kbd>', 'a `` bc` ``'],
    'emphasis beside letters': ['<b>a:</b>b <i>c</i>d <b> e </b>', 'a:b *c*d **e**'],
  }
  for (const [name, [html, markdown]] of Object.entries(CASES)) {
    it(name, () => assert.equal(content(html), markdown))
  }
})

describe('cards', () => {
  const card = (head: string, body = '') => {
    const html = `<head>${head}</head><body>${body}</body>`
    return pageCard(html, url, readPage(html, url))
  }
  it('a card holds what link previews read, in order, as the page says it', () => {
    const head = `<style>a{}</style><link rel="icon" href="/i.png"><meta name="theme-color" content="#f00"><meta property="og:image" content="/1.png">
      <meta name="twitter:card" content="summary"><meta property="og:image" content="/2.png"><meta property="article:author" content="A &lt;b&gt; &quot;c&quot;">
      <link rel="alternate" type="application/json+oembed" href="/o"><script>x</script><meta name="viewport" content="x"><link rel="canonical" href="/c">
      <meta name="description" content="D"><title>T</title><meta name="robots" content="noindex"><meta property="product:price" content="1"><meta property="fb:app_id" content="2"><meta property="al:web:url" content="3">`
    assert.equal(
      card(head, '<nav><p>no</p></nav><h1>H <b>1</b></h1><p> </p><p>first</p><p>second</p>'),
      '<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>T</title><meta name="description" content="D"><link rel="canonical" href="/c"><meta property="og:image" content="/1.png"><meta name="twitter:card" content="summary"><meta property="og:image" content="/2.png"><meta property="article:author" content="A &lt;b&gt; &quot;c&quot;"><meta property="product:price" content="1"><meta property="fb:app_id" content="2"><meta property="al:web:url" content="3"><meta name="theme-color" content="#f00"><meta name="robots" content="noindex"><link rel="alternate" type="application/json+oembed" href="/o"><link rel="icon" href="/i.png"></head><body><h1>H 1</h1><p>first</p></body></html>\n',
    )
  })

  it('links of a card are right without the base of the page', () => {
    const head =
      '<base href="/app/"><link rel="icon" href="i.png"><link rel="canonical" href="https://a.example/">'
    assert.match(
      card(head),
      /"canonical" href="https:..a.example.".*"icon" href="https:..shop.example.app.i.png"/,
    )
  })

  it('a card leaves out long values and data, and loses its end first if it is too large', () => {
    const og = (value: string) => `<meta property="og:x" content="${value}">`
    const isKept = (value: string) => card(og(value)).includes('og:x')
    const long = 'x'.repeat(CARD_VALUE_CHARS)
    assert.deepEqual([long, `${long}x`, 'x'.repeat(1_000_000), ' Data:image/png;base64,x'].map(isKept), [
      ...[true, false, false, false],
    ])
    const tags = (count: number) =>
      Array.from({ length: count }, (_, at) => og(`${at} ${'é'.repeat(2_000)}`)).join('')
    const large = card(tags(40), '<h1>H</h1><p>P</p>')
    const bytes = Buffer.byteLength(large)
    assert(bytes <= CARD_LIMIT_BYTES && bytes > CARD_LIMIT_BYTES - 4_100, `${bytes}`)
    assert(large.includes('"0 é') && !large.includes('<h1>') && !large.includes('<p>'))
    const exact = (bytes: number) => {
      const most = tags(7) + og('y'.repeat(1_000))
      const filled = card(most, '<p>P</p>')
      return card(most + og('x'.repeat(bytes - Buffer.byteLength(filled) - og('').length)), '<p>P</p>')
    }
    assert.equal(Buffer.byteLength(exact(CARD_LIMIT_BYTES)), CARD_LIMIT_BYTES)
    assert(!exact(CARD_LIMIT_BYTES + 1).includes('<p>P</p>'))
  })
})

describe('conversions in threads', () => {
  const conversion = (html: string) => ({
    ...{ form: 'markdown' as const, html, url, reading: null, changedAt, textChange: null },
  })
  const deep = '<b>'.repeat(200_000)

  it('a page whose conversion fails or takes too long has no such form, and the next page has one', async () => {
    const converter = new Converter(60_000)
    assert.equal(await converter.convert(1, conversion(deep)), null)
    const made = await converter.convert(1, conversion('<p>a</p>'))
    assert(made !== null && made !== 'busy')
    assert.match(made.text, /\na\n$/)
    const hasty = new Converter(0)
    assert.equal(await hasty.convert(1, conversion('<p>a</p>'.repeat(50_000))), null)
  })

  it('an account at its limit of waiting conversions is refused, and others are not', async () => {
    const converter = new Converter(60_000)
    const first = converter.convert(1, conversion('<p>a</p>'))
    const waiting = Array.from({ length: WAITING_LIMIT }, () => converter.convert(1, conversion('<p>a</p>')))
    assert.equal(await converter.convert(1, conversion('<p>a</p>')), 'busy')
    const other = await converter.convert(2, conversion('<p>b</p>'))
    assert(other !== null && other !== 'busy')
    assert((await Promise.all([first, ...waiting])).every((made) => made !== null && made !== 'busy'))
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { factsOf } from '@prepaint/contract/reading/facts.ts'
import { EXCERPT_CHARS, textOf, VALUE_CHARS } from '@prepaint/contract/reading/page-reader.ts'
import { mayBeIndexed, robotsText } from '@prepaint/contract/reading/robots.ts'
import { WORDS_LIMIT } from '@prepaint/contract/reading/words.ts'
import { readPage } from './read-page.ts'

const URL_OF = 'https://shop.example/products/1'
const read = (html: string) => readPage(html, URL_OF)
const readHead = (head: string, body = '') => read(`<html><head>${head}</head><body>${body}</body></html>`)
const meta = (name: string, content: string) => `<meta name="${name}" content="${content}">`

describe('the rules that a page has for robots', () => {
  it('are kept for all and by crawler, and those of the same name add up', () => {
    const { robots } = readHead(
      `${meta('robots', 'nofollow')}${meta('Googlebot', 'noindex')}${meta('ROBOTS', 'noarchive')}${meta('bingbot', 'none')}`,
    )
    assert.deepEqual(robots, {
      all: 'nofollow, noarchive',
      byCrawler: { googlebot: 'noindex', bingbot: 'none' },
    })
  })

  it('are one text for the inspection and for X-Robots-Tag, which names the crawler', () => {
    const html = `<head>${meta('robots', 'index')}${meta('googlebot', 'noindex')}</head>`
    assert.equal(robotsText(read(html).robots), 'index, googlebot: noindex')
    assert.equal(factsOf(html, URL_OF).robots, 'index, googlebot: noindex')
    assert.equal(robotsText(readHead('').robots), null)
    assert.equal(robotsText(readHead(meta('baiduspider', 'noindex')).robots), 'baiduspider: noindex')
  })

  it('forbid a listing if those for all or those for Googlebot do, not if those for another crawler do', () => {
    const cases: [head: string, mayBeListed: boolean][] = [
      [meta('robots', 'noindex') + meta('googlebot', 'index'), false],
      [meta('robots', 'index') + meta('googlebot', 'noindex'), false],
      [meta('robots', 'index') + meta('robots', 'noindex'), false],
      [meta('bingbot', 'noindex'), true],
      [meta('googlebot-news', 'noindex'), true],
    ]
    for (const [head, mayBeListed] of cases)
      assert.equal(mayBeIndexed(readHead(head).robots, []), mayBeListed, head)
  })

  it('are read wherever they stand, because browsers move them out of a broken head', () => {
    assert.equal(readHead('', meta('robots', 'noindex')).robots.all, 'noindex')
  })

  it('are not those of elements with other names, nor of more than 20 crawlers', () => {
    const others = ['robot', 'viewport', 'description', 'bot', 'spider', '__proto__']
    const none = readHead(others.map((name) => meta(name, 'noindex')).join('')).robots
    assert.deepEqual(none, { all: null, byCrawler: {} })
    const crawlers = (count: number) =>
      Array.from({ length: count }, (_, at) => meta(`a${at}bot`, 'x')).join('')
    assert.equal(Object.keys(readHead(crawlers(20)).robots.byCrawler).length, 20)
    assert.equal(Object.keys(readHead(crawlers(21)).robots.byCrawler).length, 20)
  })
})

describe('the canonical address of a page', () => {
  const link = (href: string, rel = 'canonical') => `<link rel="${rel}" href="${href}">`

  it('is that of a link with the token canonical, beside others and in any case', () => {
    for (const rel of ['canonical', 'Canonical', 'canonical alternate', 'alternate  CANONICAL'])
      assert.equal(readHead(link('/a', rel)).canonical, 'https://shop.example/a', rel)
    assert.equal(readHead(link('/a', 'noncanonical')).canonical, null)
  })

  it('is the first one of http or https, absolute by the base of the page', () => {
    const head = `${link('javascript:x')}${link('http://[')}${link('b')}${link('/c')}<base href="/deep/">`
    assert.equal(readHead(head).canonical, 'https://shop.example/deep/b')
  })

  it('is not read from the body, where Google does not read it', () => {
    assert.equal(readHead('', link('/a')).canonical, null)
  })

  it('is as long as allowed, and none if it is one character longer', () => {
    const ofLength = (chars: number) => `https://shop.example/${'x'.repeat(chars - 21)}`
    assert.equal(readHead(link(ofLength(VALUE_CHARS))).canonical, ofLength(VALUE_CHARS))
    assert.equal(readHead(link(ofLength(VALUE_CHARS + 1))).canonical, null)
  })
})

describe('character references', () => {
  it('are decoded in text, title and attributes, in all forms of HTML', () => {
    const html = `<html><head><title>It&#39;s &lt;new&gt;</title>${meta('description', 'Caf&eacute; &#x26; bar')}</head><body><p>It&#39;s &copy;&nbsp;2026 &amp;lt;</p></body></html>`
    const reading = read(html)
    assert.equal(reading.title, "It's <new>")
    assert.equal(reading.description, 'Café & bar')
    assert.equal(reading.excerpt, "It's © 2026 &lt;")
    assert.deepEqual(factsOf(html, URL_OF).text, ["It's © 2026 &lt;"])
  })

  it('make the same words and the same hash as the characters that they stand for', () => {
    const one = read("<body><p>It's new</p></body>")
    const other = read('<body><p>It&#39;s new</p></body>')
    assert.deepEqual(other.words, one.words)
    assert.equal(other.textHash, one.textHash)
  })
})

describe('the text of a page', () => {
  it('is the text between tags, and no invisible text', () => {
    const html = `<!DOCTYPE html>
      <html><head><title>not this</title><style>p { color: red }</style></head>
      <body class="a > b"><!-- <p>nor this</p> --><h1>One &amp; two</h1>
      <script type="application/ld+json">{"a": "<p>"}</script><template><p>later</p></template>
      <p title="x > y">three</p><textarea>typed</textarea><noscript>no script</noscript>
      <my-part><template shadowrootmode="open"><b>in the shadow</b></template></my-part> &lt;end&gt;</body></html>`
    assert.equal(read(html).excerpt, 'One & two three in the shadow <end>')
    assert.equal(textOf(html), 'One & two three in the shadow <end>')
  })

  it('is that of xmp and plaintext as it is written, and none of iframe, noembed and noframes', () => {
    const lines = (html: string) => factsOf(html, URL_OF).text.join(' ')
    for (const text of [(html: string) => read(html).excerpt, lines]) {
      assert.equal(text('<body><xmp><b>a</b> &amp;</xmp> b</body>'), '<b>a</b> &amp; b')
      assert.equal(text('<body>a <plaintext><b>b &amp; c</body>'), 'a <b>b &amp; c</body>')
      for (const name of ['iframe', 'noembed', 'noframes'])
        assert.equal(text(`<body>a <${name}>x <p>y</p></${name}> b</body>`), 'a b', name)
    }
  })

  it('has an excerpt of its first characters, and its whole length', () => {
    for (const chars of [EXCERPT_CHARS, EXCERPT_CHARS + 1]) {
      const { excerpt, textChars } = read(`<body>${'x'.repeat(chars)}</body>`)
      assert.deepEqual([excerpt.length, textChars], [EXCERPT_CHARS, chars])
    }
  })

  it('has words up to the limit of words, and none past it', () => {
    const words = (count: number) => read(`<body>${'word '.repeat(count)}</body>`).words
    assert.equal(words(WORDS_LIMIT)?.length, WORDS_LIMIT)
    assert.equal(words(WORDS_LIMIT + 1), null)
  })

  it('has the pictures that it shows among its words, and none of noscript', () => {
    const words = (body: string) => read(`<body>a${body}</body>`).words?.length
    assert.equal(words('<img alt="" src="/a.png"><video src="/b"></video>'), 3)
    assert.equal(words('<noscript><img src="/a.png"></noscript>'), 1)
  })

  it('has the hash that 0.2.0 stored, whose title counts as it is written', () => {
    const html = `<html><head><title>Rakes &amp; more</title>${meta('description', 'All &quot;rakes&quot;')}</head><body><h1>A <b>rake</b></h1>
      <p>for&nbsp;hands &amp; feet</p><script>no</script></body></html>`
    assert.equal(read(html).textHash, '93c37c6557e1fe2a7fe50baab08b417f0f40831abb7dde182fc36f5eb8b81a3b')
  })

  it('takes time in proportion to the length, whatever it is', () => {
    for (const bit of [
      '<script>',
      '<!--',
      '<a "',
      '<template>',
      '<',
      '<noscript><img ',
      '<xmp>',
      '&#',
      '<svg>',
    ])
      assert.equal(typeof read(`<body>${bit.repeat(300_000)}`).textHash, 'string', bit)
  })
})

describe('the head of a page', () => {
  it('has the first title and description with a text, and no title of a drawing', () => {
    const empty = `<title> </title>${meta('description', '')}`
    const { title, description } = readHead(`${empty}<title>A\n title</title>${meta('description', 'it')}`)
    assert.deepEqual([title, description], ['A title', 'it'])
    assert.equal(readHead('', '<svg><title>Logo</title></svg>').title, null)
    assert.equal(readHead('', '<svg><title>Logo</title></svg><title>Late</title>').title, 'Late')
  })

  it('has the first base with an address', () => {
    assert.equal(
      readHead('<base target="_top"><base href="/a/"><base href="/b/">').base,
      'https://shop.example/a/',
    )
    assert.equal(readHead('').base, null)
  })

  it('names Markdown of the site by an alternate link of that type', () => {
    const link = (rel: string, type: string) => readHead(`<link rel="${rel}" type="${type}" href="/a.md">`)
    assert.equal(link('nofollow Alternate', 'text/markdown; charset=utf-8').hasOwnMarkdown, true)
    assert.equal(link('alternate', 'text/markdown-x').hasOwnMarkdown, false)
    assert.equal(link('next', 'text/markdown').hasOwnMarkdown, false)
  })

  it('has each type of structured data once, and links of http and https', () => {
    const json = '<script type="application/ld+json">{"@type":["Product","Thing"]}</script>'
    const body =
      '<a href="/a">a</a><a href="https://b.example/">b</a><a href="mailto:c@d.example">c</a><a>d</a>'
    const { structuredTypes, links } = readHead(json + json, body)
    assert.deepEqual([structuredTypes, links], [['Product', 'Thing'], 2])
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DomainId, DomainName } from '../ids.ts'
import { readOrigin } from '../outbound/origin.ts'
import { ENTRY_LIMIT_CHARS, NotASitemap, type SitemapEntry, SitemapScanner } from './scanner.ts'
import { pathOn, publicUrl } from './site.ts'
import { escapeXml, unescapeXml } from './xml-text.ts'

const NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
const urlset = (inside: string) => `<?xml version="1.0"?>\n<!-- made -->\n<urlset ${NS}>${inside}</urlset>`

/** Addresses of `old` move to `new`. */
function scan(xml: string, pieceBytes: number) {
  const scanner = new SitemapScanner((location) =>
    location.startsWith('http://old/') ? location.replace('http://old', 'https://new') : null,
  )
  const bytes = Buffer.from(xml)
  const entries: SitemapEntry[] = []
  let out = ''
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    entries.push(...scanner.write(bytes.subarray(at, at + pieceBytes)))
    out += scanner.takeText()
  }
  entries.push(...scanner.end())
  return { entries, out: out + scanner.takeText(), root: scanner.root }
}

describe('a sitemap, whole and in single bytes', () => {
  const entry = (location: string, changed: string | null = null) => ({
    ...{ location, changedAtMs: changed === null ? null : Date.parse(changed) },
  })
  const dated = (date: string) => `<url><loc>/a</loc><lastmod>${date}</lastmod></url>`
  const odd = ['yesterday', '-004800-01-01T00:00:00Z', '1969-12-31', '+010000-01-01T00:00:00Z']
  /** The third is what it becomes; absent: it stays as it is. */
  const cases: Record<string, [inside: string, entries: SitemapEntry[], out?: string]> = {
    'has addresses and last changes': [
      `${dated('2026-01-02')}<url>\n <lastmod>2026-01-02T03:04:05+01:00</lastmod> <loc> https://a/2 </loc></url>`,
      [entry('/a', '2026-01-02'), entry('https://a/2', '2026-01-02T02:04:05Z')],
    ],
    'may say no change, or one that cannot be read, or of years that no page is of': [
      odd.map(dated).join(''),
      Array(4).fill(entry('/a')),
    ],
    'is unescaped and escaped again': [
      '<url><loc>http://old/a?x=1&amp;y=&#39;2&#x27;&lt;</loc></url>',
      [entry("http://old/a?x=1&y='2'<")],
      '<url><loc>https://new/a?x=1&amp;y=&apos;2&apos;&lt;</loc></url>',
    ],
    'may have CDATA, between spaces': [
      '<url><loc>\n <![CDATA[http://old/a?x=1&y=2]]> </loc></url>',
      [entry('http://old/a?x=1&y=2')],
      '<url><loc>\n https://new/a?x=1&amp;y=2 </loc></url>',
    ],
    'has images and videos, which are no entries and move too': [
      '<url><image:image><image:loc>http://old/a.png</image:loc></image:image><loc>/a</loc><video:content_loc>http://old/b.mp4</video:content_loc></url>',
      [entry('/a')],
      '<url><image:image><image:loc>https://new/a.png</image:loc></image:image><loc>/a</loc><video:content_loc>https://new/b.mp4</video:content_loc></url>',
    ],
    'may have a prefix and letters of several bytes': [
      '<s:url a="1"><s:loc>http://old/café/😀</s:loc></s:url>',
      [entry('http://old/café/😀')],
      '<s:url a="1"><s:loc>https://new/café/😀</s:loc></s:url>',
    ],
    'keeps an entity that only a DTD explains': ['<url><loc>&host;/c</loc></url>', []],
  }
  for (const [name, [inside, entries, out = inside]] of Object.entries(cases)) {
    it(name, () => {
      const found = { entries, out: urlset(out), root: 'urlset' }
      for (const bytes of [1 << 16, 1]) assert.deepEqual(scan(urlset(inside), bytes), found)
    })
  }

  it('of sitemaps is an index', () => {
    const xml = `<sitemapindex ${NS}><sitemap><loc>/s1.xml.gz</loc></sitemap></sitemapindex>`
    assert.deepEqual(scan(xml, 3), { entries: [entry('/s1.xml.gz')], root: 'sitemapindex', out: xml })
  })
})

describe('what is no sitemap', () => {
  const none: Record<string, string> = {
    nothing: '',
    'an application shell': '<!doctype html><html><body><div id="app"></div></body></html>',
    'much before any root': ' '.repeat(100_000),
    'one entry without end': urlset(`<url><loc>${'a'.repeat(ENTRY_LIMIT_CHARS)}`),
    'an element of nothing but spaces': urlset(`<url><loc>${' '.repeat(200_000)}`),
    'a tag without end': `<urlset ${'a'.repeat(70_000)}`,
    'many beginnings': urlset('<url><loc><![CDATA['.repeat(20_000)),
  }
  for (const [name, xml] of Object.entries(none)) {
    it(name, () => assert.throws(() => scan(xml, 1_000), NotASitemap))
  }

  it('an entry of the longest length is one, and a longer one is not', () => {
    const around = '<url><loc>/a</loc></url>'.length
    const entry = (chars: number) => `<url><loc>/a</loc>${' '.repeat(chars - around)}</url>`
    assert.equal(scan(urlset(entry(ENTRY_LIMIT_CHARS).repeat(2)), 1_000).entries.length, 2)
    // Noticed with the next piece.
    assert.throws(() => scan(urlset(entry(ENTRY_LIMIT_CHARS + 1_001)), 1_000), NotASitemap)
  })
})

describe('addresses of a site', () => {
  const origin = readOrigin('http://origin.example.net:8080', 'site')
  const name = 'shop.example.com' as DomainName
  const site = { id: 1 as DomainId, name, origin, query: 'keep' } as const

  it('of the origin are moved to the domain, others are left alone', () => {
    assert.equal(publicUrl(site, 'http://origin.example.net:8080/a?b=1'), 'https://shop.example.com/a?b=1')
    assert.equal(publicUrl(site, 'https://origin.example.net/a'), 'https://shop.example.com/a')
    const others = ['http://origin.example.net:8081/a', 'https://origin.example.net.else.example/a', '/a']
    others.push('https://origin.example.net@else.example/a')
    for (const address of others) assert.equal(publicUrl(site, address), null, address)
  })

  it('are paths of the site, by its query rule; those of other hosts and schemes are none', () => {
    for (const own of ['http://origin.example.net:8080/a', '/a']) assert.equal(pathOn(site, own), '/a')
    assert.equal(pathOn({ ...site, query: 'ignore' }, '/a?b'), '/a')
    for (const address of ['https://else.example/a', 'ftp://shop.example.com/a', '//else.example/a'])
      assert.equal(pathOn(site, address), null, address)
  })
})

it('five entities and numbers are known, and nothing that a DTD would have to explain', () => {
  const text = `a&b<c>d"e'f`
  assert.equal(escapeXml(text), 'a&amp;b&lt;c&gt;d&quot;e&apos;f')
  assert.equal(unescapeXml(escapeXml(text)), text)
  assert.equal(unescapeXml('&#65;&#x42;&#x1F600;'), 'AB\u{1f600}')
  assert.equal(unescapeXml('&amp;lt;'), '&lt;')
  assert.equal(unescapeXml('a & b; &;'), 'a & b; &;')
  for (const unknown of ['a&file;', '&#1114112;', '&constructor;']) {
    assert.equal(unescapeXml(unknown), null, unknown)
  }
})

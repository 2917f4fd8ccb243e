import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DomainId, DomainName } from '../ids.ts'
import { readOrigin } from '../outbound/origin.ts'
import { DEFAULT_DOMAIN_SETTINGS } from '../sites/domain-settings.ts'
import { ENTRY_LIMIT_CHARS, NotASitemap, type SitemapEntry, SitemapScanner } from './scanner.ts'
import { pathOn, publicUrl } from './site.ts'
import { escapeXml, unescapeXml } from './xml-text.ts'

const NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
const urlset = (inside: string) => `<?xml version="1.0"?>\n<!-- made -->\n<urlset ${NS}>${inside}</urlset>`

function scan(xml: string, pieceBytes = 1 << 16): { entries: SitemapEntry[]; root: string | null } {
  const scanner = new SitemapScanner()
  const bytes = Buffer.from(xml)
  const entries: SitemapEntry[] = []
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    entries.push(...scanner.write(bytes.subarray(at, at + pieceBytes)))
  }
  entries.push(...scanner.end())
  return { entries, root: scanner.root }
}

describe('the entries of a sitemap', () => {
  const entry = (location: string, changed: string | null = null) => ({
    ...{ location, changedAtMs: changed === null ? null : Date.parse(changed) },
  })
  const cases: Record<string, { inside: string; entries: SitemapEntry[] }> = {
    'have an address and a last change': {
      inside:
        '<url><loc>https://a.example/1</loc><lastmod>2026-01-02</lastmod></url>' +
        '<url>\n <lastmod>2026-01-02T03:04:05+01:00</lastmod> <loc> https://a.example/2 </loc></url>',
      entries: [
        entry('https://a.example/1', '2026-01-02'),
        entry('https://a.example/2', '2026-01-02T02:04:05Z'),
      ],
    },
    'may say no change, or one that cannot be read': {
      inside: '<url><loc>/a</loc></url><url><loc>/b</loc><lastmod>yesterday</lastmod></url>',
      entries: [entry('/a'), entry('/b')],
    },
    'may be dated by years that no page is of, which says nothing': {
      inside: ['-004800-01-01T00:00:00Z', '1969-12-31', '+010000-01-01T00:00:00Z', '+275760-09-13T00:00:00Z']
        .map((date) => `<url><loc>/a</loc><lastmod>${date}</lastmod></url>`)
        .join(''),
      entries: Array(4).fill(entry('/a')),
    },
    'are unescaped, in CDATA or not; an entity that only a DTD explains is none': {
      inside:
        '<url><loc>/a?x=1&amp;y=&#39;2&#x27;</loc></url><url><loc>\n<![CDATA[/b?x=1&y=2]]></loc></url>' +
        '<url><loc>&host;/c</loc></url>',
      entries: [entry("/a?x=1&y='2'"), entry('/b?x=1&y=2')],
    },
    'are not their images': {
      inside:
        '<url><image:image><image:loc>/a.png</image:loc></image:image><loc>/a</loc></url><url><image:image><image:loc>/b.png</image:loc></image:image></url>',
      entries: [entry('/a')],
    },
    'may have a prefix and letters of several bytes': {
      inside: '<s:url a="1"><s:loc>/café/😀</s:loc></s:url>',
      entries: [entry('/café/😀')],
    },
  }
  for (const [name, { inside, entries }] of Object.entries(cases)) {
    it(name, () => assert.deepEqual(scan(urlset(inside)), { entries, root: 'urlset' }))
    it(`${name}; in single bytes`, () => assert.deepEqual(scan(urlset(inside), 1).entries, entries))
  }

  it('of an index are sitemaps', () => {
    const xml = `<sitemapindex ${NS}><sitemap><loc>/s1.xml.gz</loc></sitemap></sitemapindex>`
    assert.deepEqual(scan(xml, 3), { entries: [entry('/s1.xml.gz')], root: 'sitemapindex' })
  })
})

describe('what is no sitemap', () => {
  const none: Record<string, string> = {
    nothing: '',
    'an application shell': '<!doctype html><html><body><div id="app"></div></body></html>',
    'a feed': '<rss version="2.0"><channel></channel></rss>',
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

  it('holds no more than an entry, however long the sitemap', () => {
    const scanner = new SitemapScanner()
    scanner.write(Buffer.from(`<urlset ${NS}>`))
    let found = 0
    for (let n = 0; n < 2_000; n++) {
      found += scanner.write(Buffer.from(`<url><loc>/p${n}</loc></url>`.repeat(100))).length
    }
    assert.equal(found, 200_000)
  })
})

describe('the locations of a sitemap that is written on', () => {
  const cases: Record<string, { xml: string; out?: string }> = {
    'are replaced': {
      xml: urlset('<url><loc>http://origin.example/a</loc><lastmod>2026-01-01</lastmod></url>\n'),
      out: urlset('<url><loc>https://red.example/a</loc><lastmod>2026-01-01</lastmod></url>\n'),
    },
    'of other hosts stay': { xml: urlset('<url><loc>https://else.example/a</loc></url>') },
    'are unescaped and escaped again': {
      xml: urlset('<url><loc>http://origin.example/a?x=1&amp;y=&#39;2&#x27;&lt;</loc></url>'),
      out: urlset('<url><loc>https://red.example/a?x=1&amp;y=&apos;2&apos;&lt;</loc></url>'),
    },
    'may stand in CDATA, and between spaces': {
      xml: urlset('<url><loc>\n <![CDATA[http://origin.example/a?x=1&y=2]]> </loc></url>'),
      out: urlset('<url><loc>\n https://red.example/a?x=1&amp;y=2 </loc></url>'),
    },
    'of images and videos are replaced too': {
      xml: urlset(
        '<url><loc>http://origin.example/a</loc><image:image><image:loc>http://origin.example/a.png</image:loc></image:image><video:content_loc>http://origin.example/a.mp4</video:content_loc></url>',
      ),
      out: urlset(
        '<url><loc>https://red.example/a</loc><image:image><image:loc>https://red.example/a.png</image:loc></image:image><video:content_loc>https://red.example/a.mp4</video:content_loc></url>',
      ),
    },
    'may have a prefix of their own': {
      xml: `<s:urlset xmlns:s="x"><s:url><s:loc>http://origin.example/a</s:loc></s:url></s:urlset>`,
      out: `<s:urlset xmlns:s="x"><s:url><s:loc>https://red.example/a</s:loc></s:url></s:urlset>`,
    },
    'with an entity that only a DTD explains stay as they are': {
      xml: `<!DOCTYPE x [<!ENTITY host "http://origin.example">]>${urlset('<url><loc>&host;/a</loc></url>')}`,
    },
    'may have letters of several bytes': {
      xml: urlset('<url><loc>http://origin.example/café/😀</loc></url>'),
      out: urlset('<url><loc>https://red.example/café/😀</loc></url>'),
    },
  }
  for (const [name, { xml, out = xml }] of Object.entries(cases)) {
    for (const pieceBytes of [1 << 16, 1]) {
      it(`${name}; in pieces of ${pieceBytes}`, () => {
        const scanner = new SitemapScanner((location) =>
          location.startsWith('http://origin.example/')
            ? location.replace('http://origin', 'https://red')
            : null,
        )
        const bytes = Buffer.from(xml)
        let written = ''
        for (let at = 0; at < bytes.length; at += pieceBytes) {
          scanner.write(bytes.subarray(at, at + pieceBytes))
          written += scanner.takeText()
        }
        scanner.end()
        assert.equal(written + scanner.takeText(), out)
      })
    }
  }
})

const site = {
  id: 1 as DomainId,
  name: 'shop.example.com' as DomainName,
  origin: readOrigin('http://origin.example.net:8080', 'site'),
  query: DEFAULT_DOMAIN_SETTINGS.query,
}

it('addresses of the origin are moved to the domain, others are left alone', () => {
  const cases: [string, string | null][] = [
    ['http://origin.example.net:8080/a?b=1', 'https://shop.example.com/a?b=1'],
    ['https://origin.example.net/a', 'https://shop.example.com/a'],
    ['http://origin.example.net:8081/a', null],
    ['https://shop.example.com/a', null],
    ['https://elsewhere.example/a', null],
    ['https://origin.example.net.elsewhere.example/a', null],
    ['https://origin.example.net@elsewhere.example/a', null],
    ['/a', null],
  ]
  for (const [address, moved] of cases) assert.equal(publicUrl(site, address), moved, address)
})

it('paths of other hosts and schemes are none of the site', () => {
  assert.equal(pathOn(site, 'http://origin.example.net:8080/a'), '/a')
  assert.equal(pathOn(site, '/a'), '/a')
  for (const address of ['https://elsewhere.example/a', 'ftp://shop.example.com/a', '//elsewhere.example/a'])
    assert.equal(pathOn(site, address), null, address)
})

it('five entities and numbers are known, and nothing that a DTD would have to explain', () => {
  assert.equal(unescapeXml('a&amp;b&lt;c&gt;d&quot;e&apos;f'), `a&b<c>d"e'f`)
  assert.equal(unescapeXml('&#65;&#x42;&#x1F600;'), 'AB\u{1f600}')
  assert.equal(unescapeXml('&amp;lt;'), '&lt;')
  assert.equal(unescapeXml('a & b; &;'), 'a & b; &;')
  for (const text of ['&eacute;', 'a&file;', '&#1114112;', '&#x110000;', '&constructor;', '&toString;']) {
    assert.equal(unescapeXml(text), null, text)
  }
})

it('what is escaped is read as it was', () => {
  const text = `/a?b=1&c=<d>"e"'f'&amp;`
  assert.equal(escapeXml(text), '/a?b=1&amp;c=&lt;d&gt;&quot;e&quot;&apos;f&apos;&amp;amp;')
  assert.equal(unescapeXml(escapeXml(text)), text)
})

import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import zlib from 'node:zlib'
import type { DomainId, DomainName, PagePath } from '@prepaint/contract/ids.ts'
import { pathOn, publicUrl } from '@prepaint/contract/site-files/site.ts'
import { escapeXml, unescapeXml } from '@prepaint/contract/site-files/xml-text.ts'
import { readOrigin } from '@prepaint/outbound'
import { startTestSite } from '../../../../test/support/site.ts'
import { type OwnEntry, readSitemap } from './read-sitemap.ts'
import { fetchRobots, ROBOTS_LIMIT_BYTES, readRobots } from './robots.ts'
import { ENTRY_LIMIT_CHARS, NotASitemap, type SitemapEntry, SitemapScanner } from './scanner.ts'

const test = await startTestSite()
const { answers } = test

after(() => test.close())
beforeEach(() => {
  for (const path of Object.keys(answers)) delete answers[path]
  test.asked.length = 0
})

const MAP = '/sitemap.xml'
const urlset = (...addresses: string[]) =>
  `<urlset>${addresses.map((address) => `<url><loc>${address}</loc></url>`).join('')}</urlset>`

type Take = Parameters<typeof readSitemap>[4]
function readAll(take: Take, options: { limitBytes?: number; silenceMs?: number } = {}, path = MAP) {
  const signal = AbortSignal.timeout(60_000)
  return readSitemap({ ...test.options, ...options }, test.site, path as PagePath, signal, take)
}
async function read(path = MAP, options?: { limitBytes?: number; silenceMs?: number }) {
  const batches: { kind: string; entries: readonly OwnEntry[] }[] = []
  await readAll(async (entries, kind) => batches.push({ kind, entries }) > 0, options, path)
  return { batches, paths: batches.flatMap(({ entries }) => entries.map((entry) => entry.path)) }
}

describe('the entries of a sitemap', () => {
  it("are the site's own, under its name or its origin's, as they are stored; those of other hosts are left out", async () => {
    const others = ['/c', 'https://else.example/d']
    answers[MAP] = urlset('https://red.example/a?b=1&amp;a=2', `${test.origin}/b?utm_source=x`, ...others)
    const { paths, batches } = await read()
    assert.deepEqual(paths, ['/a?a=2&b=1', '/b', '/c'])
    assert.equal(batches[0]?.kind, 'pages')
    assert.match(test.lastHeaders['user-agent'] ?? '', /^Prepaint\//)
    assert.equal(test.lastHeaders['x-forwarded-host'], 'red.example')
  })

  it('a gzip file, a gzip encoding, and both', async () => {
    const packed = zlib.gzipSync(urlset('/a'))
    answers['/file.xml.gz'] = packed
    answers['/encoded'] = (res) => res.setHeader('content-encoding', 'gzip').end(packed)
    answers['/both'] = (res) => res.setHeader('content-encoding', 'gzip').end(zlib.gzipSync(packed))
    for (const path of ['/file.xml.gz', '/encoded', '/both'])
      assert.deepEqual((await read(path)).paths, ['/a'], path)
  })

  it('redirects inside the site are followed, no more than five; elsewhere none is', async () => {
    answers[MAP] = { status: 301, location: '/index.xml' }
    answers['/index.xml'] = { status: 302, location: 'https://red.example/last.xml' }
    answers['/last.xml'] = '<sitemapindex><sitemap><loc>/s1.xml</loc></sitemap></sitemapindex>'
    const { batches } = await read()
    assert.deepEqual(batches, [{ kind: 'sitemaps', entries: [{ path: '/s1.xml', changedAtMs: null }] }])
    answers[MAP] = { status: 302, location: 'https://else.example/last.xml' }
    await assert.rejects(read(), { name: 'NotASitemap', message: 'the origin answered 302' })
    answers[MAP] = { status: 302, location: MAP }
    test.asked.length = 0
    await assert.rejects(read(), NotASitemap)
    assert.equal(test.asked.length, 6)
  })
})

describe('a sitemap of hundreds of thousands of entries', () => {
  // Proves decided "Warm"
  it('is read as it streams: the first batch is taken before the origin has sent the last, and none is larger than 1,000', async () => {
    const taken = Promise.withResolvers<void>()
    const step = '<url><loc>/p</loc></url>'.repeat(100_000)
    answers[MAP] = async (res) => {
      res.setHeader('content-encoding', 'gzip')
      const gzip = zlib.createGzip({ level: 1 })
      gzip.pipe(res)
      gzip.write(`<urlset>${step}`)
      gzip.flush()
      await taken.promise
      gzip.end(`${step}${step}</urlset>`)
    }
    const sizes: number[] = []
    await readAll(async (entries) => {
      taken.resolve()
      return sizes.push(entries.length) > 0
    })
    assert.deepEqual(sizes, Array(300).fill(1_000))
  })

  it('up to its bytes, and not one more', async () => {
    const body = urlset('/a')
    answers[MAP] = zlib.gzipSync(body)
    assert.deepEqual((await read(MAP, { limitBytes: body.length })).paths, ['/a'])
    await assert.rejects(read(MAP, { limitBytes: body.length - 1 }), /larger than/)
  })
})

it('what cannot be read is said: missing, broken off, packed or not, or silent', async () => {
  await assert.rejects(read('/none.xml'), /the origin answered 404/)
  answers[MAP] = zlib.gzipSync(urlset('/a')).subarray(0, 20)
  await assert.rejects(read())
  answers[MAP] = (res) => {
    res.write('<urlset><url>')
    setImmediate(() => res.destroy())
  }
  await assert.rejects(read())
  answers[MAP] = () => {}
  await assert.rejects(read(MAP, { silenceMs: 30 }), /silent/)
})

describe('robots.txt of a site', () => {
  const allowed = (text: string, ...paths: string[]) => {
    const robots = readRobots(text, test.site)
    return paths.filter((path) => robots.allows(path as PagePath))
  }
  const fetched = async () => (await fetchRobots(test.options, test.site, AbortSignal.timeout(10_000))).text

  it('is obeyed by our own group alone, in any case; else by that for all', () => {
    const text = 'User-agent: *\nDisallow: /a\n\nUser-agent: Googlebot\nDisallow: /'
    assert.deepEqual(allowed(text, '/', '/a'), ['/'])
    assert.deepEqual(allowed(`${text}\n\nUser-agent: PREPAINT\nDisallow: /c`, '/a', '/c'), ['/a'])
  })

  it("names the site's own sitemaps, each once", () => {
    const text = `Sitemap: ${test.origin}/one.xml\nsitemap:/two\nSitemap: https://else.example/x\nSitemap: https://red.example/one.xml # here`
    assert.deepEqual(readRobots(text, test.site).sitemaps, ['/one.xml', '/two'])
  })

  it('is fetched up to its limit, also by a redirect and of any type; empty where there is none', async () => {
    const text = '<!doctype html>\n'.padEnd(ROBOTS_LIMIT_BYTES, 'a')
    answers['/robots.txt'] = { status: 302, location: '/r.txt' }
    answers['/r.txt'] = (res) => void res.setHeader('content-type', 'text/html').end(`${text}a`)
    assert.equal(await fetched(), text)
    const elsewhere = { status: 302, location: 'https://else.example/robots.txt' }
    for (const answer of [{ status: 404 }, { status: 403 }, elsewhere]) {
      answers['/robots.txt'] = answer
      assert.equal(await fetched(), '')
    }
  })

  it('rejects if the origin fails', async () => {
    for (const status of [500, 429]) {
      answers['/robots.txt'] = { status }
      await assert.rejects(fetched(), new RegExp(`the origin answered ${status}`))
    }
    answers['/robots.txt'] = (res) => void res.destroy()
    await assert.rejects(fetched())
  })
})

const NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
const document = (inside: string) => `<?xml version="1.0"?>\n<urlset ${NS}>${inside}</urlset>`

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
    location,
    changedAtMs: changed === null ? null : Date.parse(changed),
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
    'has comments, which name nothing and go': [
      '<!-- <url><loc>/no</loc></url> --><url><!--> <loc>/no</loc> --><loc>/a</loc></url><!---->',
      [entry('/a')],
      '<url><loc>/a</loc></url>',
    ],
    'may write the beginning of a comment in CDATA': [
      '<url><loc><![CDATA[/a<!--b]]></loc></url><url><loc>/c</loc></url>',
      [entry('/a<!--b'), entry('/c')],
    ],
    'has alternates, which are no entries and move too': [
      `<url><loc>/a</loc><xhtml:link rel="alternate" hreflang="de" href="http://old/de?a=1&amp;b"/><xhtml:link href='http://old/fr' hreflang='fr'/><xhtml:link href="https://fr.example/"/></url>`,
      [entry('/a')],
      `<url><loc>/a</loc><xhtml:link rel="alternate" hreflang="de" href="https://new/de?a=1&amp;b"/><xhtml:link href='https://new/fr' hreflang='fr'/><xhtml:link href="https://fr.example/"/></url>`,
    ],
    'keeps an entity that only a DTD explains': ['<url><loc>&host;/c</loc></url>', []],
  }
  for (const [name, [inside, entries, out = inside]] of Object.entries(cases)) {
    it(name, () => {
      const found = { entries, out: document(out), root: 'urlset' }
      for (const bytes of [1 << 16, 1]) assert.deepEqual(scan(document(inside), bytes), found)
    })
  }

  it('of text has an address a line, with any line ends', () => {
    const text = '\ufeffhttp://old/a\r\n\r\nhttps://b/$&\nhttp://old/c'
    const entries = [entry('http://old/a'), entry('https://b/$&'), entry('http://old/c')]
    const out = '\ufeffhttps://new/a\r\n\r\nhttps://b/$&\nhttps://new/c\n'
    for (const bytes of [1 << 16, 1]) assert.deepEqual(scan(text, bytes), { entries, out, root: 'text' })
  })

  it('a list of sitemaps is read as an index', () => {
    const xml = `<sitemapindex ${NS}><sitemap><loc>/s1.xml.gz</loc></sitemap></sitemapindex>`
    assert.deepEqual(scan(xml, 3), { entries: [entry('/s1.xml.gz')], root: 'sitemapindex', out: xml })
  })
})

describe('what is no sitemap', () => {
  const none: Record<string, string> = {
    nothing: '',
    'a text without addresses': 'User-agent: *\nDisallow:\n'.padEnd(20_000, '#'),
    'a text with a line without end': `https://a/${'a'.repeat(70_000)}`,
    'a comment without end': document('<!-- <url><loc>/a</loc></url>').replace('</urlset>', ''),
    'an application shell': '<!doctype html><html><body><div id="app"></div></body></html>',
    'much before any root': ' '.repeat(100_000),
    'one entry without end': document(`<url><loc>${'a'.repeat(ENTRY_LIMIT_CHARS)}`),
    'an element of nothing but spaces': document(`<url><loc>${' '.repeat(200_000)}`),
    'a tag without end': `<urlset ${'a'.repeat(70_000)}`,
    'many beginnings': document('<url><loc><![CDATA['.repeat(20_000)),
  }
  for (const [name, xml] of Object.entries(none)) {
    it(name, () => assert.throws(() => scan(xml, 1_000), NotASitemap))
  }

  it('an entry of the longest length is one, and a longer one is not', () => {
    const around = '<url><loc>/a</loc></url>'.length
    const entry = (chars: number) => `<url><loc>/a</loc>${' '.repeat(chars - around)}</url>`
    assert.equal(scan(document(entry(ENTRY_LIMIT_CHARS).repeat(2)), 1_000).entries.length, 2)
    // Noticed with the next piece.
    assert.throws(() => scan(document(entry(ENTRY_LIMIT_CHARS + 1_001)), 1_000), NotASitemap)
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

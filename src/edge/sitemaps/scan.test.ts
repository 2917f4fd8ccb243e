import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describe, it } from 'node:test'

import { NotASitemap, SITEMAP_LIMIT_BYTES, SitemapScanner } from './scan.ts'

const NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
const urlset = (inside: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<urlset ${NS}>${inside}</urlset>\n`

describe('the locations of a sitemap', () => {
  const cases: Record<string, { xml: string; out?: string; found: string[] }> = {
    'are found and rewritten': {
      xml: urlset('<url><loc>http://origin.example/a</loc><lastmod>2026-01-01</lastmod></url>'),
      out: urlset('<url><loc>https://red.example/a</loc><lastmod>2026-01-01</lastmod></url>'),
      found: ['http://origin.example/a'],
    },
    'of other hosts stay': {
      xml: urlset('<url><loc>https://else.example/a</loc></url>'),
      found: ['https://else.example/a'],
    },
    'are unescaped and escaped again': {
      xml: urlset('<url><loc>http://origin.example/a?x=1&amp;y=&#39;2&#x27;&lt;</loc></url>'),
      out: urlset('<url><loc>https://red.example/a?x=1&amp;y=&apos;2&apos;&lt;</loc></url>'),
      found: ["http://origin.example/a?x=1&y='2'<"],
    },
    'may stand in CDATA, and between spaces': {
      xml: urlset('<url><loc>\n <![CDATA[http://origin.example/a?x=1&y=2]]> </loc></url>'),
      out: urlset('<url><loc>\n https://red.example/a?x=1&amp;y=2 </loc></url>'),
      found: ['http://origin.example/a?x=1&y=2'],
    },
    'of images and videos are rewritten, but are no pages': {
      xml: urlset(
        '<url><loc>http://origin.example/a</loc><image:image><image:loc>http://origin.example/a.png</image:loc></image:image><video:content_loc>http://origin.example/a.mp4</video:content_loc></url>',
      ),
      out: urlset(
        '<url><loc>https://red.example/a</loc><image:image><image:loc>https://red.example/a.png</image:loc></image:image><video:content_loc>https://red.example/a.mp4</video:content_loc></url>',
      ),
      found: ['http://origin.example/a'],
    },
    'may have a prefix of their own': {
      xml: `<s:urlset xmlns:s="x"><s:url><s:loc>http://origin.example/a</s:loc></s:url></s:urlset>`,
      out: `<s:urlset xmlns:s="x"><s:url><s:loc>https://red.example/a</s:loc></s:url></s:urlset>`,
      found: ['http://origin.example/a'],
    },
    'with an entity that only a DTD explains stay as they are': {
      xml: `<!DOCTYPE x [<!ENTITY host "http://origin.example">]>${urlset('<url><loc>&host;/a</loc></url>')}`,
      found: [],
    },
    'may have letters of several bytes': {
      xml: urlset('<url><loc>http://origin.example/café/😀</loc></url>'),
      out: urlset('<url><loc>https://red.example/café/😀</loc></url>'),
      found: ['http://origin.example/café/😀'],
    },
  }
  for (const [name, { xml, out, found }] of Object.entries(cases)) {
    it(name, async () => {
      assert.deepEqual(await scan(xml), { out: out ?? xml, found, root: 'urlset' })
    })
    it(`${name}; cut into single bytes`, async () => {
      assert.deepEqual(await scan(xml, 1), { out: out ?? xml, found, root: 'urlset' })
    })
  }
})

it('tells an index from a sitemap', async () => {
  const xml = `<sitemapindex ${NS}><sitemap><loc>http://origin.example/s1.xml</loc></sitemap></sitemapindex>`
  assert.equal((await scan(xml, 7)).root, 'sitemapindex')
})

describe('what is no sitemap', () => {
  const cases: Record<string, string> = {
    'an application shell': '<!doctype html><html><body><div id="app"></div></body></html>',
    nothing: '',
    'a feed': '<rss version="2.0"><channel></channel></rss>',
    'an element of nothing but spaces': urlset(`<url><loc>${' '.repeat(200_000)}`),
    'many CDATA sections without end': urlset('<url><loc><![CDATA['.repeat(10_000)),
    'an element without end': urlset(`<url><loc>${'a'.repeat(70_000)}`),
    'a tag without end': `<urlset ${'a'.repeat(70_000)}`,
  }
  for (const [name, text] of Object.entries(cases)) {
    it(name, () => assert.rejects(scan(text, 1_000), NotASitemap))
  }

  it('one byte past 50 MiB', async () => {
    const frame = urlset('').length
    const ofSize = (bytes: number) => urlset(' '.repeat(bytes - frame))
    assert.equal((await scan(ofSize(SITEMAP_LIMIT_BYTES), 1 << 20)).out.length, SITEMAP_LIMIT_BYTES)
    await assert.rejects(scan(ofSize(SITEMAP_LIMIT_BYTES + 1), 1 << 20), NotASitemap)
  })
})

async function scan(xml: string, chunkBytes = 1 << 16) {
  const found: string[] = []
  const scanner = new SitemapScanner({
    found: (location) => void found.push(location),
    rewrite: (location) =>
      location.startsWith('http://origin.example/') ? location.replace('http://origin', 'https://red') : null,
  })
  const bytes = Buffer.from(xml)
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, at) =>
    bytes.subarray(at * chunkBytes, (at + 1) * chunkBytes),
  )
  const out: Buffer[] = []
  await pipeline(Readable.from(chunks), scanner, async (parts: AsyncIterable<Buffer>) => {
    for await (const part of parts) out.push(part)
  })
  return { out: Buffer.concat(out).toString(), found, root: scanner.root }
}

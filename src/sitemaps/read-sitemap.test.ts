import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import zlib from 'node:zlib'
import { startTestSite } from '../../test/support/site.ts'
import type { PagePath } from '../ids.ts'
import { type OwnEntry, readSitemap } from './read-sitemap.ts'
import { fetchRobots, ROBOTS_LIMIT_BYTES, readRobots } from './robots.ts'
import { NotASitemap } from './scanner.ts'

const test = await startTestSite()

after(() => test.close())
beforeEach(() => {
  for (const path of Object.keys(test.answers)) delete test.answers[path]
  test.asked.length = 0
})

const MAP = '/sitemap.xml' as PagePath
const urlset = (...addresses: string[]) =>
  `<urlset>${addresses.map((address) => `<url><loc>${address}</loc></url>`).join('')}</urlset>`

async function read(path = MAP, options: { limitBytes?: number; silenceMs?: number; query?: 'ignore' } = {}) {
  const batches: { kind: string; entries: readonly OwnEntry[] }[] = []
  const { query = 'keep' as const, ...rest } = options
  const site = { ...test.site, query }
  const take = async (entries: readonly OwnEntry[], kind: string) => batches.push({ kind, entries }) > 0
  await readSitemap({ ...test.options, ...rest }, site, path, AbortSignal.timeout(20_000), take)
  return { batches, paths: batches.flatMap(({ entries }) => entries.map((entry) => entry.path)) }
}

describe('the entries of a sitemap', () => {
  it("are the site's own, under its name or its origin's, as they are stored; those of other hosts are left out", async () => {
    test.answers[MAP] = urlset(
      'https://red.example/a?b=1&amp;a=2',
      `${test.origin}/b?utm_source=x`,
      '/c',
      'https://else.example/d',
    )
    const { paths, batches } = await read()
    assert.deepEqual(paths, ['/a?a=2&b=1', '/b', '/c'])
    assert.equal(batches[0]?.kind, 'pages')
    assert.match(test.lastHeaders['user-agent'] ?? '', /^Prepaint\//)
    assert.equal(test.lastHeaders['x-forwarded-host'], 'red.example')
    assert.deepEqual((await read(MAP, { query: 'ignore' })).paths, ['/a', '/b', '/c'])
  })

  it('a gzip file, a gzip encoding, and both', async () => {
    const packed = zlib.gzipSync(urlset('/a'))
    test.answers['/file.xml.gz'] = packed
    test.answers['/encoded'] = (res) => res.setHeader('content-encoding', 'gzip').end(packed)
    test.answers['/both'] = (res) => res.setHeader('content-encoding', 'gzip').end(zlib.gzipSync(packed))
    for (const path of ['/file.xml.gz', '/encoded', '/both']) {
      assert.deepEqual((await read(path as PagePath)).paths, ['/a'], path)
    }
  })

  it('redirects inside the site are followed, no more than five; elsewhere none is', async () => {
    test.answers[MAP] = { status: 301, location: '/index.xml' }
    test.answers['/index.xml'] = { status: 302, location: 'https://red.example/last.xml' }
    test.answers['/last.xml'] = '<sitemapindex><sitemap><loc>/s1.xml</loc></sitemap></sitemapindex>'
    const { batches } = await read()
    assert.deepEqual(batches, [{ kind: 'sitemaps', entries: [{ path: '/s1.xml', changedAtMs: null }] }])
    test.answers[MAP] = { status: 302, location: 'https://else.example/last.xml' }
    await assert.rejects(read(), { name: 'NotASitemap', message: 'the origin answered 302' })
    test.answers[MAP] = { status: 302, location: MAP }
    test.asked.length = 0
    await assert.rejects(read(), NotASitemap)
    assert.equal(test.asked.length, 6)
  })
})

describe('a sitemap of hundreds of thousands of entries', () => {
  // Proves decided "Warm"
  it('is read as it streams: the first batch is taken before the origin has sent the last, and none is larger than 1,000', async () => {
    const taken = Promise.withResolvers<void>()
    const step = (from: number, count: number) =>
      Array.from({ length: count }, (_, n) => `<url><loc>/p${from + n}</loc></url>`).join('')
    test.answers[MAP] = async (res) => {
      res.setHeader('content-encoding', 'gzip')
      const gzip = zlib.createGzip({ level: 1 })
      gzip.pipe(res)
      gzip.write(`<urlset>${step(0, 100_000)}`)
      gzip.flush()
      await taken.promise
      for (let from = 100_000; from < 300_000; from += 10_000) gzip.write(step(from, 10_000))
      gzip.end('</urlset>')
    }
    const sizes: number[] = []
    await readSitemap(test.options, test.site, MAP, AbortSignal.timeout(60_000), async (entries) => {
      taken.resolve()
      return sizes.push(entries.length) > 0
    })
    assert.deepEqual(sizes, Array(300).fill(1_000))
  })

  it('the origin waits while a batch is taken, which may be the last', async () => {
    let isDone = false
    test.answers[MAP] = (res) => {
      // Far more than what sockets hold.
      res.end(`<urlset>${'<url><loc>/a</loc></url>'.repeat(1_000_000)}</urlset>`, () => {
        isDone = true
      })
    }
    // `false` is enough: the rest is not read.
    await readSitemap(test.options, test.site, MAP, AbortSignal.timeout(60_000), async () => false)
    assert.equal(isDone, false)
  })

  it('up to its bytes, and not one more', async () => {
    const body = urlset('/a')
    test.answers[MAP] = zlib.gzipSync(body)
    assert.deepEqual((await read(MAP, { limitBytes: body.length })).paths, ['/a'])
    await assert.rejects(read(MAP, { limitBytes: body.length - 1 }), /larger than/)
  })
})

describe('what cannot be read', () => {
  it('is said', async () => {
    await assert.rejects(read('/none.xml' as PagePath), /the origin answered 404/)
    test.answers[MAP] = Buffer.concat([zlib.gzipSync(urlset('/a')).subarray(0, 20)])
    await assert.rejects(read())
    test.answers[MAP] = (res) => {
      res.write('<urlset><url>')
      setImmediate(() => res.destroy())
    }
    await assert.rejects(read())
  })

  it('a silent origin', async () => {
    test.answers[MAP] = () => {}
    await assert.rejects(read(MAP, { silenceMs: 30 }), /silent/)
  })
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

  it('is fetched, also by a redirect and of any type; empty where there is none', async () => {
    const text = '<!doctype html>\nUser-agent: *\nDisallow: /a'
    test.answers['/robots.txt'] = { status: 302, location: '/r.txt' }
    test.answers['/r.txt'] = (res) => void res.setHeader('content-type', 'text/html').end(text)
    assert.equal(await fetched(), text)
    assert.deepEqual(allowed(text, '/a', '/b'), ['/b'])
    const elsewhere = { status: 302, location: 'https://else.example/robots.txt' }
    for (const answer of [{ status: 404 }, { status: 403 }, elsewhere]) {
      test.answers['/robots.txt'] = answer
      assert.equal(await fetched(), '')
    }
  })

  it('is not known where the origin fails', async () => {
    for (const status of [500, 429]) {
      test.answers['/robots.txt'] = { status }
      await assert.rejects(fetched(), new RegExp(`the origin answered ${status}`))
    }
    test.answers['/robots.txt'] = (res) => void res.destroy()
    await assert.rejects(fetched())
  })

  it('is read to its limit and no further', async () => {
    test.answers['/robots.txt'] = 'a'.repeat(ROBOTS_LIMIT_BYTES + 1)
    assert.equal((await fetched()).length, ROBOTS_LIMIT_BYTES)
  })
})

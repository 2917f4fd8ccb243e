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

async function read(path = MAP, options: { limitBytes?: number; query?: 'ignore' } = {}) {
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
      'https://red.example.else.example/e',
      'ftp://red.example/f',
      'https://red.example:8443/g',
      'javascript:alert(1)',
    )
    const { paths, batches } = await read()
    assert.deepEqual(paths, ['/a?a=2&b=1', '/b', '/c'])
    assert.equal(batches[0]?.kind, 'pages')
    assert.match(test.lastHeaders['user-agent'] ?? '', /^Prepaint\//)
    assert.equal(test.lastHeaders['x-forwarded-host'], 'red.example')
    assert.deepEqual((await read(MAP, { query: 'ignore' })).paths, ['/a', '/b', '/c'])
  })

  it('of an index are sitemaps', async () => {
    test.answers[MAP] = '<sitemapindex><sitemap><loc>/s1.xml</loc></sitemap></sitemapindex>'
    const { batches } = await read()
    assert.deepEqual(batches, [{ kind: 'sitemaps', entries: [{ path: '/s1.xml', changedAtMs: null }] }])
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
    test.answers['/last.xml'] = urlset('/a')
    assert.deepEqual((await read()).paths, ['/a'])
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
    let count = 0
    let largest = 0
    await readSitemap(test.options, test.site, MAP, AbortSignal.timeout(60_000), async (entries) => {
      taken.resolve()
      count += entries.length
      largest = Math.max(largest, entries.length)
      return true
    })
    assert.deepEqual([count, largest], [300_000, 1_000])
  })

  it('the origin waits while a batch is taken', async () => {
    let isDone = false
    test.answers[MAP] = (res) => {
      // Far more than what sockets hold.
      res.end(`<urlset>${'<url><loc>/a</loc></url>'.repeat(1_000_000)}</urlset>`, () => {
        isDone = true
      })
    }
    const end = Promise.withResolvers<boolean>()
    const begun = Promise.withResolvers<void>()
    const take = () => {
      begun.resolve()
      return end.promise
    }
    const reading = readSitemap(test.options, test.site, MAP, AbortSignal.timeout(60_000), take)
    await begun.promise
    assert.equal(isDone, false)
    end.resolve(false)
    // And `false` is enough: the rest is not read.
    await reading
    assert.equal(isDone, false)
  })

  it('up to its bytes, and not one more', async () => {
    const body = urlset('/a')
    test.answers[MAP] = body
    assert.deepEqual((await read(MAP, { limitBytes: body.length })).paths, ['/a'])
    await assert.rejects(read(MAP, { limitBytes: body.length - 1 }), /larger than/)
    test.answers[MAP] = zlib.gzipSync(urlset('/a').padEnd(5_000_000))
    await assert.rejects(read(MAP, { limitBytes: 1_000_000 }), /larger than/)
  })
})

describe('what cannot be read', () => {
  it('is said', async () => {
    await assert.rejects(read('/none.xml' as PagePath), /the origin answered 404/)
    test.answers[MAP] = '<!doctype html><div id="app"></div>'
    await assert.rejects(read(), /no urlset or sitemapindex/)
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
    const signal = AbortSignal.timeout(20_000)
    await assert.rejects(
      readSitemap({ ...test.options, silenceMs: 30 }, test.site, MAP, signal, async () => true),
      /silent/,
    )
  })
})

describe('robots.txt', async () => {
  after(() => test.close())

  const allowed = (text: string, ...paths: string[]) => {
    const robots = readRobots(text, test.site)
    return paths.filter((path) => robots.allows(path as PagePath))
  }
  const fetched = async () => (await fetchRobots(test.options, test.site, AbortSignal.timeout(10_000))).text

  describe('what robots.txt allows', () => {
    const all = ['/', '/a', '/a/b', '/c?x=1']
    it('our own group counts alone, in any case; else that for all', () => {
      const text = 'User-agent: *\nDisallow: /a\n\nUser-agent: Googlebot\nDisallow: /'
      assert.deepEqual(allowed(text, ...all), ['/', '/c?x=1'])
      assert.deepEqual(allowed(`${text}\n\nUser-agent: PREPAINT\nDisallow: /c`, ...all), ['/', '/a', '/a/b'])
    })

    it("names the site's own sitemaps, each once", () => {
      const text = `Sitemap: ${test.origin}/one.xml\nsitemap:/two\nSitemap: https://else.example/x\nSitemap: https://red.example/one.xml # here`
      assert.deepEqual(readRobots(text, test.site).sitemaps, ['/one.xml', '/two'])
    })
  })

  describe('fetching it', () => {
    it('gives its text; none where there is none', async () => {
      test.answers['/robots.txt'] = 'User-agent: *'
      assert.equal(await fetched(), 'User-agent: *')
      const elsewhere = { status: 302, location: 'https://else.example/robots.txt' }
      for (const answer of [{ status: 404 }, { status: 403 }, { status: 410 }, elsewhere]) {
        test.answers['/robots.txt'] = answer
        assert.equal(await fetched(), '')
      }
      test.answers['/robots.txt'] = { status: 302, location: '/r.txt' }
      test.answers['/r.txt'] = 'Disallow:'
      assert.equal(await fetched(), 'Disallow:')
    })

    it('rejects where it cannot be known', async () => {
      for (const status of [500, 503, 429]) {
        test.answers['/robots.txt'] = { status }
        await assert.rejects(fetched(), new RegExp(`the origin answered ${status}`))
      }
      test.answers['/robots.txt'] = (res) => void res.destroy()
      await assert.rejects(fetched())
    })

    it('gives what is said to be a page too: where it has rules, they are obeyed', async () => {
      const text = '<!doctype html>\nUser-agent: *\nDisallow: /a'
      test.answers['/robots.txt'] = (res) => void res.setHeader('content-type', 'text/html').end(text)
      assert.equal(await fetched(), text)
      assert.deepEqual(allowed(text, '/a', '/b'), ['/b'])
    })

    it('reads so much of it and no more', async () => {
      test.answers['/robots.txt'] = 'a'.repeat(ROBOTS_LIMIT_BYTES + 1)
      assert.equal((await fetched()).length, ROBOTS_LIMIT_BYTES)
    })
  })
})

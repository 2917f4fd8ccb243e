import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import zlib from 'node:zlib'
import { startTestSite } from '../../test/support/site.ts'
import type { PagePath } from '../ids.ts'
import { type OwnEntry, readSitemap } from './read-sitemap.ts'
import { fetchRobots, ROBOTS_LIMIT_BYTES, readRobots } from './robots.ts'
import { NotASitemap } from './scanner.ts'

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

  it('the origin waits while a batch is taken, which may be the last', async () => {
    let isDone = false
    answers[MAP] = (res) => {
      // Far more than what sockets hold.
      res.end(`<urlset>${'<url><loc>/a</loc></url>'.repeat(1_000_000)}</urlset>`, () => {
        isDone = true
      })
    }
    // `false` is enough: the rest is not read.
    await readAll(async () => false)
    assert.equal(isDone, false)
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

  it('is not known where the origin fails', async () => {
    for (const status of [500, 429]) {
      answers['/robots.txt'] = { status }
      await assert.rejects(fetched(), new RegExp(`the origin answered ${status}`))
    }
    answers['/robots.txt'] = (res) => void res.destroy()
    await assert.rejects(fetched())
  })
})

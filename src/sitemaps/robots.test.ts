import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { startTestSite } from '../../test/support/site.ts'
import type { PagePath } from '../ids.ts'
import { fetchRobots, ROBOTS_LIMIT_BYTES, readRobots } from './robots.ts'

const test = await startTestSite()
after(() => test.close())

const allowed = (text: string, ...paths: string[]) => {
  const robots = readRobots(text, test.site)
  return paths.filter((path) => robots.allows(path as PagePath))
}
const fetched = async () => (await fetchRobots(test.options, test.site, AbortSignal.timeout(10_000))).text

describe('what robots.txt allows', () => {
  const all = ['/', '/a', '/a/b', '/c?x=1']
  const cases: [name: string, text: string, allowed: string[]][] = [
    ['nothing said: everything', '', all],
    ['everybody is refused something', 'User-agent: *\nDisallow: /a', ['/', '/c?x=1']],
    ['what is longer wins', 'User-agent: *\nDisallow: /a\nAllow: /a/b', ['/', '/a/b', '/c?x=1']],
    [
      'our own group counts alone, in any case',
      'User-agent: *\nDisallow: /\n\nUser-agent: PREPAINT\nDisallow: /c',
      ['/', '/a', '/a/b'],
    ],
    ["another's group is not ours", 'User-agent: Googlebot\nDisallow: /', all],
    ['wildcards and ends', 'User-agent: *\nDisallow: /*?x=\nDisallow: /a$', ['/', '/a/b']],
    ['a page of an application is no robots.txt', '<!doctype html><body><div id="app"></div></body>', all],
  ]
  for (const [name, text, expected] of cases)
    it(name, () => assert.deepEqual(allowed(text, ...all), expected))

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

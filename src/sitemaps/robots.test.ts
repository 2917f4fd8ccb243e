import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startTestSite, type TestSite } from '../../test/support/site.ts'
import type { PagePath } from '../ids.ts'
import { fetchRobots, ROBOTS_LIMIT_BYTES, readRobots } from './robots.ts'

let test: TestSite
before(async () => {
  test = await startTestSite()
})
after(() => test.close())

const allowed = (text: string, ...paths: string[]) => {
  const robots = readRobots(text, test.site)
  return paths.filter((path) => robots.allows(path as PagePath))
}
const fetched = () => fetchRobots(test.options, test.site, AbortSignal.timeout(10_000))

describe('what robots.txt allows', () => {
  const all = ['/', '/a', '/a/b', '/c?x=1']
  const cases: Record<string, { text: string; allowed: string[] }> = {
    'nothing said: everything': { text: '', allowed: all },
    'everybody is refused something': { text: 'User-agent: *\nDisallow: /a', allowed: ['/', '/c?x=1'] },
    'what is longer wins': {
      text: 'User-agent: *\nDisallow: /a\nAllow: /a/b',
      allowed: ['/', '/a/b', '/c?x=1'],
    },
    'our own group counts alone, in any case': {
      text: 'User-agent: *\nDisallow: /\n\nUser-agent: PREPAINT\nDisallow: /c',
      allowed: ['/', '/a', '/a/b'],
    },
    "another's group is not ours": { text: 'User-agent: Googlebot\nDisallow: /', allowed: all },
    'wildcards and ends': {
      text: 'User-agent: *\nDisallow: /*?x=\nDisallow: /a$',
      allowed: ['/', '/a/b'],
    },
    'a page of an application is no robots.txt': {
      text: '<!doctype html><html><body><div id="app"></div></body></html>',
      allowed: all,
    },
  }
  for (const [name, { text, allowed: expected }] of Object.entries(cases)) {
    it(name, () => assert.deepEqual(allowed(text, ...all), expected))
  }

  it("names the site's own sitemaps, each once", () => {
    const text = `Sitemap: ${test.origin}/one.xml\nsitemap:/two\nSitemap: https://else.example/x\nSitemap: https://red.example/one.xml # here`
    assert.deepEqual(readRobots(text, test.site).sitemaps, ['/one.xml', '/two'])
  })
})

describe('fetching it', () => {
  it('gives its text; none where there is none', async () => {
    test.answers['/robots.txt'] = 'User-agent: *'
    assert.equal(await fetched(), 'User-agent: *')
    for (const status of [404, 403, 410]) {
      test.answers['/robots.txt'] = { status }
      assert.equal(await fetched(), '')
    }
    test.answers['/robots.txt'] = { status: 302, location: 'https://else.example/robots.txt' }
    assert.equal(await fetched(), '')
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

  it('reads so much of it and no more', async () => {
    test.answers['/robots.txt'] = 'a'.repeat(ROBOTS_LIMIT_BYTES + 1)
    assert.equal((await fetched()).length, ROBOTS_LIMIT_BYTES)
  })
})

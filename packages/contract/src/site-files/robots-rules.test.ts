import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { agentToken, judgePath, parseRobots } from './robots-rules.ts'

const judged = (text: string, path: string, token = 'examplebot') =>
  judgePath(parseRobots(text), [token, '*'], path)
const allows = (rules: string, path: string) => judged(`User-agent: *\n${rules}`, path).allowed

describe('paths and rules', () => {
  it('RFC 9309, section 2.2.2: encoded paths, and characters that mean something', () => {
    const encoded: [rule: string, path: string][] = [
      ['/foo/bar?baz=quz', '/foo/bar?baz=quz'],
      ['/foo/bar?baz=https://foo.bar', '/foo/bar?baz=https%3A%2F%2Ffoo.bar'],
      ['/foo/bar?baz=https%3a%2F%2Ffoo.bar', '/foo/bar?baz=https://foo.bar'],
      ['/foo/bar?baz=http%3A%2F%2Ffoo.bar', '/foo/bar?baz=http%3a%2f%2ffoo.bar'],
      ['/foo/bar/U+E38384', '/foo/bar/U+E38384'],
      ['/foo/bar/ツ', '/foo/bar/%E3%83%84'],
      ['/foo/bar/%E3%83%84', '/foo/bar/ツ'],
      ['/foo/bar/%62%61%7A', '/foo/bar/baz'],
      ['/*baz=https%3A%2F%2Ffoo.bar', '/foo/bar?baz=https%3A%2F%2Ffoo.bar'],
      ['/path/file-with-a-%2A.html', '/path/file-with-a-*.html'],
      ['/path/foo-%24', '/path/foo-$'],
    ]
    for (const [rule, path] of encoded) assert.equal(allows(`Disallow: ${rule}`, path), false, rule)
    assert.equal(allows('Disallow: /foo%2Fbar', '/foo/bar'), true, 'an encoded reserved one is another')
  })

  // developers.google.com/search/docs/crawling-indexing/robots/robots_txt, "URL matching based on path values".
  const FISH = ['/fish', '/fish.html', '/fish/salmon.html', '/fishheads', '/fish.php?id=anything']
  const NO_FISH = ['/Fish.asp', '/catfish', '/?id=fish', '/desert/fish']
  const IN_FISH = ['/fish/', '/fish/?id=anything', '/fish/salmon.htm']
  const PHP = ['/index.php', '/folder/filename.php?parameters', '/folder/any.php.file.html', '/filename.php/']
  const google: [rule: string, matches: string[], others: string[]][] = [
    ['/', ['/', '/any'], []],
    ['/*', ['/', '/any'], []],
    ['/$', ['/'], ['/any']],
    ['/fish', FISH, NO_FISH],
    ['/fish*', FISH, NO_FISH],
    ['/fish/', IN_FISH, ['/fish', '/fish.html', '/animals/fish/', '/Fish/Salmon.asp']],
    ['/*.php', PHP, ['/', '/windows.PHP']],
    ['/*.php$', ['/filename.php', '/folder/filename.php'], [...PHP.slice(1), '/filename.php5']],
    ['/fish*.php', ['/fish.php', '/fishheads/catfish.php?parameters'], ['/Fish.PHP']],
  ]
  for (const [rule, matches, others] of google) {
    it(`Google: ${rule}`, () => {
      for (const path of matches) assert(!allows(`Disallow: ${rule}`, path), path)
      for (const path of others) assert(allows(`Disallow: ${rule}`, path), path)
    })
  }

  it('Google, "Order of precedence for rules": the longest decides, then the least restrictive', () => {
    const precedence: [path: string, rules: string, decides: string][] = [
      ['/page', 'Allow: /p\nDisallow: /', 'Allow: /p'],
      ['/folder/page', 'Allow: /folder\nDisallow: /folder', 'Allow: /folder'],
      ['/folder/page', 'Disallow: /folder\nAllow: /folder', 'Allow: /folder'],
      ['/page.htm', 'Allow: /page\nDisallow: /*.htm', 'Disallow: /*.htm'],
      ['/page.php5', 'Allow: /page\nDisallow: /*.ph', 'Allow: /page'],
      ['/', 'Allow: /$\nDisallow: /', 'Allow: /$'],
      ['/page.htm', 'Allow: /$\nDisallow: /', 'Disallow: /'],
    ]
    for (const [path, rules, decides] of precedence) {
      const { allowed, rule } = judged(`User-agent: *\n${rules}`, path)
      assert.deepEqual([rule, allowed], [decides, decides.startsWith('Allow')])
    }
  })

  it('pieces never overlap, and $ is meant only at the end', () => {
    assert.equal(allows('Disallow: /a*ab$', '/ab'), true)
    assert.equal(allows('Disallow: /a*ab$', '/aab'), false)
    assert.equal(allows('Disallow: /a$b', '/a$b'), false)
    assert.equal(allows('Disallow: /a$b', '/a'), true)
  })

  it('takes time in proportion: 26,000 rules with wildcards, and one of 500,000 characters', () => {
    assert.equal(allows('Disallow: *a*a*a*b\n'.repeat(26_000), `/${'a'.repeat(2_000)}`), true)
    assert.equal(allows(`Disallow: /${'*a'.repeat(250_000)}`, `/${'a'.repeat(2_000)}`), true)
  })
})

describe('groups', () => {
  it('RFC 9309, section 5.1: a crawler has its own, or that for all', () => {
    const simple = `User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot

EOF`
    const rows: [token: string, path: string, allowed: boolean][] = [
      ['otherbot', '/a.gif', false],
      ['otherbot', '/a.gif?x', true],
      ['otherbot', '/example/x', false],
      ['otherbot', '/publications/', true],
      ['foobot', '/x', false],
      ['foobot', '/example/page.html', true],
      ['barbot', '/example/page.html', false],
      ['bazbot', '/example/page.html', false],
      ['barbot', '/example/x', true],
      ['quxbot', '/a.gif', true],
    ]
    for (const [token, path, allowed] of rows)
      assert.equal(judged(simple, path, token).allowed, allowed, `${token} ${path}`)
  })

  it('Google: groups of one crawler count together, and other lines end no list of user agents', () => {
    const both = 'user-agent: a\nsitemap: https://x.example/s.xml\n\nuser-agent: b\ndisallow: /c'
    const text = `${both}\n\nuser-agent: a\ndisallow: /d`
    assert.equal(judged(text, '/c', 'a').allowed, false)
    assert.equal(judged(text, '/d', 'a').allowed, false)
    assert.equal(judged(text, '/d', 'b').allowed, true)
    assert.deepEqual(parseRobots(text).sitemaps, ['https://x.example/s.xml'])
  })

  it('Google: versions and stars behind a name say nothing', () => {
    for (const value of ['Googlebot/1.2', 'googlebot*', 'GOOGLEBOT'])
      assert.equal(agentToken(value), 'googlebot')
    assert.equal(agentToken('* everybody'), '*')
  })

  it('name the line that decided, in any line ending, behind a byte order mark; none for /robots.txt', () => {
    const text = '\ufeff# a\r\nUser-agent: *\rDisallow: /x # why\nAllow: /'
    assert.deepEqual(judged(text, '/xy'), { allowed: false, line: 3, rule: 'Disallow: /x # why' })
    const free = { allowed: true, line: null, rule: null }
    assert.deepEqual(judged('User-agent: *\nDisallow:', '/'), free)
    assert.deepEqual(judged('User-agent: *\nDisallow: /', '/robots.txt'), free)
  })
})

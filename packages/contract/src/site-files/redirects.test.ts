import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { redirectsCsv } from './redirect-csv.ts'
import { checkRedirects } from './redirect-list.ts'
import { barePath, locationOf, type Redirect, RedirectMap } from './redirects.ts'

const SITE = { name: 'red.example', indexnowKey: '0'.repeat(32) }
const KEY_FILE = `/${SITE.indexnowKey}.txt`
const to = (from: string, to: string | null, status: Redirect['status'] = 301) => ({ from, to, status })

function answer(list: readonly Redirect[], url: string): string | number | null {
  const found = new RedirectMap(list).find(barePath(url) ?? '')
  return found === null ? null : (locationOf(found, url) ?? found.status)
}

describe('a redirect', () => {
  it('leads where its list says, exact ones first', () => {
    const list = [
      to('/old', '/new'),
      to('/gone', null, 410),
      to('/shop/*', '/store/*'),
      to('/shop/sale/*', 'https://sale.example/*'),
      to('/shop/sale/today', '/today?x=1#top'),
      to('/a b/ä', '/ä'),
      to('/blog*', '/news'),
      to('/up/*', '/*'),
      to('/mark', '/here#a?b'),
      to('/port', 'https://bücher.example:80/'),
    ]
    const asked: Record<string, string | number | null> = {
      '/old': '/new',
      '/old?b=2&a=1': '/new?b=2&a=1',
      '/old/': null,
      '/%6FLD': null,
      '/%6fld': '/new',
      '/gone': 410,
      '/shop/': '/store/',
      '/shop': null,
      '/shop/a/b?c': '/store/a/b?c',
      '/shop/sale/x%2Fy': 'https://sale.example/x%2Fy',
      '/shop/sale/today?q': '/today?x=1#top',
      '/a%20b/%c3%a4': '/%C3%A4',
      '/blogs/1': '/news',
      '/up//evil.example/x': '/evil.example/x',
      '/up/%5cevil.example': '/evil.example',
      '/mark?q=1': '/here?q=1#a?b',
      '/port': 'https://xn--bcher-kva.example:80/',
    }
    for (const [url, location] of Object.entries(asked)) assert.equal(answer(list, url), location, url)
  })

  it('never covers what machines ask for by name, also not with *', () => {
    const all = [to('/*', '/')]
    for (const path of ['/robots.txt', '/.well-known/x']) assert.equal(answer(all, path), null)
    assert.equal(answer(all, '/x'), '/')
  })

  it('is found among nested and neighbouring wildcards, the longest first', () => {
    const nested = ['/a', '/a/b', '/a/b/c', '/a/c', '/b'].map((path) => to(`${path}*`, path))
    const found = ['/a/b/cx', '/a/bz', '/a/zz', '/az', '/bz', '/c'].map((url) => answer(nested, url))
    assert.deepEqual(found, ['/a/b/c', '/a/b', '/a', '/a', '/b', null])
  })
})

describe('a list of redirects', () => {
  it('is refused for any entry that is wrong, and its line is named', () => {
    const x = (from: unknown, to: unknown) => ({ from, to })
    const refusals: [entry: unknown, error: RegExp][] = [
      [7, /^from is required/],
      [{ to: '/x' }, /^from is required/],
      [x('https://a.example/x', '/y'), /begins with one \//],
      [x('//x', '/y'), /begins with one \//],
      [x('/x?y', '/y'), /must not contain \?/],
      [x('/x*y', '/y'), /\* only at its end/],
      [x(`/${'x'.repeat(2_048)}`, '/y'), /from must have at most 2048/],
      [x('/robots.txt', '/y'), /never redirected/],
      [x(KEY_FILE, '/y'), /never redirected/],
      [{ ...x('/x', '/y'), status: '301' }, /^status must be 301/],
      [{ from: '/x' }, /^to is required/],
      [{ ...x('/x', '/y'), status: 410 }, /must be empty with status 410/],
      [x('/x', '//evil.example'), /to must be a path/],
      [x('/x', '/\\evil.example'), /to must be a path/],
      [x('/x', 'javascript:alert(1)'), /to must be a path/],
      [x('/x', 'https://u@a.example/'), /no valid host/],
      [x('/x', 'https://a.example\\b.example/'), /no valid host/],
      [x('/x', 'https:///evil.example'), /no valid host/],
      [x('/x/*', 'https://*.example/'), /no valid host/],
      [x('/x', '/a\r\nSet-Cookie: x'), /spaces or control/],
      [x('/x/*', '/*/*'), /\* once/],
      [x('/x', '/*'), /only if from does/],
      [x('/x', '/x?y=1'), /leads back to itself/],
      [x('/x', 'http://red.example/x'), /leads back to itself/],
      [x('/x', 'https://red.example./x'), /leads back to itself/],
      [x('/x*', '/x/y*'), /leads back to itself/],
    ]
    for (const [entry, error] of refusals) {
      const checked = checkRedirects({ redirects: [{ from: '/fine', to: '/ok' }, entry] }, SITE)
      const what = JSON.stringify(entry).slice(0, 100)
      assert(!checked.ok, what)
      assert.match(checked.lines[0]!.error, error, what)
      assert.equal(checked.lines[0]!.line, 2)
      assert.equal(checked.error, `Line 2: ${checked.lines[0]!.error}`)
    }
  })

  const linesOf = (list: string | object) => {
    const checked = checkRedirects(list, SITE)
    return checked.ok ? [] : checked.lines.map(({ line }) => line)
  }

  it('refuses loops of several entries, chains of two exact ones, and duplicates; names the first 100', () => {
    const errors = (...redirects: object[]) => linesOf({ redirects })
    assert.equal(errors(...Array.from({ length: 101 }, () => ({}))).length, 100)
    assert.deepEqual(errors(to('/a', '/b/x'), to('/b/*', '/c/*'), to('/c/x', '/a')), [1, 2, 3])
    assert.deepEqual(errors(to('/a', '/b'), to('/b', '/c')), [1])
    assert.deepEqual(errors(to('/a', '/a?x'), {}, to('/b', '/b?x')), [1, 2, 3], 'loops beside other errors')
    assert.deepEqual(errors(to('/a', 'https://red.example/b'), to('/b', null, 410)), [1])
    assert.deepEqual(errors(to('/a', '/c'), to('/%61', '/d')), [2])
    assert.deepEqual(errors(to('/a/*', '/b'), to('/b', '/c')), [], 'a wildcard may lead into another entry')
    assert.deepEqual(errors(to('/a', 'https://blue.example/a'), to('/a*', '/b')), [])
    assert.deepEqual(errors(to('/a/', '/b'), to('/a/x', '/c'), to('/a/*', '/a/q*')), [3], 'for other texts')
    assert.deepEqual(errors(to('/a/', '/b'), to('/a/*', '/a/')), [], 'it ends at once')
  })

  it('accepts 10,000 entries and refuses one more', () => {
    const many = Array.from({ length: 10_001 }, (_, n) => to(`/a${n}`, '/b'))
    assert(checkRedirects({ redirects: many.slice(1) }, SITE).ok)
    const whole = (message: string) => {
      const problems = [{ path: ['redirects'], message }]
      return { ok: false, error: `redirects ${message}`, lines: [], problems }
    }
    assert.deepEqual(checkRedirects({ redirects: many }, SITE), whole('has more than 10000 entries'))
    assert.deepEqual(checkRedirects({}, SITE), whole('is required'))
  })

  it('comes and goes as CSV: any order of columns, others ignored, empty lines, quotes, CRLF, a byte order mark', () => {
    const csv = '\ufeffnote,status,To,from\r\n"a, ""b""\nc",302,/x,/y\r\n\r\n,,/z,"/q,1"\n,410,,/gone'
    const redirects = [to('/y', '/x', 302), to('/q,1', '/z'), to('/gone', null, 410)]
    for (const list of [csv, redirectsCsv(redirects)]) {
      const checked = checkRedirects(list, SITE)
      assert(checked.ok, list)
      assert.deepEqual(checked.redirects, redirects)
    }
  })

  it('is refused with the line of the CSV file', () => {
    assert.deepEqual(linesOf('from,to,status\n\n"/a\n",/b,\n/c,/d,9x9\n'), [3, 5])
    assert.deepEqual(linesOf('to,status\n/a,301'), [1])
    assert.deepEqual(linesOf('from,to\n/a,"/b'), [2])
    assert.deepEqual(linesOf('from,to\n/a,"/b"x'), [2])
    assert.deepEqual(linesOf('from,to\n/a,/b'), [])
  })
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readPage } from '@prepaint/runtime/read-page.ts'
import { factsForSitemap } from './page-facts.ts'

const URL_OF = 'https://red.example/a?x=1'
const facts = (head: string, body: string, headers: [string, string][] = []) =>
  factsForSitemap(
    readPage(`<!doctype html><html><head>${head}</head><body>${body}</body></html>`, URL_OF),
    headers,
    { name: 'red.example', path: '/a?x=1', query: 'keep' },
  )

it('a sitemap lists what robots may index, and what is its own canonical', () => {
  const canonical = (href: string) => `<link rel="canonical" href="${href}">`
  const robots = (name: string, content: string) => `<meta name="${name}" content="${content}">`
  const other: [string, string] = ['link', '<https://red.example/b>; rel="canonical"']
  const rows: [isListed: boolean, head: string, ...headers: [string, string][]][] = [
    [true, '<title>a</title>'],
    [false, robots('robots', 'noindex, follow')],
    [false, robots('Robots', 'NONE')],
    [false, robots('robots', 'index') + robots('googlebot', 'noindex')],
    [false, '', ['x-robots-tag', 'nofollow, noindex']],
    [false, '', ['X-Robots-Tag', 'otherbot: nofollow, googlebot: noindex']],
    [true, '', ['x-robots-tag', 'otherbot: noindex, nofollow']],
    [true, '', ['x-robots-tag', 'unavailable_after: 25 Jun 2030 15:00:00 PST']],
    [true, canonical('http://red.example/a?utm_source=x&amp;x=1#top')],
    [false, canonical('/a')],
    [false, canonical('https://blue.example/a?x=1')],
    [false, '', other],
    [true, canonical('/a?x=1'), other],
    [true, '<link rel="canonical alternate" href="/a?x=1">', other],
    [false, '<link rel="canonical alternate" href="/b">'],
    [true, robots('bingbot', 'noindex')],
  ]
  for (const [isListed, head, ...headers] of rows)
    assert.equal(facts(head, '<p>text</p>', headers).isIndexable, isListed, `${head} ${headers}`)
})

it('a change is one of title, description or text', () => {
  const hash = (head: string, body: string) => facts(head, `<p${body}</p>`).textHash
  const before = hash('<title>a</title><script src="/app.1.js"></script>', ' class="x1">some  text')
  const same = hash('<title> a</title><script src="/app.2.js" nonce="n"></script>', ' class="y2">some\ntext')
  assert.equal(same, before)
  assert.notEqual(hash('<title>b</title>', '>some text'), before)
  assert.notEqual(hash('<title>a</title><meta name="description" content="d">', '>some text'), before)
  assert.notEqual(hash('<title>a</title>', '>other text'), before)
})

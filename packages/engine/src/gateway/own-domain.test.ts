/** What the browser is shown of the custom domain, when, and what it may keep of it. */
import assert from 'node:assert/strict'
import type http from 'node:http'
import { after, it } from 'node:test'
import { until } from '../../../../test/support/condition.ts'
import { startTestGateway } from '../../../../test/support/gateway.ts'
import { type DocumentJudge, DocumentWatch } from './document-watch.ts'
import { browserCacheControl, browserPolicy } from './own-domain.ts'

const DOCUMENT = { 'sec-fetch-dest': 'document' }

const usual: http.RequestListener = (request, response) => {
  response.writeHead(request.url === '/moved' ? 301 : 200, {
    location: 'http://127.0.0.1/there',
    'set-cookie': ['a=1', 'b=2'],
    'x-robots-tag': 'noindex',
  })
  response.end('of the origin')
}
let answer = usual
const { own, site } = await startTestGateway({ after }, { origin: (...asked) => answer(...asked) })

it('the first answer to a document is shown with the headers that the browser gets, and goes on as it is', async () => {
  const shown: Parameters<DocumentJudge>[] = []
  site.judgeNext((...told) => shown.push(told) > 0)
  for (const destination of ['script', 'iframe'])
    assert.equal((await own('/', { 'sec-fetch-dest': destination })).body, 'of the origin')
  assert.equal(shown.length, 0)

  const { status, body } = await own('/', DOCUMENT)
  assert.deepEqual([status, body], [200, 'of the origin'])
  const [told, headers] = shown[0]!
  assert.deepEqual([told, headers['set-cookie'], headers['x-robots-tag']], [200, ['a=1', 'b=2'], 'noindex'])
  assert.match(String(headers['content-security-policy']), /font-src/)
  await own('/', DOCUMENT)
  assert.equal(shown.length, 1)
})

it('of one that is refused the browser is told nothing but that there is nothing', async () => {
  site.judgeNext(() => false)
  const { status, headers, body } = await own('/moved', DOCUMENT)
  assert.deepEqual([status, body], [204, ''])
  for (const name of ['location', 'set-cookie', 'x-robots-tag']) assert.equal(headers[name], undefined)
  assert.equal((await own('/moved', DOCUMENT)).status, 301)
})

it('the answer to a request of the render before is not shown to the next one', () => {
  const watch = new DocumentWatch(() => {})
  const shown: string[] = []
  const judge = (name: string) => () => {
    shown.push(name)
    return false
  }
  watch.judgeNext(judge('first'))
  const late = watch.judgeOf('document', '/')
  watch.judgeNext(null)
  const unheard = watch.judgeOf('document', '/')
  watch.judgeNext(judge('second'))
  const timely = watch.judgeOf('document', '/')
  assert.equal(late?.(200, {}), true)
  assert.equal(unheard, undefined)
  assert.equal(timely?.(200, {}), false)
  assert.deepEqual(shown, ['second'])
})

it('an answer is delivered when its last byte has gone, not before', async () => {
  let finish = () => {}
  answer = (request, response) => {
    if (request.url === '/at-once') {
      response.end('all')
      return
    }
    response.write('half')
    finish = () => response.end()
  }
  const url = 'https://shop.example/slow?a=b'
  const slow = own('/slow?a=b')
  await until('it is asked for', () => !site.isDelivered(url))
  assert.equal(site.isDelivered(`${url}#part`), false)
  await own('/at-once')
  assert.equal(site.isDelivered(url), false)
  finish()
  assert.equal((await slow).body, 'half')
  await until('it is delivered', () => site.isDelivered(url))
  assert.equal(site.isDelivered('https://shop.example/at-once'), true)
  // Of other hosts, and of plain http, nothing is known.
  const others = ['https://other.example/x', 'http://shop.example/x', 'https://shop.example.evil.example/x']
  for (const other of others) assert.equal(site.isDelivered(other), false, other)
})

it('the browser keeps scripts and styles as the origin says, and nothing else', () => {
  const CACHE: [destination: string | undefined, cacheControl: string | undefined, kept: string][] = [
    ['document', 'max-age=3600', 'no-store'],
    [undefined, 'max-age=3600', 'no-store'],
    ['script', 'public, max-age=3600', 'public, max-age=3600'],
    ['script', 'no-store', 'no-store'],
    ['style', 'immutable', 'immutable'],
    ['script', 'public', 'no-cache'],
  ]
  for (const [destination, cacheControl, kept] of CACHE) {
    const found = browserCacheControl(destination, { cacheControl, expires: undefined })
    assert.equal(found, kept, `${destination} with ${cacheControl}`)
  }
  // A date of expiry is as good as an age.
  const expires = 'Thu, 01 Jan 2032 00:00:00 GMT'
  assert.equal(browserCacheControl('script', { cacheControl: undefined, expires }), undefined)
})

it('pages and frames get a policy of our own; all else is as the origin sent it', () => {
  for (const destination of ['document', 'iframe', 'frame']) {
    assert.match(browserPolicy(destination, undefined) ?? '', /^font-src data: blob:; media-src /)
    assert.match(browserPolicy(destination, "default-src 'self'") ?? '', /^default-src 'self', font-src /)
  }
  for (const destination of ['script', 'empty', 'font', undefined]) {
    assert.equal(browserPolicy(destination, undefined), undefined)
    assert.equal(browserPolicy(destination, "script-src 'none'"), "script-src 'none'")
  }
})

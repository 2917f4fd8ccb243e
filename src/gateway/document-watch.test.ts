/** Answers that are shown to whoever renders a page before the browser hears of them. */
import assert from 'node:assert/strict'
import type http from 'node:http'
import { it } from 'node:test'
import { startTestGateway } from '../../test/support/gateway.ts'
import { createDocumentWatch, type DocumentJudge } from './document-watch.ts'

const DOCUMENT = { 'sec-fetch-dest': 'document' }

const origin: http.RequestListener = (request, response) => {
  response.writeHead(request.url === '/moved' ? 301 : 200, {
    location: 'http://127.0.0.1/there',
    'set-cookie': ['a=1', 'b=2'],
    'x-robots-tag': 'noindex',
  })
  response.end('of the origin')
}

it('the first answer to a document is shown with the headers that the browser gets, and goes on as it is', async (t) => {
  const { own, site } = await startTestGateway(t, { origin })
  const shown: Parameters<DocumentJudge>[] = []
  site.judgeNext((...told) => shown.push(told) > 0)
  assert.equal((await own('/script', { 'sec-fetch-dest': 'script' })).body, 'of the origin')
  assert.equal((await own('/frame', { 'sec-fetch-dest': 'iframe' })).body, 'of the origin')
  assert.equal(shown.length, 0)

  const { status, body } = await own('/', DOCUMENT)
  assert.deepEqual([status, body], [200, 'of the origin'])
  assert.equal(shown[0]?.[0], 200)
  assert.deepEqual(shown[0]?.[1]['set-cookie'], ['a=1', 'b=2'])
  assert.equal(shown[0]?.[1]['x-robots-tag'], 'noindex')
  assert.match(String(shown[0]?.[1]['content-security-policy']), /font-src/)

  await own('/', DOCUMENT)
  assert.equal(shown.length, 1)
})

it('of one that is refused the browser is told nothing but that there is nothing', async (t) => {
  const { own, site } = await startTestGateway(t, { origin })
  site.judgeNext(() => false)
  const { status, headers, body } = await own('/moved', DOCUMENT)
  assert.deepEqual([status, body], [204, ''])
  for (const name of ['location', 'set-cookie', 'x-robots-tag']) assert.equal(headers[name], undefined)
  assert.equal((await own('/moved', DOCUMENT)).status, 301)
})

it('the answer to a request of the render before is not shown to the next one', () => {
  const watch = createDocumentWatch()
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

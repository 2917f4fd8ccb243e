/** What the answers to the main document's request decide: the first, and those of a page that loads itself again. */
import assert from 'node:assert/strict'
import type http from 'node:http'
import { describe, it } from 'node:test'
import { openRenderer, scripted } from '../../../test/support/renderer.ts'
import { ORIGIN_CACHE_CONTROL } from '../../outbound/headers.ts'
import { documentLinks, judgeMainResponse } from './main-document.ts'

const renderer = await openRenderer()

/** A page that loads itself again at once; `second` answers then. */
function reloaded(second: (response: http.ServerResponse) => void) {
  let loads = 0
  renderer.routes.set('/reloads', (_request, response) => {
    response.setHeader('content-type', 'text/html')
    if (++loads > 1) second(response)
    else response.setHeader('x-robots-tag', 'first').end(scripted(`show('first'); location.reload()`))
  })
  return renderer.page('/reloads')
}

describe('a page that loads itself again', () => {
  it('is what the second answer is: body, status and headers', async () => {
    const outcome = await reloaded((response) =>
      response.writeHead(404, { 'x-robots-tag': ['noindex', 'noarchive'] }).end(scripted(`show('second')`)),
    )
    assert(outcome.kind === 'rendered', JSON.stringify(outcome))
    assert.equal(outcome.status, 404)
    assert.match(outcome.html, /second/)
    assert.equal(new Map(outcome.headers).get('x-robots-tag'), 'noindex, noarchive')
  })

  it('is a redirect when the second answer is one', async () => {
    const moved = { location: '/there', 'cache-control': 'private' }
    assert.deepEqual(await reloaded((response) => response.writeHead(301, moved).end()), {
      ...{ kind: 'redirect', status: 301, location: 'https://shop.example/there', cacheControl: 'private' },
    })
  })
})

it('an answer that decides by itself is not parsed: nothing of it runs', async () => {
  renderer.routes.set('/broken', (_request, response) =>
    response.writeHead(500, { 'content-type': 'text/html' }).end('<script src="/never.js"></script>'),
  )
  assert.deepEqual(await renderer.page('/broken'), { kind: 'origin-error', status: 500 })
  await reloaded((response) => response.end('<p>second'))
  assert(!renderer.asked.includes('/never.js'))
})

const site = { customDomain: 'red.example', originUrl: 'http://o.example' }
const HTML = [{ name: 'Content-Type', value: 'text/html' }]
const judge = (status: number) => judgeMainResponse('https://red.example/', status, HTML, site)

it('a status that is about the moment and not about the page is nothing to keep', () => {
  for (const status of [408, 425, 429, 500, 503, 599])
    assert.deepEqual(judge(status), { kind: 'origin-error', status })
  for (const status of [200, 401, 403, 404, 410, 428, 430, 499])
    assert.equal(judge(status), null, `${status}`)
})

it('a redirect comes with what the origin says about keeping it', () => {
  const location = { name: 'Location', value: '/b' }
  const said = ['no-cache', 'no-store'].map((value) => ({ name: ORIGIN_CACHE_CONTROL, value }))
  const redirect = { kind: 'redirect', status: 302, location: 'https://red.example/b' }
  const judged = (headers: { name: string; value: string }[]) =>
    judgeMainResponse('https://red.example/a', 302, headers, site)
  assert.deepEqual(judged([location, { name: 'Cache-Control', value: 'no-store' }]), redirect)
  assert.deepEqual(judged([location, ...said]), { ...redirect, cacheControl: 'no-cache, no-store' })
})

describe('a header Link', () => {
  const rows: [what: string, value: string, kept?: string][] = [
    ['of the canonical address', '<https://a.example/x>; rel="canonical"'],
    ['without quotes, in any case', '</x>; REL=Canonical'],
    [
      'of other languages',
      '<https://a.example/de,at>; rel="alternate"; hreflang="de", </>; rel=alternate; hreflang=en',
    ],
    ['of scripts', '</a.js>; rel=preload; as=script, </b.js>; rel="modulepreload"', ''],
    // Proves decided "Headers of the origin"
    ['of both', '</a.css>; rel=preload; as=style, </x>; rel="canonical"', '</x>; rel="canonical"'],
    ['of several relations', '</x>; rel="nofollow next"'],
    ['whose second rel does not count', '</a.js>; rel=preload; rel=canonical', ''],
    ['with a title that holds one', '</a.js>; rel=preload; title="; rel=canonical"', ''],
    ['that is broken', '<<>;"', ''],
  ]
  for (const [what, value, kept = value] of rows) it(what, () => assert.equal(documentLinks(value), kept))
})

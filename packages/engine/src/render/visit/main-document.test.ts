/** What the answers to the main document's request decide: the first, and those of a page that loads itself again. */
import assert from 'node:assert/strict'
import type http from 'node:http'
import { describe, it } from 'node:test'
import { openRenderer, scripted } from '../../../../../test/support/renderer.ts'
import { documentLinks, judgeMainResponse, MainDocument } from './main-document.ts'

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
  for (const status of [401, 408, 425, 429, 500, 503, 599])
    assert.deepEqual(judge(status), { kind: 'origin-error', status })
  for (const status of [200, 400, 403, 404, 410, 428, 430, 499])
    assert.equal(judge(status), null, `${status}`)
})

it('the page has arrived when the main frame has it, not one below', async () => {
  const { listeners, arrived } = new MainDocument('main', { ...site, path: '/' }, { reached() {} }, () => {})
  const navigated = (id: string) =>
    listeners['Page.frameNavigated']?.({ frame: { id } as never, type: 'Navigation' })
  navigated('other')
  assert.equal(await Promise.race([arrived, 'not yet']), 'not yet')
  navigated('main')
  await arrived
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

describe('letters as bytes of UTF-8 in a header', () => {
  const bytes = (text: string) => Buffer.from(text).toString('latin1')

  it('of a redirect are percent-encoded once, wherever it leads', async () => {
    const rows: [location: string, seen: string][] = [
      ['/größe/a%C3%A9é', 'https://shop.example/gr%C3%B6%C3%9Fe/a%C3%A9%C3%A9'],
      ['https://shop.example/?ort=Łódź', 'https://shop.example/?ort=%C5%81%C3%B3d%C5%BA'],
      [`${renderer.originUrl}/水`, 'https://shop.example/%E6%B0%B4'],
      ['https://else.example/ö', 'https://else.example/%C3%B6'],
    ]
    for (const [location, seen] of rows) {
      renderer.routes.set('/moves', (_request, response) =>
        response.writeHead(301, { location: bytes(location) }).end(),
      )
      const outcome = await renderer.page('/moves')
      assert.equal(outcome.kind === 'redirect' && outcome.location, seen)
    }
  })

  it('of a page stay these bytes; a lone byte of another encoding becomes UTF-8', async () => {
    const links = {
      '</über-uns>; rel="license"': '</über-uns>; rel="license"',
      '</Ł>; rel=next': '</Ł>; rel=next',
    }
    for (const [link, seen] of Object.entries(links)) {
      renderer.routes.set('/links', (_request, response) =>
        response.setHeader('content-type', 'text/html').setHeader('link', bytes(link)).end('<p>x'),
      )
      const outcome = await renderer.page('/links')
      assert(outcome.kind === 'rendered')
      assert.equal(new Map(outcome.headers).get('link'), bytes(seen))
    }
    renderer.routes.set('/latin', (_request, response) =>
      response.setHeader('content-type', 'text/html').setHeader('link', '</\xfc>; rel=next').end('<p>x'),
    )
    const outcome = await renderer.page('/latin')
    assert(outcome.kind === 'rendered')
    assert.equal(new Map(outcome.headers).get('link'), bytes('</ü>; rel=next'))
  })
})

describe('a content type', () => {
  const kindOf = (value: string) =>
    judgeMainResponse('https://red.example/', 200, [{ name: 'Content-Type', value }], site)?.kind ?? 'page'

  it('that browsers understand as HTML is a page', () => {
    for (const type of [
      'text/html',
      'TEXT/HTML;charset=utf-8',
      ' text/html charset=utf-8',
      'text/html(shop);q=1',
      'text/html,text/html;charset=utf-8',
      'application/xhtml+xml; a="b"',
    ])
      assert.equal(kindOf(type), 'page', type)
  })

  it('that says nothing is left to the browser', () => {
    for (const type of ['', '*/*', 'unknown/unknown', 'application/unknown;a', 'html', ';charset=utf-8'])
      assert.equal(kindOf(type), 'page', type)
  })

  it('of anything else is no page', () => {
    for (const type of ['text/plain', 'application/json', 'text/html5', 'image/svg+xml', 'text/xml', 'text/'])
      assert.equal(kindOf(type), 'not-html', type)
  })
})

it('a page that is not labelled is what its bytes are', async () => {
  renderer.routes.set('/bytes', (_request, response) =>
    response.writeHead(200, { 'content-type': '*/*' }).end('<!doctype html><p>a page'),
  )
  assert.equal((await renderer.page('/bytes')).kind, 'rendered')
  renderer.routes.set('/bytes', (_request, response) =>
    response.writeHead(200, { 'content-type': 'unknown/unknown' }).end('no page'),
  )
  assert.equal((await renderer.page('/bytes')).kind, 'not-html')
})

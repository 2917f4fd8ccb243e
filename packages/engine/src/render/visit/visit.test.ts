/** How one render ends: status, redirects, errors, what a page may set for itself, and pages that misbehave. */
import assert from 'node:assert/strict'
import type http from 'node:http'
import { it } from 'node:test'
import { type Answer, openRenderer, scripted, taggable } from '../../../../../test/support/renderer.ts'

const TIMEOUT_MS = 3_000
const renderer = await openRenderer()
/** Whose renders time out. */
const hasty = await openRenderer({ timeoutMs: TIMEOUT_MS, slots: 1 })

const { routes, originUrl } = renderer
const PAGE = '<!doctype html><title>t</title><p>content</p>'

function answer(status: number, headers: http.OutgoingHttpHeaders, body = ''): Answer {
  return (_request, response) => void response.writeHead(status, headers).end(body)
}
const HTML = { 'content-type': 'text/html' }

/** What pages ask for beside themselves. */
const PARTS: Record<string, Answer> = {
  '/other': PAGE,
  '/data': '{}',
  '/hop': scripted(`location.replace('/other')`),
  '/frame-500': answer(500, HTML, PAGE),
  '/frame-301': answer(301, { location: '/frame-500' }),
  '/frame-zip': answer(200, { 'content-type': 'application/zip' }, 'PK'),
  '/frame-away': '<script>location.href = "/frame-500"</script>',
  '/frame-top': '<script>top.location.href = "/other"</script>',
}
for (const { routes } of [renderer, hasty])
  for (const [path, part] of Object.entries(PARTS)) routes.set(path, part)

const WRONG = `document.body.innerHTML = '<h1>Something went wrong</h1>'`
const ELSEWHERE = 'https://elsewhere.example/x'

type Expected = Record<string, unknown>
const rendered = (status = 200) => ({ kind: 'rendered', status })
const withKept = (...headers: string[][]) => ({ ...rendered(), headers })
function redirect(status: number, to: string): Expected {
  return { kind: 'redirect', status, location: to.startsWith('/') ? `https://shop.example${to}` : to }
}
const meta = (name: string, content: string | number) => `<meta name="${name}" content="${content}">`
const withHead = taggable((head) => `<!doctype html>${head}<p>a`)
const status = (content: number, head = '') => withHead(meta('prerender-status-code', content) + head)
const moved = (status: number, location: string) => answer(status, { location })
const withHeaders = (headers: http.OutgoingHttpHeaders) => answer(200, { ...HTML, ...headers }, PAGE)

// A request of the render before may still arrive.
let before = ''

function ends(expected: Expected, pages: Record<string, Answer>, { page, routes } = renderer): void {
  for (const [name, answer] of Object.entries(pages)) {
    it(name, async () => {
      routes.set('/case', answer)
      renderer.asked.length = 0
      const outcome: Record<string, unknown> = await page('/case')
      const seen = Object.fromEntries(Object.keys(expected).map((key) => [key, outcome[key]]))
      assert.deepEqual(seen, expected, JSON.stringify(outcome).slice(0, 500))
      // Where the origin redirects to is for the crawler to ask, not for us; a popup is never
      // opened. (What a script navigates to may be under way before we hear of it.)
      const isFollowed = renderer.asked.some((path) => path.startsWith('/other'))
      if (!/redirect by/.test(`${before} ${name}`)) assert(!isFollowed, 'the other page was asked for')
      before = name
    })
  }
}

ends(rendered(), {
  'a page with its status': PAGE,
  'a page without a type': (_request, response) => void response.end(PAGE),
  '103 before the answer': (_request, response) => {
    response.writeEarlyHints({ link: '</own.css>; rel=preload; as=style' })
    setTimeout(() => response.writeHead(200, HTML).end(PAGE), 50)
  },
  'a page of a picture': '<!doctype html><body><img src="/a.png">',
  'a frame that goes elsewhere': withHead`<iframe src="/frame-away"></iframe>`,
  'an address that is no page: a mail, a program': scripted`location.href = 'mailto:a@a.example'; setTimeout(() => { location.href = 'whatsapp://send' }, 300); show('a')`,
  'a redirect by script to itself, spelt otherwise': scripted`if (document.cookie === '') { document.cookie = 'seen=1'; location.href = '/x/../case' } else show('a')`,
  'a meta refresh of the page itself, far away': withHead`<meta http-equiv="refresh" content="300">`,
  'a meta refresh for those without scripts': withHead`<noscript><meta http-equiv="refresh" content="0; url=/other"></noscript>`,
  'history entries are no redirect': scripted`history.pushState({}, '', '/else'); location.hash = 'x'; show('a')`,
  'a page that reloads itself once': scripted`if (document.cookie === '') { document.cookie = 'seen=1'; location.reload() } else show('a')`,
  'a popup': scripted`window.open('/other'); show('a')`,
  'a page that failed and says that it is one': scripted(WRONG, meta('prerender-status-code', 200)),
  'a status with which no page comes': status(204),
  'a status that is none': status(999),
  'a redirect that leads nowhere, and a status that is no number': status(
    301,
    meta('prerender-status-code', '99x'),
  ),
  'a frame that is an error, a redirect, a download': withHead`<iframe src="/frame-500"></iframe><iframe src="/frame-301"></iframe><iframe src="/frame-zip"></iframe>`,
  'a script that asks for the page itself, and for what is an error': scripted`Promise.all(['/case?json', '/frame-500', '/nothing'].map((url) => fetch(url).then((answer) => show(answer.status))))`,
})
ends(rendered(404), { 'a 404 with a page': answer(404, HTML, PAGE) })
ends(rendered(300), { '300 with a page and without an address': answer(300, HTML, PAGE) })
ends(
  { kind: 'blank' },
  {
    'a 404 without a page': answer(404, HTML),
    'a page of nothing': '<!doctype html><title>t</title><div id="root"> </div><script>1</script>',
    'a page of invisible text': '<!doctype html><body><p style="display:none">content</p>',
  },
)
ends({ kind: 'error-page', mark: 'script' }, { 'a shell that says only that it failed': scripted(WRONG) })
ends(
  { kind: 'challenge', mark: 'Cloudflare' },
  { 'a challenge by header': answer(403, { ...HTML, 'cf-mitigated': 'challenge' }, '<p>wait') },
)
ends({ kind: 'origin-error', status: 500 }, { 'a 500': answer(500, HTML, PAGE) })
ends(
  { kind: 'origin-unreachable' },
  {
    'a connection that breaks': ({ socket }) => void socket.destroy(),
    'one that breaks after half of the page': (_request, response) =>
      void response.writeHead(200, HTML).write(PAGE, () => response.destroy()),
  },
)
ends(
  { kind: 'not-html', contentType: 'application/json' },
  { JSON: answer(200, { 'content-type': 'application/json' }, '{}') },
)
ends(
  { kind: 'not-html', contentType: 'text/html' },
  { 'a download': withHeaders({ 'content-disposition': 'attachment; filename=a.html' }) },
)
ends(
  { kind: 'not-html' },
  {
    'plain text that looks like a page': answer(200, { 'content-type': 'text/plain' }, PAGE),
    'bytes without a type': (_request, response) =>
      void response.end(Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\r', 'latin1')),
    '204, which has no content': answer(204, {}),
    '205, which has none either': answer(205, {}),
    '304 without a condition': answer(304, {}),
    'a redirect to what is no page': moved(302, 'javascript:alert(1)'),
  },
)
ends(redirect(301, '/other?a=1'), { 'a redirect inside the site': moved(301, '/other?a=1') })
ends(redirect(308, ELSEWHERE), { 'a redirect to another site': moved(308, ELSEWHERE) })
ends(redirect(302, '/case'), { 'a redirect of the origin to itself': moved(302, '/case') })
ends(redirect(302, '/other'), {
  "a redirect to the origin's own name": moved(302, `${originUrl}/other`),
  'a redirect by the Refresh header': withHeaders({ refresh: '0; url=/other' }),
  'a redirect by a click': withHead`<a href="/other">go</a><script>document.querySelector('a').click()</script>`,
  'a redirect by a frame': withHead`<iframe src="/frame-top"></iframe>`,
  'a redirect by script': scripted`show('a'); setTimeout(() => { location.href = '/other' }, 1000)`,
  'a redirect by meta refresh': withHead`<meta http-equiv="refresh" content="2; url=/other">`,
})
ends(redirect(302, '/other?q=a'), {
  'a redirect by a form': withHead`<form action="/other"><input name="q" value="a"></form><script>document.forms[0].submit()</script>`,
})
ends(redirect(302, ELSEWHERE), {
  'a redirect by script after a fetch': scripted`show('a'); fetch('/data').then(() => location.replace('${ELSEWHERE}'))`,
})
ends(redirect(302, '/hop'), {
  'a chain of redirects by script: the first is the answer': scripted`location.replace('/hop')`,
})
const MOVED = meta('prerender-status-code', 301) + meta('prerender-header', 'Location: /other')
ends(redirect(301, '/other'), {
  'prerender-status-code 301 with its header': status(301, meta('prerender-header', 'Location: /other')),
  "prerender-status-code 301 with the origin's own name": status(
    301,
    meta('prerender-header', `location:${originUrl}/other`),
  ),
  'a redirect by script, beside which prerender-status-code says 301': withHead`${MOVED}<script>location.replace('/elsewhere')</script>`,
  'a redirect by script to another site, beside which prerender-status-code says 301': withHead`${MOVED}<script>location.href = '${ELSEWHERE}'</script>`,
  'a later redirect by script, beside which prerender-status-code says 301': withHead`${MOVED}<script>setTimeout(() => { location.href = '/elsewhere' }, 800)</script>`,
  'a redirect by meta refresh, behind which prerender-status-code says 301': withHead`<meta http-equiv="refresh" content="1; url=/other">${MOVED}`,
  'a redirect by meta refresh, whose status is in prerender-status-code alone': withHead`<meta http-equiv="refresh" content="1; url=/other">${meta('prerender-status-code', 301)}`,
  'a redirect by script, which has set render:status_code and render:header just before': scripted`for (const [name, content] of [['render:status_code', '301'], ['render:header', 'Location: /other']])
    document.head.append(Object.assign(document.createElement('meta'), { name, content }))
    location.assign('/elsewhere')`,
})
ends(redirect(308, '/stra%C3%9Fe/%E4%BE%A1%20%E6%A0%BC?ort=K%C3%B6ln'), {
  'a Location in letters of any language': status(
    308,
    meta('prerender-header', 'Location: /straße/価 格?ort=Köln'),
  ),
})
ends(redirect(302, '/other'), {
  'a redirect by script of a page whose status is no redirect': withHead`${meta('prerender-status-code', 404)}<script>location.href = '/other'</script>`,
})
// Proves decided "Temporary errors set by a page"
ends(rendered(410), {
  'render:status_code, set by script': scripted`const m = document.createElement('meta'); m.name = 'render:status_code'; m.content = '410'
    document.head.append(m); show('a')`,
  'a blank page that states its status': `<!doctype html>${meta('prerender-status-code', 410)}<div id="app"></div>`,
})
ends(
  { kind: 'site-error', status: 503, headers: [['retry-after', '120']] },
  { 'prerender-status-code 503': status(503, meta('prerender-header', 'Retry-After: 120')) },
)
ends(
  { kind: 'site-error', status: 500 },
  { 'an error of a page that shows nothing yet': `<!doctype html>${meta('render:status_code', 500)}` },
)
ends({ kind: 'site-error', status: 429 }, { 'prerender-status-code 429': status(429) })
ends(
  { ...withKept(['x-robots-tag', 'noindex']), status: 404 },
  {
    // Proves decided "Headers set by a page"
    'of two metas the first': withHead`${meta('prerender-status-code', 404)}${meta('render:status_code', 200)}${meta('prerender-header', 'X-Robots-Tag: noindex')}${meta('render:header', 'x-robots-tag: all')}`,
  },
)
ends(withKept(['x-robots-tag', 'noindex']), {
  'headers a page may set, and others': withHead`${meta('prerender-header', 'X-Robots-Tag: noindex')}${meta('render:header', 'Set-Cookie: a=b')}`,
})
ends(withKept(['x-robots-tag', 'noarchive']), {
  'headers of the origin that concern crawlers': withHeaders({
    ...{ 'x-robots-tag': 'noarchive', 'set-cookie': 'a=b' },
  }),
})
ends(withKept(['cache-control', 'max-age=60']), {
  'what the origin says about storing, and not what our browser is told': withHeaders({
    ...{ 'cache-control': 'max-age=60', 'x-prepaint-cache-control': 'private' },
  }),
})
ends(withKept(), {
  'an origin that says nothing about storing': withHeaders({ 'x-prepaint-cache-control': 'private' }),
})
ends(
  { kind: 'too-large' },
  {
    'a snapshot over the limit': scripted`show('a'); document.body.append(document.createComment('x'.repeat(16 * 1024 * 1024)))`,
  },
)
ends(
  { kind: 'timed-out', afterMs: 0 },
  { 'a page that reloads itself for ever': scripted`location.reload()` },
)
ends(
  { kind: 'timed-out', afterMs: TIMEOUT_MS },
  {
    'a script that hangs': scripted`while (true) {}`,
    'a timer that hangs': scripted`show('a'); setTimeout(() => { while (true) {} }, 50)`,
    'a page that never says it is ready': scripted`show('a'); window.prerenderReady = false`,
    'a head that never comes': () => {},
  },
  hasty,
)

it('an origin that does not listen', async () => {
  const outcome = await renderer.page('/case', { domain: 'gone.example', originUrl: 'http://127.0.0.1:9' })
  assert.equal(outcome.kind, 'origin-unreachable')
})

it('metas that were obeyed are not in the page', async () => {
  routes.set('/case', status(404))
  assert.doesNotMatch(await renderer.html('/case'), /prerender-/)
})

it('called off from outside: at once, and the slot is whole again', async () => {
  routes.set('/case', () => calledOff.abort())
  routes.set('/after', PAGE)
  const calledOff = new AbortController()
  assert.deepEqual(await renderer.page('/case', { signal: calledOff.signal }), { kind: 'aborted' })
  assert.deepEqual(await renderer.page('/case', { signal: AbortSignal.abort() }), { kind: 'aborted' })
  assert.match(await renderer.html('/after'), /content/)
})

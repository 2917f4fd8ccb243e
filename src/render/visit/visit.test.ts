/** How one render ends: status, redirects, errors, what a page may set for itself, and pages that misbehave. */
import assert from 'node:assert/strict'
import type http from 'node:http'
import { after, describe, it } from 'node:test'
import { type Answer, scripted, startTestRenderer } from '../../../test/support/renderer.ts'
import type { RenderOutcome } from '../outcome.ts'

const TIMEOUT_MS = 3_000
const renderer = await startTestRenderer({ timeoutMs: TIMEOUT_MS })
after(() => renderer.close())

const { routes, originUrl } = renderer
const PAGE = '<!doctype html><title>t</title><p>content</p>'

function answer(status: number, headers: http.OutgoingHttpHeaders, body = ''): Answer {
  return (_request, response) => void response.writeHead(status, headers).end(body)
}
const HTML = { 'content-type': 'text/html' }

/** What pages ask for beside themselves. */
const PARTS: readonly [path: string, answer: Answer][] = [
  ['/hop', scripted(`location.replace('/other')`)],
  ['/frame-500', answer(500, HTML, PAGE)],
  ['/frame-301', answer(301, { location: '/frame-500' })],
  ['/frame-zip', answer(200, { 'content-type': 'application/zip' }, 'PK')],
]

type Expected = { [K in keyof RenderOutcome]?: unknown } & Record<string, unknown>

const ends: Record<string, { answer: Answer; expected: Expected }> = {
  'a page with its status': { answer: PAGE, expected: { kind: 'rendered', status: 200 } },
  'a 404 with a page': { answer: answer(404, HTML, PAGE), expected: { kind: 'rendered', status: 404 } },
  'a 410 with a page': { answer: answer(410, HTML, PAGE), expected: { kind: 'rendered', status: 410 } },
  'a 404 without one': { answer: answer(404, HTML), expected: { kind: 'blank' } },
  'a 500': { answer: answer(500, HTML, PAGE), expected: { kind: 'origin-error', status: 500 } },
  'a 503': { answer: answer(503, HTML, PAGE), expected: { kind: 'origin-error', status: 503 } },
  JSON: {
    answer: answer(200, { 'content-type': 'application/json' }, '{}'),
    expected: { kind: 'not-html', contentType: 'application/json' },
  },
  'a download': {
    answer: answer(200, { ...HTML, 'content-disposition': 'attachment; filename=a.html' }, PAGE),
    expected: { kind: 'not-html', contentType: 'text/html' },
  },
  'a page of nothing': {
    answer: '<!doctype html><title>t</title><div id="root"> </div><script>1</script>',
    expected: { kind: 'blank' },
  },
  'a page of invisible text': {
    answer: '<!doctype html><body><p style="display:none">content</p>',
    expected: { kind: 'blank' },
  },
  'a page of a picture': {
    answer: '<!doctype html><body><img src="/a.png">',
    expected: { kind: 'rendered' },
  },
  'a connection that breaks': {
    answer: (request) => void request.socket.destroy(),
    expected: { kind: 'origin-unreachable' },
  },
  'a redirect inside the site': {
    answer: answer(301, { location: '/other?a=1' }),
    expected: { kind: 'redirect', status: 301, location: 'https://shop.example/other?a=1' },
  },
  "a redirect to the origin's own name": {
    answer: answer(302, { location: `${originUrl}/other` }),
    expected: { kind: 'redirect', status: 302, location: 'https://shop.example/other' },
  },
  'a redirect to another site': {
    answer: answer(308, { location: 'https://elsewhere.example/x' }),
    expected: { kind: 'redirect', status: 308, location: 'https://elsewhere.example/x' },
  },
  'a redirect by script': {
    answer: scripted(`show('a'); setTimeout(() => { location.href = '/other' }, 1000)`),
    expected: { kind: 'redirect', status: 302, location: 'https://shop.example/other' },
  },
  'a redirect by script after a fetch': {
    answer: scripted(`show('a'); fetch('/data').then(() => location.replace('https://elsewhere.example/x'))`),
    expected: { kind: 'redirect', status: 302, location: 'https://elsewhere.example/x' },
  },
  'a redirect by meta refresh': {
    answer: '<!doctype html><meta http-equiv="refresh" content="2; url=/other"><p>a',
    expected: { kind: 'redirect', status: 302, location: 'https://shop.example/other' },
  },
  'a meta refresh of the page itself, far away': {
    answer: '<!doctype html><meta http-equiv="refresh" content="300"><p>a',
    expected: { kind: 'rendered' },
  },
  'history entries are no redirect': {
    answer: scripted(`history.pushState({}, '', '/else'); location.hash = 'x'; show('a')`),
    expected: { kind: 'rendered' },
  },
  'a page that reloads itself once': {
    answer: scripted(
      `if (document.cookie === '') { document.cookie = 'seen=1'; location.reload() } else show('a')`,
    ),
    expected: { kind: 'rendered' },
  },
  'a page that reloads itself for ever': {
    answer: scripted('location.reload()'),
    expected: { kind: 'timed-out' },
  },
  'a popup': { answer: scripted(`window.open('/other'); show('a')`), expected: { kind: 'rendered' } },
  'prerender-status-code': {
    answer: '<!doctype html><meta name="prerender-status-code" content="404"><p>a',
    expected: { kind: 'rendered', status: 404 },
  },
  'prerender-status-code 301 with its header': {
    answer: `<!doctype html><meta name="prerender-status-code" content="301">
      <meta name="prerender-header" content="Location: /other"><p>a`,
    expected: { kind: 'redirect', status: 301, location: 'https://shop.example/other' },
  },
  'render:status_code, set by script': {
    answer:
      scripted(`const m = document.createElement('meta'); m.name = 'render:status_code'; m.content = '410'
      document.head.append(m); show('a')`),
    // Proves decided "Temporary errors set by a page"
    expected: { kind: 'rendered', status: 410 },
  },
  'prerender-status-code 503': {
    answer: `<!doctype html><meta name="prerender-status-code" content="503">
      <meta name="prerender-header" content="Retry-After: 120"><p>a`,
    expected: { kind: 'site-error', status: 503, headers: [['retry-after', '120']] },
  },
  'render:status_code 500 on a page that shows nothing yet': {
    answer: '<!doctype html><meta name="render:status_code" content="500">',
    expected: { kind: 'site-error', status: 500 },
  },
  'prerender-status-code 429': {
    answer: '<!doctype html><meta name="prerender-status-code" content="429"><p>a',
    expected: { kind: 'site-error', status: 429 },
  },
  'a status with which no page comes': {
    answer: '<!doctype html><meta name="prerender-status-code" content="204"><p>a',
    // Proves decided "Headers set by a page"
    expected: { kind: 'rendered', status: 200 },
  },
  'headers with line breaks, and huge ones': {
    answer: `<!doctype html><meta name="prerender-header" content="X-A: 1&#13;&#10;Set-Cookie: a=b">
      <meta name="prerender-header" content="X-B&#10;Set-Cookie: a=b"><meta name="prerender-header" content="X-Huge: ${'x'.repeat(100_000)}">
      <meta name="prerender-header" content="X-Accel-Redirect: /etc/passwd"><meta name="prerender-header" content="X-C: 3"><p>a`,
    expected: { kind: 'rendered', headers: [['x-c', '3']] },
  },
  'a status that is none': {
    answer: '<!doctype html><meta name="prerender-status-code" content="999"><p>a',
    expected: { kind: 'rendered', status: 200 },
  },
  'headers a page may set, and others': {
    answer: `<!doctype html><meta name="prerender-header" content="X-Robots-Tag: noindex">
      <meta name="render:header" content="Set-Cookie: a=b"><p>a`,
    expected: { kind: 'rendered', headers: [['x-robots-tag', 'noindex']] },
  },
  'headers of the origin that concern crawlers': {
    answer: answer(200, { ...HTML, 'x-robots-tag': 'noarchive', 'set-cookie': 'a=b' }, PAGE),
    expected: { kind: 'rendered', headers: [['x-robots-tag', 'noarchive']] },
  },
  'what the origin says about storing, and not what our browser is told': {
    answer: answer(
      200,
      { ...HTML, 'cache-control': 'max-age=60', 'x-prepaint-cache-control': 'private' },
      PAGE,
    ),
    expected: { kind: 'rendered', headers: [['cache-control', 'max-age=60']] },
  },
  'an origin that says nothing about storing': {
    answer: answer(200, { ...HTML, 'x-prepaint-cache-control': 'private' }, PAGE),
    expected: { kind: 'rendered', headers: [] },
  },
  'a frame that is an error, a redirect, a download': {
    answer: `<!doctype html><p>content</p><iframe src="/frame-500"></iframe><iframe src="/frame-301"></iframe><iframe src="/frame-zip"></iframe>`,
    expected: { kind: 'rendered', status: 200 },
  },
  'a script that asks for the page itself, and for what is an error': {
    answer: scripted(
      `Promise.all(['/case?json', '/frame-500', '/nothing'].map((url) => fetch(url).then((answer) => show(answer.status))))`,
    ),
    expected: { kind: 'rendered', status: 200 },
  },
  'a meta refresh for those without scripts': {
    answer: '<!doctype html><noscript><meta http-equiv="refresh" content="0; url=/other"></noscript><p>a',
    expected: { kind: 'rendered', status: 200 },
  },
  'a chain of redirects by script: the first is the answer': {
    answer: scripted(`location.replace('/hop')`),
    expected: { kind: 'redirect', status: 302, location: 'https://shop.example/hop' },
  },
  'a redirect of the origin to itself': {
    answer: answer(302, { location: '/case' }),
    expected: { kind: 'redirect', status: 302, location: 'https://shop.example/case' },
  },
  'a redirect by script to itself, spelt otherwise': {
    answer: scripted(
      `if (document.cookie === '') { document.cookie = 'seen=1'; location.href = '/x/../case' } else show('a')`,
    ),
    expected: { kind: 'rendered', status: 200 },
  },
  'a snapshot over the limit': {
    answer: scripted(`show('a'); document.body.append(document.createComment('x'.repeat(16 * 1024 * 1024)))`),
    expected: { kind: 'too-large' },
  },
  'a script that hangs': {
    answer: scripted('while (true) {}'),
    expected: { kind: 'timed-out', afterMs: TIMEOUT_MS },
  },
  'a timer that hangs': {
    answer: scripted(`show('a'); setTimeout(() => { while (true) {} }, 50)`),
    expected: { kind: 'timed-out', afterMs: TIMEOUT_MS },
  },
  'a page that never says it is ready': {
    answer: scripted(`show('a'); window.prerenderReady = false`),
    expected: { kind: 'timed-out', afterMs: TIMEOUT_MS },
  },
  'a head that never comes': { answer: () => {}, expected: { kind: 'timed-out', afterMs: TIMEOUT_MS } },
}

describe('how a render ends', () => {
  // A request of the render before may still arrive.
  let before = ''
  for (const [name, { answer, expected }] of Object.entries(ends)) {
    it(name, async () => {
      routes.set('/case', answer)
      routes.set('/other', PAGE)
      routes.set('/data', '{}')
      for (const [path, part] of PARTS) routes.set(path, part)
      renderer.asked.length = 0
      const outcome = (await renderer.page('/case')) as Record<string, unknown>
      const seen = Object.fromEntries(Object.keys(expected).map((key) => [key, outcome[key]]))
      assert.deepEqual(seen, expected, JSON.stringify(outcome).slice(0, 500))
      // Where the origin redirects to is for the crawler to ask, not for us; a popup is never
      // opened. (What a script navigates to may be under way before we hear of it.)
      const isFollowed = renderer.asked.some((path) => path.startsWith('/other'))
      if (!/by script|by meta/.test(`${before} ${name}`)) assert(!isFollowed, 'the other page was asked for')
      before = name
    })
  }

  it('an origin that does not listen', async () => {
    const outcome = await renderer.page('/case', { domain: 'gone.example', originUrl: 'http://127.0.0.1:9' })
    assert.equal(outcome.kind, 'origin-unreachable')
  })

  it('metas that were obeyed are not in the page', async () => {
    routes.set('/case', '<!doctype html><meta name="prerender-status-code" content="404"><p>a')
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
})

it('a blank page that states its status by meta is believed', async () => {
  const meta = '<meta name="prerender-status-code" content="410">'
  renderer.routes.set('/blank', `<!doctype html>${meta}<div id="app"></div>`)
  const outcome = await renderer.page('/blank')
  assert.deepEqual([outcome.kind, 'status' in outcome && outcome.status], ['rendered', 410])
})

/** A corpus of sites that tell devices apart, and of sites that do not, as Chromium renders them for both. */
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { type Answer, startTestRenderer, TEST_IDENTITY } from '../../../test/support/renderer.ts'
import type { RenderOutcome } from '../../render/outcome.ts'
import { visitorFor } from '../../sites/devices.ts'
import { factsOf } from '../../sites/inspection/facts.ts'
import type { PageVariant } from '../../store/page-id.ts'
import { differencesOf } from './compare-devices.ts'

const renderer = await startTestRenderer()
after(() => renderer.close())

const WORDS = Array.from(
  { length: 200 },
  (_, at) => `word${'abcdefghij'[at % 10]}${'klmnopqrst'[Math.floor(at / 10) % 10]}`,
)
const TEXT = `<p>${WORDS.join(' ')}</p>`
const page = (body: string, head = '<title>A shop</title>') =>
  `<!doctype html><html><head><meta name="viewport" content="width=device-width">${head}</head><body>${body}</body></html>`
const choosing = (isPhone: string) =>
  page(`${TEXT}<div id="a"></div><script>Promise.resolve(${isPhone}).then((is) => {
    document.title = is ? 'Phone' : 'Desktop'
    document.getElementById('a').textContent = is ? 'the phone page' : 'the desktop page'
  })</script>`)
const onServer =
  (choose: (header: (name: string) => string) => string): Answer =>
  (request, response) =>
    void response
      .setHeader('content-type', 'text/html')
      .end(choose((name) => String(request.headers[name] ?? '')))
const inWorker = `new Promise((resolve) => {
  const source = 'postMessage(navigator.userAgentData ? navigator.userAgentData.mobile : /Mobile/.test(navigator.userAgent))'
  new Worker(URL.createObjectURL(new Blob([source]))).onmessage = ({ data }) => resolve(data) })`

const APART: Record<string, Answer> = {
  'the user agent, on the server': onServer((header) =>
    page(/Mobile/.test(header('user-agent')) ? '<p>for phones</p>' : TEXT),
  ),
  'a client hint, on the server': onServer((header) =>
    page(header('sec-ch-ua-mobile') === '?1' ? '<p>for phones</p>' : TEXT),
  ),
  'the platform hint, on the server': onServer((header) =>
    page(header('sec-ch-ua-platform') === '"Android"' ? '<p>for phones</p>' : TEXT),
  ),
  'the user agent, in a script': choosing('/Android.*Mobile/.test(navigator.userAgent)'),
  'the viewport': choosing('innerWidth < 600 && devicePixelRatio > 2'),
  touch: choosing(`navigator.maxTouchPoints === 5 && 'ontouchstart' in window`),
  'media queries': choosing(
    `matchMedia('(pointer: coarse)').matches && matchMedia('(hover: none)').matches && matchMedia('(max-width: 500px)').matches`,
  ),
  'navigator.userAgentData': choosing('navigator.userAgentData.mobile'),
  'a worker': choosing(inWorker),
}

let visits = 0
const ALIKE: Record<string, Answer> = {
  'a plain page': page(TEXT),
  'a page drawn by a script': page(
    `<div id="a"></div><script>a.textContent = ${JSON.stringify(WORDS.join(' '))}</script>`,
  ),
  'a layout by media queries in style sheets': page(
    `<style>@media (max-width: 500px) { nav { color: red } }</style><nav>Home</nav>${TEXT}`,
  ),
  'classes by viewport': page(
    `${TEXT}<script>document.body.className = innerWidth < 600 ? 'narrow' : 'wide'</script>`,
  ),
  'a date and a counter': onServer(() =>
    page(`${TEXT}<p>${visits++} visits until ${new Date().toString()}</p>`),
  ),
  'a random teaser': onServer(() => page(`${TEXT}<p>${`teaser${'xyzw'[visits++ % 4]} `.repeat(20)}</p>`)),
  'links with random tokens': onServer(() =>
    page(`${TEXT}${Array.from({ length: 5 }, (_, at) => `<a href="/l${at}?t=${visits++}">l</a>`).join('')}`),
  ),
  'a short note for phones': page(
    `${TEXT}<p id="a"></p><script>if (innerWidth < 600) a.textContent = 'Get our app'</script>`,
  ),
}

const URL_OF = 'https://shop.example/'
async function outcomeFor(path: string, variant: PageVariant): Promise<RenderOutcome> {
  return (await renderer.explained(path, { visitor: visitorFor(variant) })).outcome
}
async function answerFor(path: string, variant: PageVariant) {
  const outcome = await outcomeFor(path, variant)
  assert(outcome.kind === 'rendered', JSON.stringify(outcome))
  return { status: outcome.status, location: null, facts: factsOf(outcome.html, URL_OF) }
}

async function compared(name: string, answer: Answer) {
  const path = `/${name.replace(/\W+/g, '-')}`
  renderer.routes.set(path, answer)
  const [desktop, mobile] = [await answerFor(path, 'desktop'), await answerFor(path, 'mobile')]
  const differences = differencesOf(desktop, mobile)
  return differences.length === 0
    ? differences
    : differencesOf(desktop, mobile, await answerFor(path, 'desktop'))
}

describe('tells devices apart by', () => {
  for (const [name, answer] of Object.entries(APART)) {
    it(name, async () => assert.notDeepEqual(await compared(name, answer), []))
  }
})

describe('is the same for both:', () => {
  for (const [name, answer] of Object.entries(ALIKE)) {
    it(name, async () => assert.deepEqual(await compared(name, answer), []))
  }
})

it('a phone is one everywhere, whatever the settings for desktops', async () => {
  const seen: Record<string, string | undefined>[] = []
  renderer.routes.set('/data', (request, response) => {
    seen.push(request.headers as Record<string, string>)
    response.setHeader('content-type', 'application/json').end('{}')
  })
  renderer.routes.set('/phone', (request, response) => {
    seen.push(request.headers as Record<string, string>)
    response.setHeader('content-type', 'text/html').end(
      page(`<pre id="a"></pre><script>fetch('/data').then(() => { a.textContent = JSON.stringify([
        innerWidth, innerHeight, devicePixelRatio, navigator.maxTouchPoints, navigator.platform, navigator.language,
        matchMedia('(any-hover: none)').matches, matchMedia('(any-pointer: coarse)').matches, screen.width]) })</script>`),
    )
  })
  const desktop = { user_agent: 'Own/1.0', viewport: { width: 800, height: 600 }, locale: 'de-CH' }
  const { outcome } = await renderer.explained('/phone', { visitor: visitorFor('mobile', desktop) })
  assert(outcome.kind === 'rendered')
  const found: unknown = JSON.parse(/<pre id="a">(.*)<\/pre>/.exec(outcome.html)?.[1] ?? '')
  assert.deepEqual(found, [412, 915, 2.625, 5, 'Linux armv81', 'de-CH', true, true, 412])
  for (const headers of seen) {
    assert(headers['user-agent']?.endsWith(` Mobile Safari/537.36 ${TEST_IDENTITY}`), headers['user-agent'])
    assert.deepEqual([headers['sec-ch-ua-mobile'], headers['sec-ch-ua-platform']], ['?1', '"Android"'])
  }
  assert.equal(seen.length, 2)
})

it('names what differs', () => {
  const of = (body: string, head = '<title>A</title>') => ({
    ...{ status: 200, location: null, facts: factsOf(page(body, head), URL_OF) },
  })
  const differ = (a: string, b: string, heads: string[] = []) =>
    differencesOf(of(a, heads[0]), of(b, heads[1]))
  const links = (count: number) => Array.from({ length: count }, (_, at) => `<a href="/${at}">l</a>`).join('')
  assert.deepEqual(differ(TEXT, TEXT), [])
  assert.deepEqual(differ(`${TEXT}${links(20)}`, `${TEXT}${links(19)}`), [])
  assert.deepEqual(differ(`${TEXT}${links(20)}`, `${TEXT}${links(18)}`), ['links'])
  const cut = (words: number) => `<p>${WORDS.slice(words).join(' ')}</p>`
  assert.deepEqual(differ(TEXT, cut(10)), [])
  assert.deepEqual(differ(TEXT, cut(11)), ['text'])
  assert.deepEqual(differ(cut(11), TEXT), ['text'])
  assert.deepEqual(differ(TEXT, `<p>${[...WORDS].reverse().join(' ')}</p>`), ['text'])
  assert.deepEqual(differ(TEXT, TEXT, ['<title>3 left</title>', '<title>4 left</title>']), [])
  const heads = (href: string, description: string, data: string) =>
    `<title>A</title><link rel="canonical" href="${href}"><meta name="description" content="${description}">
     <script type="application/ld+json">{"@type":"${data}"}</script>`
  assert.deepEqual(differ(TEXT, TEXT, [heads('/a', 'x', 'P'), heads('/b', 'y', 'Q')]), [
    ...['description', 'canonical', 'structured_data'],
  ])
  const moved = (location: string) => ({ status: 302, location, facts: null })
  assert.deepEqual(differencesOf(moved('/a'), moved('/a')), [])
  assert.deepEqual(differencesOf(moved('/a'), moved('/m')), ['status'])
  assert.deepEqual(differencesOf(of(TEXT), moved('/m')), ['status'])
})

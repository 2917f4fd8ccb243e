/** Whom a site sees: the usual visitor, or the one that its owner asks for. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Visitor } from '@prepaint/contract/outcome/outcome.ts'
import { identityOf } from '@prepaint/runtime/identity.ts'
import { javascript, openRenderer, scripted, TEST_IDENTITY } from '../../../../../test/support/renderer.ts'
import { hintsOf } from './user-agent.ts'

const renderer = await openRenderer()

renderer.routes.set('/who', ({ headers }, response) => {
  response.setHeader('content-type', 'text/html; charset=utf-8')
  response.end(
    scripted(`(async () => show(JSON.stringify({
      header: ${JSON.stringify(headers['user-agent'])},
      languages: ${JSON.stringify(headers['accept-language'])},
      hints: ${JSON.stringify(headers['sec-ch-ua'] ?? null)},
      userAgent: navigator.userAgent, language: navigator.language,
      size: [innerWidth, innerHeight], zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      hour: new Date(Date.UTC(2026, 0, 1, 12)).getHours(), number: (1234.5).toLocaleString(),
      date: new Date(Date.UTC(2026, 6, 1, 23)).toLocaleString(), offset: new Date(Date.UTC(2026, 6, 1)).getTimezoneOffset(),
      screen: [screen.width, screen.height, devicePixelRatio], wide: matchMedia('(min-width: 1000px)').matches,
      languageList: navigator.languages, webdriver: navigator.webdriver, appVersion: navigator.appVersion,
      platform: navigator.platform, brands: namesOf(navigator.userAgentData?.brands),
      worker: await new Promise((resolve) => {
        const source = 'postMessage([navigator.userAgent, navigator.language, Intl.DateTimeFormat().resolvedOptions().timeZone])'
        new Worker(URL.createObjectURL(new Blob([source]))).onmessage = ({ data }) => resolve(data)
      }),
      full: await navigator.userAgentData?.getHighEntropyValues(['fullVersionList', 'platform', 'mobile', 'uaFullVersion']) }))
      )()
      function namesOf(brands) { return brands?.map(({ brand, version }) => brand + ' ' + version) }`),
  )
})

async function seen(visitor?: Visitor): Promise<Record<string, unknown>> {
  const { outcome } = await renderer.explained('/who', { visitor })
  assert(outcome.kind === 'rendered', JSON.stringify(outcome))
  return JSON.parse(/<li>(.*)<\/li>/.exec(outcome.html)?.[1] ?? '')
}

renderer.routes.set('/plain', '<p>plain<script>0</script>')

// Proves decided "Identity of renders"
it('the usual one is the same everywhere, and client hints and workers say the same as its user agent', async () => {
  const { header, userAgent, hints, brands, full, worker, ...found } = await seen()
  const [normal, major] =
    /^Mozilla\/5\.0 \(X11; Linux x86_64\) .* Chrome\/(\d+)\.0\.0\.0 Safari\/537\.36 /.exec(String(userAgent))!
  assert.equal(String(userAgent).replace(normal, ''), TEST_IDENTITY)
  assert.equal(header, userAgent)
  assert.deepEqual(found, {
    language: 'en-US',
    languages: 'en-US,en;q=0.9',
    languageList: ['en-US', 'en'],
    webdriver: false,
    size: [1280, 1024],
    screen: [1280, 1024, 1],
    wide: true,
    zone: 'UTC',
    offset: 0,
    hour: 12,
    number: '1,234.5',
    date: '7/1/2026, 11:00:00 PM',
    platform: 'Linux x86_64',
    appVersion: String(userAgent).replace('Mozilla/', ''),
  })
  assert.equal(hints, `"Chromium";v="${major}", "Not.A/Brand";v="8"`)
  assert.deepEqual(brands, [`Chromium ${major}`, 'Not.A/Brand 8'])
  const version = new RegExp(
    `"fullVersionList":\\[\\{"brand":"Chromium","version":"${major}(\\.\\d+){3}".*"mobile":false,"platform":"Linux"`,
  )
  assert.match(JSON.stringify(full), version)
  assert.deepEqual(worker, [userAgent, 'en-US', 'UTC'])
})

// Proves decided "Identity of renders"
it('the one that the owner asks for, also after the page was replaced, and not for others', async () => {
  const userAgent = 'Mozilla/5.0 (Shop) Own/1.0'
  const viewport = { width: 412, height: 915 }
  const swiss = { userAgent, viewport, locale: 'de-CH', timeZone: 'Europe/Zurich' }
  const usual = await seen()
  const check = async () => {
    const { number, full: _, worker, platform, languageList, ...found } = await seen(swiss)
    assert.match(String(number), /^1['’]234\.5$/)
    assert.deepEqual((worker as string[])[0], userAgent)
    assert.deepEqual(found, {
      header: userAgent,
      userAgent,
      appVersion: '5.0 (Shop) Own/1.0',
      webdriver: false,
      // Only Chromium sends its brands.
      hints: null,
      brands: [],
      language: 'de-CH',
      languages: 'de-CH,de;q=0.9',
      size: [412, 915],
      screen: [412, 915, 1],
      wide: false,
      zone: 'Europe/Zurich',
      hour: 13,
      date: '2.7.2026, 01:00:00',
      offset: -120,
    })
  }
  await check()
  // More than one process renders (packages/engine/src/render/tab/tab-pool.ts).
  for (let render = 0; render < 60; render++) await renderer.explained('/plain', { visitor: swiss })
  await check()
  assert.deepEqual(await seen(), usual)
})

renderer.routes.set('/headers', ({ headers }, response) => {
  const said = ['', '-mobile', '-platform'].map((name) => headers[`sec-ch-ua${name}`])
  response.setHeader('content-type', 'application/json').end(JSON.stringify([headers['user-agent'], ...said]))
})
const TELL = `const say = async () => { const { brands, mobile, platform } = navigator.userAgentData ?? {}
  const names = brands?.map(({ brand, version }) => brand + ' ' + version)
  return [navigator.userAgent, navigator.platform, names, mobile, platform, await (await fetch('/headers')).json()] }`
renderer.routes.set(
  '/said',
  javascript(`${TELL}; if ('postMessage' in self) say().then(postMessage)
    else onconnect = ({ ports }) => say().then((said) => ports[0].postMessage(said))`),
)
renderer.routes.set('/frame', `<script>${TELL}; say().then((said) => parent.postMessage(said, '*'))</script>`)
renderer.routes.set(
  '/everywhere',
  scripted(`${TELL}; const tell = (where, said) => show(JSON.stringify([where, ...said]))
    say().then((said) => tell('page', said))
    new Worker('/said').onmessage = ({ data }) => tell('worker', data)
    new SharedWorker('/said').port.onmessage = ({ data }) => tell('shared worker', data)
    addEventListener('message', ({ data }) => tell('frame', data))
    document.body.insertAdjacentHTML('beforeend', '<iframe src="/frame"></iframe>')`),
)

const PHONE =
  'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.1.2 Mobile Safari/537.36'
const EDGE =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0'
for (const [userAgent, platform, brands, mobile, system] of [
  [PHONE, 'Linux armv81', '"Chromium";v="140", "Not.A/Brand";v="8"', true, 'Android'],
  [EDGE, 'Win32', '"Chromium";v="141", "Not.A/Brand";v="8", "Microsoft Edge";v="141"', false, 'Windows'],
] as const) {
  it(`the page, its frames and its workers say the same: ${userAgent.slice(12, 40)}`, async () => {
    const { outcome } = await renderer.explained('/everywhere', { visitor: { userAgent } })
    assert(outcome.kind === 'rendered', JSON.stringify(outcome))
    const all = [...outcome.html.matchAll(/<li>(.*?)<\/li>/g)].map(([, text = '']) => JSON.parse(text))
    const headers = [userAgent, brands, mobile ? '?1' : '?0', `"${system}"`]
    const names = brands.replaceAll('"', '').replaceAll(';v=', ' ').split(', ')
    const said = [userAgent, platform, names, mobile, system, headers]
    assert.deepEqual(
      all.sort(),
      ['frame', 'page', 'shared worker', 'worker'].map((where) => [where, ...said]),
    )
  })
}

const TAIL = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.7390.54'
const CHROMIUM = 'Chromium Not.A/Brand'
for (const [userAgent, expected] of [
  [`(X11; Linux x86_64) ${TAIL} Safari/537.36`, ['Linux', '', '', false, CHROMIUM]],
  [`(Windows NT 10.0; Win64; x64) ${TAIL} Safari/537.36`, ['Windows', '10.0', '', false, CHROMIUM]],
  [`(Macintosh; Intel Mac OS X 10_15_7) ${TAIL} OPR/1`, ['macOS', '10.15.7', '', false, `${CHROMIUM} Opera`]],
  [`(Linux; Android 13; SM-1 Build/TP1A) ${TAIL} Mobile`, ['Android', '13', 'SM-1', true, CHROMIUM]],
  [`(Linux; Android 10; K) ${TAIL} Safari/537.36`, ['Android', '10', '', false, CHROMIUM]],
  ['(iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 Version/18.1 Mobile/15E148', null],
  ['(X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', null],
  ['Shop/1.0', null],
] as const) {
  it(userAgent.slice(0, 90), () => {
    const { userAgentMetadata: hints } = hintsOf(`Mozilla/5.0 ${userAgent}`)
    const brands = hints?.brands?.map(({ brand }) => brand).join(' ')
    const said = hints && [hints.platform, hints.platformVersion, hints.model, hints.mobile, brands]
    assert.deepEqual(said ?? null, expected)
  })
}

// Proves decided "Identity of renders"
for (const [publicUrl, identity] of [
  [null, 'Prepaint/1.2.3'],
  ['http://10.1.2.3:3000', 'Prepaint/1.2.3 (+http://10.1.2.3:3000/bot)'],
  ['https://bücher.example/ü/?a=b#c', 'Prepaint/1.2.3 (+https://xn--bcher-kva.example/%C3%BC/bot)'],
  ['https://owner:secret@render.example', 'Prepaint/1.2.3 (+https://render.example/bot)'],
  ['https://render.example/a)(b', 'Prepaint/1.2.3 (+https://render.example/a%29%28b/bot)'],
] as const)
  it(`the user agent of a node at ${publicUrl} ends with ${identity}`, () =>
    assert.equal(identityOf({ version: '1.2.3', publicUrl }), identity))

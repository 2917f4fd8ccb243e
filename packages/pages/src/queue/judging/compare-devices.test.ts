/** What phones get, how it is compared with what desktops get, and a comparison from its request to the finding. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PagePath } from '@prepaint/contract/ids.ts'
import type { RenderOutcome } from '@prepaint/contract/outcome/outcome.ts'
import { factsOf } from '@prepaint/contract/reading/facts.ts'
import { visitorFor } from '@prepaint/contract/settings/devices.ts'
import { readOutcome } from '../../../../../test/support/outcome.ts'
import { openQueue, runNext } from '../../../../../test/support/queue.ts'
import { openRenderer, TEST_IDENTITY } from '../../../../../test/support/renderer.ts'
import { listDevicePages } from '../../store/device-pages.ts'
import { checkDevices } from '../upkeep/device-checks.ts'
import { differencesOf } from './compare-devices.ts'

it('a phone is one everywhere, whatever the settings for desktops', async (t) => {
  const renderer = await openRenderer({}, t)
  const seen: Record<string, unknown>[] = []
  renderer.routes.set('/data', (request, response) => {
    seen.push(request.headers)
    response.setHeader('content-type', 'application/json').end('{}')
  })
  renderer.routes.set('/phone', (request, response) => {
    seen.push(request.headers)
    response.setHeader('content-type', 'text/html').end(
      `<!doctype html><meta name="viewport" content="width=device-width"><pre id="a"></pre><script type="module">
        const source = 'postMessage([navigator.userAgentData.mobile, /Android.*Mobile/.test(navigator.userAgent)])'
        const worker = new Worker(URL.createObjectURL(new Blob([source])))
        const said = await new Promise((resolve) => { worker.onmessage = ({ data }) => resolve(data) })
        await fetch('/data')
        const media = ['pointer: coarse', 'any-pointer: coarse', 'max-width: 500px', 'hover: none', 'any-hover: none']
        a.textContent = JSON.stringify([
          innerWidth, innerHeight, devicePixelRatio, screen.width, navigator.maxTouchPoints, 'ontouchstart' in window,
          navigator.platform, navigator.language, navigator.userAgentData.mobile, ...said,
          ...media.map((query) => matchMedia('(' + query + ')').matches)])
      </script>`,
    )
  })
  const found = async (device: 'desktop' | 'mobile', settings = {}) => {
    const { outcome } = await renderer.explained('/phone', { visitor: visitorFor(device, settings) })
    assert(outcome.kind === 'rendered')
    return JSON.parse(/<pre id="a">(.*)<\/pre>/.exec(outcome.html)?.[1] ?? '')
  }
  const settings = { user_agent: 'Own/1.0', viewport: { width: 800, height: 600 }, locale: 'de-CH' }
  assert.deepEqual(await found('mobile', settings), [
    ...[412, 915, 2.625, 412, 5, true, 'Linux armv81', 'de-CH'],
    ...Array(8).fill(true),
  ])
  assert.equal(seen.length, 2)
  for (const headers of seen) {
    assert(String(headers['user-agent']).endsWith(` Mobile Safari/537.36 ${TEST_IDENTITY}`))
    assert.deepEqual([headers['sec-ch-ua-mobile'], headers['sec-ch-ua-platform']], ['?1', '"Android"'])
  }
  // A machine without a mouse has no hover anyhow.
  assert.deepEqual((await found('desktop')).slice(0, -2), [
    ...[1280, 1024, 1, 1280, 0, false, 'Linux x86_64', 'en-US'],
    ...Array(6).fill(false),
  ])
})

describe('two answers', () => {
  const WORDS = Array.from(
    { length: 200 },
    (_, at) => `word${'abcdefghij'[at % 10]}${'klmnopqrst'[Math.floor(at / 10) % 10]}`,
  )
  const TEXT = `<p>${WORDS.join(' ')}</p>`
  const of = (html: string) => ({
    ...{ status: 200, location: null, facts: factsOf(html, 'https://shop.example/') },
  })
  const differ = (desktop: string, mobile: string, again = desktop) =>
    differencesOf(of(desktop), of(mobile), of(again))
  const links = (count: number, token = '') =>
    TEXT + Array.from({ length: count }, (_, at) => `<a href="/${at}${token}">l</a>`).join('')

  it('two answers differ in what is named', () => {
    assert.deepEqual(differ(TEXT, TEXT), [])
    assert.deepEqual(differ(links(20), links(19)), [])
    assert.deepEqual(differ(links(20), links(18)), ['links'])
    const cut = (words: number) => `<p>${WORDS.slice(words).join(' ')}</p>`
    assert.deepEqual(differ(TEXT, cut(10)), [])
    assert.deepEqual(differ(TEXT, cut(11)), ['text'])
    assert.deepEqual(differ(cut(11), TEXT), ['text'])
    assert.deepEqual(differ(TEXT, `<p>${WORDS.toReversed().join(' ')}</p>`), ['text'])
    const heads = (href: string, description: string, data: string) =>
      `<link rel="canonical" href="${href}"><meta name="description" content="${description}">
       <script type="application/ld+json">{"@type":"${data}"}</script>`
    assert.deepEqual(differ(heads('/a', 'x', 'P'), heads('/b', 'y', 'Q')), [
      ...['description', 'canonical', 'structured_data'],
    ])
    const moved = (location: string) => ({ status: 302, location, facts: null })
    assert.deepEqual(differencesOf(moved('/a'), moved('/a')), [])
    assert.deepEqual(differencesOf(moved('/a'), moved('/m')), ['status'])
    assert.deepEqual(differencesOf(of(TEXT), moved('/m')), ['status'])
  })

  it('two answers are alike if only numbers, dates, and what changes each time differ', () => {
    const until = (visits: number, date: string) =>
      `${TEXT}<p>${visits} visits until ${date} GMT+0000 (UTC)</p>`
    assert.deepEqual(differ(until(7, 'Mon Jan 05 2026 10:15:02'), until(19, 'Tue Feb 17 2026 11:07:59')), [])
    assert.deepEqual(differ('<title>3 left</title>', '<title>4 left</title>'), [])
    const teaser = (word: string) => `${TEXT}<p>${`${word} `.repeat(20)}</p>`
    assert.deepEqual(differ(teaser('one'), teaser('two')), ['text'])
    assert.deepEqual(differ(teaser('one'), teaser('two'), teaser('three')), [])
    assert.deepEqual(differ(links(5, '?t=1'), links(5, '?t=2'), links(5, '?t=3')), [])
    assert.deepEqual(differ(TEXT, '<p>for phones</p>', teaser('one')), ['text'])
  })
})

describe('a comparison: two renders that count, and a third one where they differ', async () => {
  const queue = await openQueue()
  const page = (text: string) =>
    readOutcome({ kind: 'rendered', status: 200, headers: [], html: `<p>${text}</p>` })
  const MOVED: RenderOutcome = { kind: 'redirect', status: 302, location: 'https://m.example/' }
  type Case = [string, RenderOutcome, differences: string[] | null, devices: string[], again?: RenderOutcome]
  const CASES: Case[] = [
    ['alike', page('shop'), [], ['desktop', 'mobile']],
    ['different', page('app'), ['text'], ['desktop', 'mobile', 'desktop']],
    ['different each time', page('app'), [], ['desktop', 'mobile', 'desktop'], page('other')],
    ['another status', MOVED, ['status'], ['desktop', 'mobile', 'desktop']],
    ['no page for phones', { kind: 'blank' }, null, ['desktop', 'mobile']],
  ]
  for (const [name, mobile, differences, devices, again = page('shop')] of CASES) {
    it(name, async () => {
      const domain = await queue.domain()
      await checkDevices(queue.pool, domain, ['/a' as PagePath])
      const rendered: string[] = []
      for (let turn = 0; turn < 2; turn++)
        await runNext(queue, async ({ visitor }) => {
          const device = visitor?.device ?? 'desktop'
          rendered.push(device)
          const desktop = rendered.length === 1 ? page('shop') : again
          return { outcome: device === 'mobile' ? mobile : desktop, record: null }
        })
      assert.deepEqual(rendered, devices)
      const [found] = await listDevicePages(queue.pool, domain)
      assert.deepEqual(found!.checkedAt === null ? null : found!.differences, differences)
      assert.equal(await queue.renders(domain), mobile.kind === 'rendered' ? 2 : 1)
      const states = (await queue.jobs(domain)).map(({ state }) => state)
      assert.deepEqual(states, Array(2).fill(mobile.kind === 'blank' ? 'failed' : 'done'))
    })
  }

  it('pages are compared although they are stored under another spelling of the path', async () => {
    const domain = await queue.domain()
    await checkDevices(queue.pool, domain, ['/a' as PagePath])
    for (let turn = 0; turn < 2; turn++)
      await runNext(queue, async ({ visitor, path, customDomain }) => {
        const spelling = { ...MOVED, location: `https://${customDomain}/a?utm_source=x` }
        return { outcome: path === '/a' ? spelling : page(visitor?.device ?? 'desktop'), record: null }
      })
    assert.deepEqual((await listDevicePages(queue.pool, domain))[0]!.differences, ['text'])
  })
})

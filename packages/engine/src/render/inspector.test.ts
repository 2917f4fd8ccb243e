import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import type { DomainName, PagePath } from '@prepaint/contract/ids.ts'
import type { InspectionRequest } from '@prepaint/contract/outcome/renderer.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import ipaddr from 'ipaddr.js'
import { until } from '../../../../test/support/condition.ts'
import { makeDataDir, removeDir, testChromium } from '../../../../test/support/data-dir.ts'
import { serve } from '../../../../test/support/loopback.ts'
import { TEST_IDENTITY } from '../../../../test/support/renderer.ts'
import { startGateway } from '../gateway/gateway.ts'
import { findBrowser } from './browser/browser-binary.ts'
import { PICTURE_LIMIT_BYTES } from './inspect-page.ts'
import { Inspector } from './inspector.ts'

const PIXEL = Buffer.from('R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==', 'base64')

const routes = new Map<string, string>()
const asked: string[] = []
const outside: string[] = []
const origin = await serve((req, res) => {
  asked.push(req.url ?? '')
  if (req.url === '/pixel.gif') {
    res.setHeader('content-type', 'image/gif').end(PIXEL)
    return
  }
  const html = routes.get(req.url ?? '')
  res.writeHead(html === undefined ? 404 : 200, { 'content-type': 'text/html; charset=utf-8' })
  res.end(html ?? '<p>none</p>')
})
const stranger = await serve((req, res) => {
  outside.push(req.url ?? '')
  res.end()
})
const dataDir = makeDataDir()
// Unpacking it once takes longer than any look.
const binary = await findBrowser({ chromium: testChromium, dataDir })
function start(
  t: { after(end: () => unknown): void },
  options: { idleMs?: number; inspectMs?: number } = {},
) {
  const allowed = [{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: origin.port }]
  const openGateway = () => startGateway({ allowed, log: silentLog() })
  const started = new Inspector(openGateway, systemClock, silentLog(), {
    binary,
    dataDir,
    requireSandbox: false,
    identity: TEST_IDENTITY,
    ...options,
  })
  t.after(() => started.close())
  return started
}
const inspector = start({ after })
const look = (request: Partial<InspectionRequest> = {}, by = inspector) =>
  by.inspect({
    customDomain: 'shop.example' as DomainName,
    originUrl: origin.url,
    path: '/' as PagePath,
    signal: new AbortController().signal,
    ...request,
  })

after(async () => {
  await origin.close()
  await stranger.close()
  removeDir(dataDir)
})

it('a person gets scripts and pictures, and what the console says is heard', async () => {
  routes.set(
    '/',
    `<title>Shop</title><img src="/pixel.gif"><div id="app"></div><script>
      document.getElementById('app').textContent = 'Drawn by a script at ' + location.href
      console.error('a thing to know')
      fetch('/missing')
    </script>`,
  )
  const found = await look()
  assert.match(found.html ?? '', /Drawn by a script at https:\/\/shop\.example\//)
  assert.equal(found.picture.subarray(8, 12).toString(), 'WEBP')
  assert.deepEqual([found.status, found.url, found.isCut], [200, 'https://shop.example/', false])
  assert(asked.includes('/pixel.gif'))
  assert.equal(found.consoleErrors.texts[0], 'a thing to know')
  const [trouble, ...others] = found.troubles
  assert.deepEqual([trouble?.url, trouble?.reason], ['https://shop.example/missing', 'status 404'])
  assert.equal(others.length, 0)
  assert(Number(found.loadedMs) > 0)
})

it('a picture is as wide as the screen, 412 pixels by 2.625 of a phone, cut on a long page, and bounded', async () => {
  const head = '<meta name="viewport" content="width=device-width">'
  routes.set('/', `${head}<body style="margin: 0; height: 30000px; background: linear-gradient(red, blue)">`)
  const widthFor = async (visitor: InspectionRequest['visitor']) => {
    const { picture, isCut } = await look({ visitor })
    assert(isCut && picture.length <= PICTURE_LIMIT_BYTES)
    const isExtended = picture.subarray(12, 16).toString() === 'VP8X'
    return isExtended ? picture.readUIntLE(24, 3) + 1 : picture.readUInt16LE(26) & 0x3fff
  }
  assert.deepEqual([await widthFor({}), await widthFor({ device: 'mobile' })], [1280, 1082])
})

// Proves decided "Inspections"
it('a given document is shown without its scripts, with its pictures, never asked for, and leads nowhere', async () => {
  routes.set('/elsewhere', '<p>elsewhere</p>')
  const html = `<meta http-equiv="refresh" content="0;url=/elsewhere"><body style="background: url(/pixel.gif)"><p>stored</p>
    <script>fetch('/ran')</script><img src="x:" onerror="fetch('/ran')">
    <a href="javascript:fetch('/ran')">x</a><iframe srcdoc="<script>fetch('/ran')</script>"></iframe></body>`
  asked.length = 0
  const found = await look({ path: '/stored' as PagePath, given: { status: 404, html } })
  assert.deepEqual([found.status, found.html, found.url], [404, null, 'https://shop.example/stored'])
  assert(asked.includes('/pixel.gif'))
  for (const path of ['/ran', '/stored', '/elsewhere']) assert(!asked.includes(path), asked.join())
})

it('reaches nothing inside: neither a page of a person nor a given one', async () => {
  const { url } = stranger
  const html = `<link rel="stylesheet" href="${url}/css"><img src="${url}/img"><iframe src="${url}/frame"></iframe>
    <meta http-equiv="refresh" content="0;url=${url}/refresh"><script>fetch('${url}/fetch')</script>`
  routes.set('/', html)
  // Where it has been led, nothing can be loaded.
  await look().catch(() => {})
  await look({ given: { status: 200, html } }).catch(() => {})
  assert.deepEqual(outside, [])
})

it('a page that fails ends no other that is looked at meanwhile', async () => {
  routes.set('/endless', '<script>for (;;);</script>')
  routes.set('/second', '<p>fine</p>')
  const gone = new AbortController()
  const failing = assert.rejects(look({ path: '/endless' as PagePath, signal: gone.signal }), /gone/)
  await until('the first has begun', async () => asked.includes('/endless'))
  const other = look({ path: '/second' as PagePath })
  await until('the other has begun', async () => asked.includes('/second'))
  gone.abort(new Error('gone'))
  await failing
  assert.match((await other).html ?? '', /fine/)
  assert.match((await look({ path: '/second' as PagePath })).html ?? '', /fine/)
})

it('a page that hangs ends alone, and the next inspection works', async (t) => {
  const impatient = start(t, { inspectMs: 3_000 })
  routes.set('/', '<p>x</p><script>setTimeout(() => { for (;;); })</script>')
  await assert.rejects(look({}, impatient), /took too long/)
  routes.set('/', '<p>fine</p>')
  const isFine = async () => /fine/.test((await look({}, impatient)).html ?? '')
  await until('the next is looked at', isFine, 60_000)
})

it('two inspections share nothing, and an unused browser ends', async (t) => {
  const short = start(t, { idleMs: 50 })
  const script = `<script>p.textContent = document.cookie; document.cookie = 'a=1'</script>`
  routes.set('/', `<p id="p"></p>${script}`)
  const both = await Promise.all([look({}, short), look({}, short)])
  for (const { html } of [...both, await look({}, short)]) assert.match(html ?? '', /<p id="p"><\/p>/)
  await until('the browser has gone', async () => !short.isAwake, 60_000)
})

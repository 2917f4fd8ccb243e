/** A page that stays in its tab, asleep, between two renders: what it may do there, which is nothing, and when it may not stay. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import v8 from 'node:v8'
import vm from 'node:vm'
import { until } from '../../../test/support/condition.ts'
import { javascript, openRenderer, scripted } from '../../../test/support/renderer.ts'
import { NetworkActivity } from '../time/network-activity.ts'
import { MainDocument } from '../visit/main-document.ts'

const renderer = await openRenderer({ slots: 1, timeoutMs: 60_000 })
const { routes } = renderer

const KEPT = `JSON.stringify({ cookie: document.cookie, local: { ...localStorage }, session: { ...sessionStorage } })`
const NOTHING = JSON.stringify({ cookie: '', local: {}, session: {} })
const WRITE = (what: string) =>
  `document.cookie = '${what}=1'; localStorage.${what} = 1; sessionStorage.${what} = 1`
routes.set('/next', scripted(`show(${KEPT}); setTimeout(() => show('later ' + ${KEPT}), 3000)`))

/** The page, and what the next one in the same tab finds: nothing. */
async function isForgotten(name: string, script: string): Promise<void> {
  routes.set(`/${name}`, scripted(`show('a'); ${script}`))
  const domain = `${name}.example`
  await renderer.html(`/${name}`, { domain })
  assert.deepEqual(await renderer.shown('/next', { domain }), [NOTHING, `later ${NOTHING}`])
}

describe('a page that is parked: the next one finds nothing of it', () => {
  const PAGES: Record<string, string> = {
    'has written': WRITE('written'),
    'has timers still to come': `setTimeout(() => { ${WRITE('timer')} }, 60000); setInterval(() => { ${WRITE('interval')} }, 700)`,
    'posts itself messages for ever': `const { port1, port2 } = new MessageChannel(); port1.onmessage = () => { ${WRITE('message')}; setTimeout(() => port2.postMessage(1), 50) }; port2.postMessage(1)`,
    'listens to its end': `for (const event of ['beforeunload', 'pageswap', 'pagehide', 'unload', 'visibilitychange']) { addEventListener(event, () => { ${WRITE('farewell')} }); window['on' + event] = () => { ${WRITE('handler')} } }`,
    'listens to its end after document.open': `setTimeout(() => { document.open(); document.write('<!doctype html><p>new</p>'); document.close(); for (const event of ['pagehide', 'unload']) addEventListener(event, () => { ${WRITE('reopened')} }) }, 100)`,
    'has a frame that listens to its end': `const frame = document.createElement('iframe'); frame.srcdoc = "<script>addEventListener('pagehide', () => { ${WRITE('inner')} })</" + "script>"; document.body.append(frame)`,
    'has replaced what tells the date': `window.File = window.Date = class { lastModified = 0; static now() { return 0 } }`,
  }
  for (const [name, script] of Object.entries(PAGES))
    it(`and ${name}`, () => isForgotten(name.replaceAll(/\W+/g, '-'), script))

  it('shared workers, sockets and open requests are left before the next page comes', async () => {
    routes.set('/worker.js', javascript(`setInterval(() => fetch('/beat'), 50)`))
    let slow = () => {}
    routes.set('/slow', (_request, response) => {
      slow = () => response.setHeader('set-cookie', 'slow=1').end('{}')
    })
    const soon = `setTimeout(() => { window.prerenderReady = true }, 100)`
    await isForgotten('worker', `window.worker = new SharedWorker('/worker.js'); ${soon}`)
    await isForgotten('slow', `fetch('/slow').catch(() => {}); window.prerenderReady = true`)
    slow()
    const before = renderer.asked.filter((path) => path === '/beat').length
    await renderer.html('/next', { domain: 'worker.example' })
    assert.equal(renderer.asked.filter((path) => path === '/beat').length, before)
  })
})

it('what a render found is not kept by the tab that it used', async () => {
  v8.setFlagsFromString('--expose-gc')
  const heldMb = () => {
    vm.runInNewContext('gc')()
    return process.memoryUsage().heapUsed / 1e6
  }
  routes.set('/long', `<p>${'content '.repeat(125_000)}`)
  await renderer.html('/long?0')
  const before = heldMb()
  for (let n = 1; n <= 20; n++) await renderer.html(`/long?${n}`)
  await until('the pages are gone', () => heldMb() - before < 6)
})

describe('whether a page may be parked', () => {
  const frame = { id: 'main' } as never
  const request = (requestId: string) =>
    ({ requestId, url: '', request: { method: 'GET', url: `https://a.example/${requestId}` } }) as never
  const say = (payload: string) => ({ payload }) as never

  it('never after a worker, a socket or document.open', () => {
    for (const [event, params] of [
      ['Runtime.bindingCalled', say('worker')],
      ['Network.webSocketCreated', request('1')],
      ['Network.webTransportCreated', request('1')],
      ['Page.documentOpened', { frame } as never],
    ] as const) {
      const activity = new NetworkActivity(() => 0)
      ;(activity.listeners[event] as (params: never) => void)(params)
      assert.equal(activity.canPark(), false, event)
    }
  })

  it('the next page has arrived when the main frame has it, not one below', async () => {
    const site = { customDomain: 'a.example', originUrl: 'http://o.example', path: '/' }
    const { listeners, arrived } = new MainDocument('main', site, { reached() {} }, () => {})
    let has = false
    void arrived.then(() => {
      has = true
    })
    listeners['Page.frameNavigated']?.({ frame: { id: 'other' } as never, type: 'Navigation' })
    await Promise.resolve()
    assert.equal(has, false)
    listeners['Page.frameNavigated']?.({ frame, type: 'Navigation' })
    await arrived
  })
})

/** The gateway with the browser that it is for. What it keeps a hostile page from is in packages/engine/src/render/hostile-page.test.ts. */
import assert from 'node:assert/strict'
import { after, beforeEach, it } from 'node:test'
import { silentLog } from '@prepaint/runtime/log.ts'
import { until } from '../../../../test/support/condition.ts'
import { makeDataDir, removeDir, testChromium } from '../../../../test/support/data-dir.ts'
import { CUSTOM_DOMAIN, startTestGateway } from '../../../../test/support/gateway.ts'
import { findBrowser } from '../render/browser/browser-binary.ts'
import { launchBrowser } from '../render/browser/browser-process.ts'
import { signIn } from '../render/tab/sign-in.ts'

const { gateway, site, originPort } = await startTestGateway(
  { after },
  {
    origin({ url }, response) {
      if (url === '/hung')
        return response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      if (url === '/apart') response.setHeader('cross-origin-opener-policy', 'same-origin')
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>page</title>')
    },
  },
)
const dataDir = makeDataDir()
after(() => removeDir(dataDir))
const browser = await launchBrowser({
  binary: await findBrowser({ chromium: testChromium, dataDir }),
  dataDir,
  spkiHash: gateway.spkiHash,
  pageMemoryBytes: 2 ** 40,
  requireSandbox: false,
  log: silentLog(),
})
after(() => browser.kill('the test is over'))
const { cdp } = browser
const proxy = { proxyServer: site.proxyUrl, proxyBypassList: '<-loopback>' }
const { browserContextId } = await cdp.browser.send('Target.createBrowserContext', proxy)
const { targetId } = await cdp.browser.send('Target.createTarget', { url: 'about:blank', browserContextId })
const { sessionId } = await cdp.browser.send('Target.attachToTarget', { targetId, flatten: true })
const page = cdp.session(sessionId)
await signIn(cdp, targetId, site)

async function evaluate(body: string): Promise<unknown> {
  const expression = `(async () => { ${body} })()`
  const how = { expression, awaitPromise: true, returnByValue: true }
  const { result, exceptionDetails } = await page.send('Runtime.evaluate', how)
  assert.equal(exceptionDetails, undefined, exceptionDetails?.exception?.description)
  return result.value
}

async function visit(path: string): Promise<void> {
  const { errorText } = await page.send('Page.navigate', { url: `https://${CUSTOM_DOMAIN}${path}` })
  assert.equal(errorText, undefined)
  await until('it is loaded', () => evaluate(`return document.readyState === 'complete'`))
}

async function hostsMade(): Promise<number> {
  const query = 'Navigation.CreateSpeculativeRFH'
  const { histograms } = await cdp.browser.send('Browser.getHistograms', { query })
  return histograms.reduce((sum, { count }) => sum + count, 0)
}

beforeEach(() => visit('/'))

it('goes on although more requests hang than Chromium has connections', async () => {
  const seen = await evaluate(`
    const hung = Array.from({ length: 20 }, () => new EventSource('/hung'))
    await Promise.all(hung.map((source) => new Promise((open) => { source.onopen = open })))
    return (await fetch('/ok')).status`)
  assert.equal(seen, 200)
})

// A navigation that Chromium refuses ended the browser when its frame had a second host (docs/decisions/0020-navigation-races.md).
it('frames keep their host, wherever they go', async () => {
  const before = await hostsMade()
  const went = await evaluate(`
    const to = ['data:text/html,x', 'http://127.0.0.1:${originPort}/ok', '/ok', 'about:blank', 'https://other.example/']
    for (const sandbox of [null, 'allow-scripts', '']) {
      const frame = document.createElement('iframe')
      if (sandbox !== null) frame.sandbox = sandbox
      document.body.append(frame)
      for (const url of [...to, ...to.reverse()]) {
        await new Promise((loaded) => { frame.onload = loaded; frame.src = url })
      }
    }
    return document.querySelectorAll('iframe').length`)
  assert.equal(went, 3)
  assert.equal(await hostsMade(), before)
  // The other half: where a host is made, it is counted.
  await visit('/apart')
  assert((await hostsMade()) > before)
})

import assert from 'node:assert/strict'
import type http from 'node:http'
import { after } from 'node:test'
import { silentLog } from '../../src/log.ts'
import { findBrowser } from '../../src/render/browser/browser-binary.ts'
import { launchBrowser } from '../../src/render/browser/browser-process.ts'
import { until } from './condition.ts'
import { makeDataDir, removeDir, testChromium } from './data-dir.ts'
import { CUSTOM_DOMAIN, startTestGateway } from './gateway.ts'

const dataDir = makeDataDir()
const binary = await findBrowser({ chromium: testChromium, dataDir })
after(() => removeDir(dataDir))

export type Answer = (request: http.IncomingMessage, response: http.ServerResponse) => string | undefined

export function html(body: string): Answer {
  return () => `<!doctype html><title>page</title>${body}`
}

export async function openTestPage(t: { after(end: () => unknown): void }, answers: Record<string, Answer>) {
  const tested = await startTestGateway(t, {
    origin: (request, response) => {
      const { pathname } = new URL(request.url ?? '', 'http://x')
      if (pathname === '/') response.setHeader('content-type', 'text/html')
      const body = answers[pathname]?.(request, response)
      if (body !== undefined) response.end(body)
      else if (answers[pathname] === undefined) response.writeHead(404).end()
    },
  })
  const browser = await launchBrowser({
    binary,
    dataDir,
    spkiHash: tested.gateway.spkiHash,
    pageMemoryBytes: 2 ** 40,
    requireSandbox: false,
    log: silentLog(),
  })
  t.after(() => browser.kill('the test is over'))
  const { cdp } = browser
  const { browserContextId } = await cdp.browser.send('Target.createBrowserContext', {
    proxyServer: tested.site.proxyUrl,
    proxyBypassList: '<-loopback>',
  })
  const { targetId } = await cdp.browser.send('Target.createTarget', { url: 'about:blank', browserContextId })
  const { sessionId } = await cdp.browser.send('Target.attachToTarget', { targetId, flatten: true })
  const page = cdp.session(sessionId)
  const evaluate = async (body: string): Promise<unknown> => {
    const { result, exceptionDetails } = await page.send('Runtime.evaluate', {
      expression: `(async () => { ${body} })()`,
      awaitPromise: true,
      returnByValue: true,
    })
    assert.equal(exceptionDetails, undefined, exceptionDetails?.exception?.description)
    return result.value
  }
  const visit = async (pathname: string) => {
    const { errorText } = await page.send('Page.navigate', { url: `https://${CUSTOM_DOMAIN}${pathname}` })
    assert.equal(errorText, undefined)
    await until('it is loaded', () => evaluate(`return document.readyState === 'complete'`))
  }
  await visit('/')

  return {
    tested,
    visit,
    evaluate,
    async hostsMade(): Promise<number> {
      const query = 'Navigation.CreateSpeculativeRFH'
      const { histograms } = await cdp.browser.send('Browser.getHistograms', { query })
      return histograms.reduce((sum, { count }) => sum + count, 0)
    },
  }
}

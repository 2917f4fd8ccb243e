/** A document is read as soon as it comes, although the page's clock stands. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../../../test/support/condition.ts'
import { makeDataDir, removeDir, testChromium } from '../../../test/support/data-dir.ts'
import { silentLog } from '../../log.ts'
import { findBrowser } from '../browser/browser-binary.ts'
import { type BrowserProcess, launchBrowser } from '../browser/browser-process.ts'
import type { CdpListeners, CdpSession } from '../browser/cdp.ts'
import { PAGE_LIMITS } from '../outcome.ts'
import { openPage } from '../tab/page.ts'
import { VirtualClock } from './virtual-clock.ts'

describe('in Chromium', () => {
  let dataDir: string
  let browser: BrowserProcess
  before(async () => {
    dataDir = makeDataDir()
    browser = await launchBrowser({
      binary: await findBrowser({ chromium: testChromium, dataDir }),
      dataDir,
      spkiHash: null,
      pageMemoryBytes: PAGE_LIMITS.memoryBytes,
      requireSandbox: false,
      log: silentLog(),
    })
  })
  after(async () => {
    await browser?.kill('the test is over')
    removeDir(dataDir)
  })
  const open = async () => {
    const { browserContextId } = await browser.cdp.browser.send('Target.createBrowserContext', {})
    return openPage(browser, browserContextId)
  }
  /** A document whose script can only have run if it was read. */
  const go = (session: CdpSession, title: string) =>
    session.send('Page.navigate', { url: `data:text/html,<script>document.title = '${title}'</script>` })
  const untilTitled = (session: CdpSession, title: string) =>
    until(`the document is read: ${title}`, async () => {
      const { result } = await session.send('Runtime.evaluate', { expression: 'document.title' })
      return result.value === title
    })
  const TIMER = `new Promise((resolve) => setTimeout(resolve, 10, 'gone off'))`

  it('the first document and each after it are read before time is granted, and no timer goes off before that', async () => {
    const page = await open()
    for (const title of ['first', 'second', 'third']) {
      await go(page.session, title)
      await untilTitled(page.session, title)
      const timer = page.session.send('Runtime.evaluate', { expression: TIMER, awaitPromise: true })
      assert.equal(await Promise.race([timer.then(() => 'gone off'), delay(50, 'waits')]), 'waits')
      const { expired } = await page.clock.grant('pauseIfNetworkFetchesPending', 5_000)
      assert.equal((await timer).result.value, 'gone off')
      assert.equal(await expired, 'expired')
      await page.prepareNext()
    }
  })
})

describe('Chromium is told to let the clock stand', () => {
  /** A clock of a page that does not answer; what it was told, and the event that a budget has expired. */
  async function openClock() {
    const told: string[] = []
    let events: CdpListeners = {}
    const session: CdpSession = {
      send: async (_method, ...params) => {
        told.push((params as [{ policy: string }])[0].policy)
        return {} as never
      },
      listen: (listeners) => {
        events = listeners
      },
    }
    const browser = { send: async () => ({ sessionId: 'clock' }), listen() {} } as unknown as CdpSession
    const clock = await VirtualClock.open({ browser, session: () => session, endSession() {} }, 'page')
    const budgetExpired = () => events['Emulation.virtualTimeBudgetExpired']?.(undefined)
    return { clock, told, budgetExpired }
  }

  it('only where it does not: it does when what was granted is used up', async () => {
    const { clock, told, budgetExpired } = await openClock()
    await clock.pause()
    await clock.pause()
    await clock.grant('advance', 5)
    await clock.grant('advance', 5)
    budgetExpired()
    // The other grant goes on.
    await clock.pause()
    budgetExpired()
    await clock.pause()
    await clock.grant('advance', 5)
    budgetExpired()
    await clock.pause()
    assert.deepEqual(told, ['pause', 'advance', 'advance', 'advance', 'pause', 'advance'])
  })
})

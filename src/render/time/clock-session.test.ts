/** A document is read as soon as it comes, although the page's clock stands; what Chromium was told of the page stays. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { makeDataDir, removeDir, testChromium } from '../../../test/support/data-dir.ts'

import { silentLog } from '../../log.ts'
import { findBrowser } from '../browser/browser-binary.ts'
import { type BrowserProcess, launchBrowser } from '../browser/browser-process.ts'
import type { CdpConnection, CdpListeners, CdpSession } from '../browser/cdp.ts'
import { PAGE_LIMITS } from '../outcome.ts'
import { openPage } from '../tab/page.ts'
import { VirtualClock } from './virtual-clock.ts'

const DAY_MS = 24 * 3_600_000

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
  const open = async (opener = browser) => {
    const { browserContextId } = await browser.cdp.browser.send('Target.createBrowserContext', {})
    return openPage(opener, browserContextId)
  }
  /** A document whose script can only have run if it was read. */
  const go = (session: CdpSession, title: string) =>
    session.send('Page.navigate', { url: `data:text/html,<script>document.title = '${title}'</script>` })
  const untilTitled = async (session: CdpSession, title: string) => {
    for (let looks = 0; looks < 1_000; looks++) {
      const { result } = await session.send('Runtime.evaluate', { expression: 'document.title' })
      if (result.value === title) return
      await delay(5)
    }
    assert.fail(`the document is not read: ${title}`)
  }
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

  it('so is one whose page has rested, and is taken to the date of today', async () => {
    const page = await open()
    const dateMs = Date.now() + DAY_MS
    await page.date.begin(dateMs)
    await go(page.session, 'today')
    await untilTitled(page.session, 'today')
    const { result } = await page.session.send('Runtime.evaluate', { expression: 'Date.now()' })
    assert.ok(Math.abs(Number(result.value) - dateMs) < 1_000, String(result.value))
  })

  it('the page goes on to tell of itself what it was told to', async () => {
    const page = await open({ ...browser, cdp: cdpOnPlan9() })
    const tells = async () => {
      const expression = '[navigator.platform, navigator.userAgent, navigator.languages].join()'
      return String((await page.session.send('Runtime.evaluate', { expression })).result.value)
    }
    const before = await tells()
    assert.match(before, /^Plan 9,Mozilla.*,en-US,en$/)
    await page.prepareNext()
    assert.equal(await tells(), before)
  })

  const cdpOnPlan9 = (): CdpConnection => {
    const { cdp } = browser
    const { browser: root, closed } = cdp
    return { browser: root, closed, session: onPlan9, endSession: (id) => cdp.endSession(id) }
  }

  /** Not what the machine of the test would say of itself. */
  function onPlan9(id: string): CdpSession {
    const session = browser.cdp.session(id)
    return {
      ...session,
      send: (method, ...params) => {
        const given = method === 'Emulation.setUserAgentOverride' ? { platform: 'Plan 9' } : {}
        return session.send(method, ...([{ ...params[0], ...given }] as never))
      },
    }
  }
})

describe('Chromium is told to let the clock stand', () => {
  it('only where it does not: it does when what was granted is used up', async () => {
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
    const browser: CdpSession = {
      send: async (_method, ..._params) => ({ sessionId: 'clock' }) as never,
      listen() {},
    }
    const clock = await VirtualClock.open({ browser, session: () => session, endSession() {} }, 'page')
    const budgetExpired = () => events['Emulation.virtualTimeBudgetExpired']?.(undefined)
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

  it('a budget that an early end left over is not taken for the last one', async () => {
    let events: CdpListeners = {}
    const session: CdpSession = {
      send: async () => ({}) as never,
      listen: (listeners) => {
        events = listeners
      },
    }
    const browser: CdpSession = {
      send: async (_method, ..._params) => ({ sessionId: 'clock' }) as never,
      listen() {},
    }
    const clock = await VirtualClock.open({ browser, session: () => session, endSession() {} }, 'page')
    const ended: string[] = []
    const grant = async (name: string, ms: number) => {
      const { expired } = await clock.grant('advance', ms)
      void expired.then(() => ended.push(name))
    }
    const budgetExpired = async () => {
      events['Emulation.virtualTimeBudgetExpired']?.(undefined)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await grant('left over', 300)
    await grant('short', 100)
    await budgetExpired()
    assert.deepEqual(ended, ['short'])
    await grant('long', 500)
    await budgetExpired()
    assert.deepEqual(ended, ['short', 'left over'])
    await budgetExpired()
    assert.deepEqual(ended, ['short', 'left over', 'long'])
  })
})

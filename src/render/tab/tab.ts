import { setTimeout as delay } from 'node:timers/promises'

import type { BrowserProcess } from '../browser/browser-process.ts'
import type { CdpSession } from '../browser/cdp.ts'
import type { Visitor } from '../outcome.ts'
import { openPage, type Page } from './page.ts'

/**
 * A browser context of its own with one page in it. A context serves one domain,
 * and one render at a time: storage is shared inside a context, so a second
 * render beside the first would see, and have wiped, what the first one writes.
 */
export type Tab = {
  /** Another one after each `clean(true)`. */
  readonly page: Page
  /** Resolves with the reason when the page has died or the tab was closed. */
  readonly lost: Promise<string>
  /**
   * Everything the last render left is wiped, the caches stay warm. With
   * `renewProcess` the page itself is replaced too. Rejects when that did not work.
   */
  clean(renewProcess: boolean): Promise<void>
  /** The page of the last render is still there, without scripts and without time. */
  readonly isAsleep: boolean
  /** Right before the visit of `url`: scripts will run again, in the page that comes. */
  wake(url: string): Promise<void>
  /** To about:blank: what the sleeping page holds in memory is given back. Rejects as `clean` does. */
  leave(): Promise<void>
  /** The page and its context are gone, also when the page hangs. Never rejects. */
  close(): Promise<void>
}

/** Named one by one: `all` would also empty the shader cache, which takes five times as long as the rest. */
const STORAGE_TYPES =
  'cookies,local_storage,indexeddb,cache_storage,service_workers,file_systems,websql,shared_storage,storage_buckets'

export async function openTab(
  browser: BrowserProcess,
  proxyUrl: string,
  visitor: Visitor = {},
): Promise<Tab> {
  const { cdp } = browser
  const { browserContextId } = await cdp.browser.send('Target.createBrowserContext', {
    disposeOnDetach: true,
    proxyServer: proxyUrl,
    proxyBypassList: '<-loopback>',
  })
  const { promise: lost, resolve: lose } = Promise.withResolvers<string>()
  void browser.ended.then(lose)

  const close = async () => {
    lose('closed')
    browser.contextWorkers.forget(browserContextId)
    await cdp.browser.send('Target.disposeBrowserContext', { browserContextId }).catch(() => {})
  }
  const open = async () => {
    const opened = await openPage(browser, browserContextId, visitor)
    void opened.lost.then((why) => page === opened && lose(why))
    return opened
  }

  let page: Page
  let isAsleep = false
  let sleepsAt = ''
  try {
    // Before the first page exists: grants nothing, and refuses all the rest.
    await Promise.all([
      cdp.browser.send('Browser.grantPermissions', { permissions: [], browserContextId }),
      cdp.browser.send('Browser.setDownloadBehavior', { behavior: 'deny', browserContextId }),
    ])
    page = await open()
  } catch (error) {
    await close()
    throw error
  }

  const leave = async () => {
    await toBlank(page.session)
    isAsleep = false
    await Promise.all([
      page.session.send('Emulation.setScriptExecutionDisabled', { value: false }),
      page.session.send('Page.resetNavigationHistory'),
    ])
  }

  return {
    get page() {
      return page
    },
    lost,
    async clean(renewProcess) {
      // First the page goes, with its timers, sockets and workers; without its
      // farewell handlers, whose last cookie could otherwise arrive after the wipe.
      const used = page
      if (used.hasCredentials) throw new Error('the context may remember credentials')
      // One after the other: the browser's process hears of the second, the page's of the first.
      await used.session.send('Emulation.setScriptExecutionDisabled', { value: true })
      isAsleep = used.isStill && !renewProcess
      used.isStill = false
      if (!isAsleep) await toBlank(used.session)
      if (renewProcess) {
        page = await open()
        await used.close()
      } else {
        await used.clock.drain()
        if (!isAsleep) await used.session.send('Emulation.setScriptExecutionDisabled', { value: false })
      }
      const [address] = await Promise.all([
        isAsleep ? addressOf(page.session) : '',
        cdp.browser.send('Storage.clearCookies', { browserContextId }),
        // `*`: of every origin, frames of strangers included.
        page.session.send('Storage.clearDataForOrigin', { origin: '*', storageTypes: STORAGE_TYPES }),
        page.session.send('Page.resetNavigationHistory'),
      ])
      sleepsAt = address
      // Another page has done so itself.
      if (page === used) await page.expectNext()
    },
    get isAsleep() {
      return isAsleep
    },
    async wake(url) {
      if (!isAsleep) return
      // To where it is already, Chromium would only reload it: the page could tell.
      if (url === sleepsAt) return leave()
      isAsleep = false
      // Not waited for: it is there long before the first byte of the next page.
      void page.session.send('Emulation.setScriptExecutionDisabled', { value: false }).catch(() => {})
    },
    leave,
    close,
  }
}

/** `Page.navigate` answers before the old page is gone; the browser's own history tells when it is. */
async function toBlank(session: CdpSession): Promise<void> {
  await session.send('Page.navigate', { url: 'about:blank' })
  while ((await addressOf(session)) !== 'about:blank') await delay(1)
}

async function addressOf(session: CdpSession): Promise<string> {
  const { currentIndex, entries } = await session.send('Page.getNavigationHistory')
  return entries[currentIndex]?.url ?? ''
}

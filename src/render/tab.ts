import { setTimeout as delay } from 'node:timers/promises'

import type { BrowserProcess } from './browser-process.ts'
import type { CdpSession } from './cdp.ts'
import type { Visitor } from './outcome.ts'
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
    await cdp.browser.send('Target.disposeBrowserContext', { browserContextId }).catch(() => {})
  }
  const open = async () => {
    const opened = await openPage(browser, browserContextId, visitor)
    void opened.lost.then((why) => page === opened && lose(why))
    return opened
  }

  let page: Page
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

  return {
    get page() {
      return page
    },
    lost,
    async clean(renewProcess) {
      // First the page goes, with its timers, sockets and workers; without its
      // farewell handlers, whose last cookie could otherwise arrive after the wipe.
      const used = page
      // One after the other: the browser's process hears of the second, the page's of the first.
      await used.session.send('Emulation.setScriptExecutionDisabled', { value: true })
      await leave(used.session)
      if (renewProcess) {
        page = await open()
        await used.close()
      } else {
        await used.clock.drain()
        await used.session.send('Emulation.setScriptExecutionDisabled', { value: false })
      }
      await Promise.all([
        cdp.browser.send('Storage.clearCookies', { browserContextId }),
        // `*`: of every origin, frames of strangers included.
        page.session.send('Storage.clearDataForOrigin', { origin: '*', storageTypes: STORAGE_TYPES }),
        page.session.send('Page.resetNavigationHistory'),
      ])
    },
    close,
  }
}

/** `Page.navigate` answers before the old page is gone; the browser's own history tells when it is. */
async function leave(session: CdpSession): Promise<void> {
  await session.send('Page.navigate', { url: 'about:blank' })
  for (;;) {
    const { currentIndex, entries } = await session.send('Page.getNavigationHistory')
    if (entries[currentIndex]?.url === 'about:blank') return
    await delay(1)
  }
}

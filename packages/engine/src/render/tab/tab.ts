import { setTimeout as delay } from 'node:timers/promises'
import type { GatewaySite } from '../../gateway/site.ts'
import type { BrowserProcess } from '../browser/browser-process.ts'
import type { CdpSession } from '../browser/cdp.ts'
import { Page, type PageKind } from './page.ts'

/** Clearing `all` would also empty the shader cache, which takes five times as long. */
const STORAGE_TYPES =
  'cookies,local_storage,indexeddb,cache_storage,service_workers,file_systems,websql,shared_storage,storage_buckets'

export async function openContext({ cdp }: BrowserProcess, proxyServer: string): Promise<string> {
  const { browserContextId } = await cdp.browser.send('Target.createBrowserContext', {
    disposeOnDetach: true,
    proxyServer,
    proxyBypassList: '<-loopback>',
  })
  try {
    await Promise.all([
      cdp.browser.send('Browser.grantPermissions', { permissions: [], browserContextId }),
      cdp.browser.send('Browser.setDownloadBehavior', { behavior: 'deny', browserContextId }),
    ])
  } catch (error) {
    await closeContext({ cdp }, browserContextId)
    throw error
  }
  return browserContextId
}

export async function closeContext({ cdp }: Pick<BrowserProcess, 'cdp'>, browserContextId: string) {
  await cdp.browser.send('Target.disposeBrowserContext', { browserContextId }).catch(() => {})
}

/** A browser context with one page, for one domain and one render at a time, because renders would share storage. */
export class Tab {
  readonly key: string
  readonly site: GatewaySite
  renders = 0
  readonly #browser: BrowserProcess
  readonly #contextId: string
  readonly #kind: PageKind
  readonly #loss = new AbortController()
  #page: Page | null = null
  #isParked = false
  #parkedAt = ''
  #closed: Promise<void> | null = null

  static async open(browser: BrowserProcess, site: GatewaySite, key: string, kind: PageKind): Promise<Tab> {
    const contextId = await openContext(browser, site.proxyUrl).catch(async (error) => {
      await site.close()
      throw error
    })
    const tab = new Tab(browser, contextId, site, key, kind)
    try {
      await tab.#openPage()
    } catch (error) {
      await tab.close()
      throw error
    }
    return tab
  }

  private constructor(
    browser: BrowserProcess,
    contextId: string,
    site: GatewaySite,
    key: string,
    kind: PageKind,
  ) {
    this.#browser = browser
    this.#contextId = contextId
    this.site = site
    this.key = key
    this.#kind = kind
    void browser.ended.then((why) => this.#loss.abort(why))
  }

  /** Aborts when the tab can render no more; its reason says why. A promise would keep what each render attaches. */
  get lost(): AbortSignal {
    return this.#loss.signal
  }

  get page(): Page {
    if (this.#page === null) throw new Error('the tab has no page yet')
    return this.#page
  }

  /** Whether the last page is still there, without scripts and with its clock stopped. */
  get isParked(): boolean {
    return this.#isParked
  }

  /** Makes the tab as new. Rejects if that fails, after which it must be closed. */
  async clean(renewProcess: boolean): Promise<void> {
    // Leave the page first, with scripts off: no unload handler can set a cookie after the wipe.
    const used = this.page
    const { session } = used
    if (used.hasCredentials) throw new Error('the context may remember credentials')
    if (this.site.hasRefused) throw new Error('the context may have lost the credentials of its gateway')
    // Awaited: the page's process handles these commands, the browser's process the next.
    const [heldBytes] = await Promise.all([
      heldBytesOf(session),
      session.send('Emulation.setScriptExecutionDisabled', { value: true }),
    ])
    const isFull = heldBytes > HELD_LIMIT_BYTES
    this.#isParked = used.canPark && !renewProcess && !isFull
    used.canPark = false
    if (!this.#isParked) await toBlank(session)
    if (isFull && !renewProcess) await session.send('HeapProfiler.collectGarbage')
    if (renewProcess) {
      await this.#openPage()
      await used.close()
    } else {
      await used.clock.drain()
      if (!this.#isParked) await session.send('Emulation.setScriptExecutionDisabled', { value: false })
    }
    const { session: kept } = this.page
    const [address] = await Promise.all([
      this.#isParked ? addressOf(kept) : '',
      // `*`: every origin, including frames of other sites.
      kept.send('Storage.clearDataForOrigin', { origin: '*', storageTypes: STORAGE_TYPES }),
      kept.send('Page.resetNavigationHistory'),
    ])
    // Last: a cookie that a page has just set may still be on its way to the network process.
    await this.#browser.cdp.browser.send('Storage.clearCookies', { browserContextId: this.#contextId })
    this.#parkedAt = address
    if (this.page === used) await used.prepareNext()
  }

  /** Lets scripts run again where the last page is still there. Call before navigating to `url`. */
  async unpark(url: string): Promise<void> {
    if (!this.#isParked) return
    // At the same address Chromium would only reload, which the page could notice.
    if (url === this.#parkedAt) return this.leave()
    this.#isParked = false
    // Not awaited: it is done long before the next page's first byte.
    void this.page.session.send('Emulation.setScriptExecutionDisabled', { value: false }).catch(() => {})
  }

  /** Leaves a parked page for about:blank. */
  async leave(): Promise<void> {
    const { session } = this.page
    await toBlank(session)
    this.#isParked = false
    if ((await heldBytesOf(session)) > IDLE_LIMIT_BYTES) await session.send('HeapProfiler.collectGarbage')
    await Promise.all([
      session.send('Emulation.setScriptExecutionDisabled', { value: false }),
      session.send('Page.resetNavigationHistory'),
    ])
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#loss.abort('closed')
    this.#browser.contextWorkers.forget(this.#contextId)
    await closeContext(this.#browser, this.#contextId)
    await this.site.close()
  }

  async #openPage(): Promise<void> {
    const page = await Page.open(this.#browser, this.#contextId, this.#kind, this.site)
    this.#page = page
    void page.lost.then((why) => this.#page === page && this.#loss.abort(why))
  }
}

/**
 * Collect garbage after a render when a process holds more, and when its page is idle. Chromium does so in idle time,
 * which a page with a virtual clock does not have: earlier pages stayed (docs/decisions/0045-lighter.md).
 */
const HELD_LIMIT_BYTES = 64 * 2 ** 20
const IDLE_LIMIT_BYTES = 24 * 2 ** 20

/** Memory of the page and of earlier ones in its process, without what Chromium allocates outside of its heaps. */
async function heldBytesOf(session: CdpSession): Promise<number> {
  const { totalSize, embedderHeapUsedSize, backingStorageSize } = await session.send('Runtime.getHeapUsage')
  return totalSize + embedderHeapUsedSize + backingStorageSize
}

/** `Page.navigate` answers before the old page is gone; the history shows when it is. */
async function toBlank(session: CdpSession): Promise<void> {
  await session.send('Page.navigate', { url: 'about:blank' })
  while ((await addressOf(session)) !== 'about:blank') await delay(1)
}

async function addressOf(session: CdpSession): Promise<string> {
  const { currentIndex, entries } = await session.send('Page.getNavigationHistory')
  return entries[currentIndex]?.url ?? ''
}

import { readFileSync } from 'node:fs'
import path from 'node:path'

import { blockedUrlPatterns } from './blocked-hosts.ts'
import type { BrowserProcess } from './browser-process.ts'
import type { CdpListeners, CdpSession } from './cdp.ts'

/**
 * One page in a browser context of its own. A context serves one domain, and
 * one render at a time: storage is shared inside a context, so a second render
 * beside the first would see, and have wiped, what the first one writes.
 */
export type Tab = {
  readonly session: CdpSession
  readonly mainFrameId: string
  /** Resolves with the reason when the page's process has died or the page is gone. */
  readonly lost: Promise<string>
  /** For one render; replaces those of the render before. */
  listen(listeners: CdpListeners): void
  /**
   * Everything the last render left is wiped, the caches stay warm. With
   * `renewProcess` the page itself is replaced too. Rejects when that did not work.
   */
  clean(renewProcess: boolean): Promise<void>
  /** The page and its context are gone, also when the page hangs. Never rejects. */
  close(): Promise<void>
}

/** Separate functions, run one after the other before any script of the page. */
const NEW_DOCUMENT_SCRIPT = ['new-document.js', 'images.js']
  .map((file) => readFileSync(path.join(import.meta.dirname, 'in-page', file), 'utf8'))
  .join(';\n')

/** Named one by one: `all` would also empty the shader cache, which takes five times as long as the rest. */
const STORAGE_TYPES =
  'cookies,local_storage,indexeddb,cache_storage,service_workers,file_systems,websql,shared_storage,storage_buckets'

const VIEWPORT = { width: 1280, height: 1024 }

export async function openTab(browser: BrowserProcess, proxyUrl: string): Promise<Tab> {
  const { cdp } = browser
  const { browserContextId } = await cdp.browser.send('Target.createBrowserContext', {
    disposeOnDetach: true,
    proxyServer: proxyUrl,
    proxyBypassList: '<-loopback>',
  })
  const { promise: lost, resolve: lose } = Promise.withResolvers<string>()
  void browser.gone.then(lose)

  const close = async () => {
    lose('closed')
    if (page !== null) cdp.endSession(page.sessionId)
    await cdp.browser.send('Target.disposeBrowserContext', { browserContextId }).catch(() => {})
  }

  // What never changes from render to render.
  const always = (session: CdpSession): CdpListeners => ({
    'Inspector.targetCrashed': () => lose('the page crashed'),
    'Inspector.detached': ({ reason }) => lose(reason),
    'Page.javascriptDialogOpening': ({ type }) => {
      // Staying is never right; all else is answered as somebody who does not care would.
      void session.send('Page.handleJavaScriptDialog', { accept: type === 'beforeunload' }).catch(() => {})
    },
  })

  let page: OpenPage | null = null
  try {
    // Before the first page exists: grants nothing, and refuses all the rest.
    await Promise.all([
      cdp.browser.send('Browser.grantPermissions', { permissions: [], browserContextId }),
      cdp.browser.send('Browser.setDownloadBehavior', { behavior: 'deny', browserContextId }),
    ])
    page = await openPage(browser, browserContextId, always)
  } catch (error) {
    await close()
    throw error
  }

  let current = page
  return {
    get session() {
      return current.session
    },
    get mainFrameId() {
      return current.targetId
    },
    lost,
    listen: (listeners) => current.session.listen({ ...listeners, ...always(current.session) }),
    async clean(renewProcess) {
      await leave(current.session)
      if (renewProcess) {
        const { sessionId, targetId } = current
        current = page = await openPage(browser, browserContextId, always)
        cdp.endSession(sessionId)
        await cdp.browser.send('Target.closeTarget', { targetId })
      }
      await wipe(cdp.browser, current.session, browserContextId)
    },
    close,
  }
}

type OpenPage = { targetId: string; sessionId: string; session: CdpSession }

async function openPage(
  browser: BrowserProcess,
  browserContextId: string,
  listeners: (session: CdpSession) => CdpListeners,
): Promise<OpenPage> {
  const { cdp } = browser
  const { targetId } = await cdp.browser.send('Target.createTarget', {
    url: 'about:blank',
    browserContextId,
    ...VIEWPORT,
  })
  const { sessionId } = await cdp.browser.send('Target.attachToTarget', { targetId, flatten: true })
  const session = cdp.session(sessionId)
  session.listen(listeners(session))
  await prepare(session, browser)
  return { targetId, sessionId, session }
}

async function prepare(session: CdpSession, browser: BrowserProcess): Promise<void> {
  await Promise.all([
    session.send('Page.enable'),
    // Nothing of the bodies is kept for a debugger who never asks.
    session.send('Network.enable', {
      maxTotalBufferSize: 0,
      maxResourceBufferSize: 0,
      maxPostDataSize: 4096,
    }),
    session.send('Runtime.enable'),
    session.send('Runtime.addBinding', { name: 'prepaintTell' }),
    session.send('Page.addScriptToEvaluateOnNewDocument', { source: NEW_DOCUMENT_SCRIPT }),
    session.send('Network.setBypassServiceWorker', { bypass: true }),
    session.send('Network.setBlockedURLs', { urls: blockedUrlPatterns() }),
    session.send('Fetch.enable', {
      patterns: [
        // The main response is judged before any of it is parsed.
        { resourceType: 'Document', requestStage: 'Response' },
        { resourceType: 'Image', requestStage: 'Request' },
        { resourceType: 'Media', requestStage: 'Request' },
        { resourceType: 'Font', requestStage: 'Request' },
      ],
    }),
    session.send('Emulation.setUserAgentOverride', userAgent(browser)),
    session.send('Emulation.setFocusEmulationEnabled', { enabled: true }),
  ])
}

/** A normal Chromium's, with our name at its end: sites see the same as with a visitor, and can tell us. */
function userAgent({ userAgent: own, product }: BrowserProcess) {
  const version = product.split('/')[1] ?? '0'
  const major = version.split('.')[0] ?? '0'
  const brands = (number: string) => [
    { brand: 'Chromium', version: number },
    { brand: 'Not.A/Brand', version: number === major ? '8' : '8.0.0.0' },
  ]
  return {
    userAgent: `${own.replace('HeadlessChrome', 'Chrome')} Prepaint/1.0`,
    acceptLanguage: 'en-US,en;q=0.9',
    platform: 'Linux x86_64',
    userAgentMetadata: {
      brands: brands(major),
      fullVersionList: brands(version),
      platform: 'Linux',
      platformVersion: '',
      architecture: 'x86',
      model: '',
      mobile: false,
    },
  }
}

/**
 * The page goes, with its timers, sockets and workers. Before anything is
 * wiped: a farewell handler of it could otherwise still write after that.
 */
async function leave(session: CdpSession): Promise<void> {
  await session.send('Page.navigate', { url: 'about:blank' })
}

async function wipe(browser: CdpSession, session: CdpSession, browserContextId: string): Promise<void> {
  await Promise.all([
    browser.send('Storage.clearCookies', { browserContextId }),
    // `*`: of every origin, frames of strangers included.
    session.send('Storage.clearDataForOrigin', { origin: '*', storageTypes: STORAGE_TYPES }),
    session.send('Page.resetNavigationHistory'),
  ])
}

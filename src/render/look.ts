import { setTimeout as delay } from 'node:timers/promises'
import type { BrowserProcess } from './browser/browser-process.ts'
import type { CdpListeners, CdpSession } from './browser/cdp.ts'
import type { Visitor } from './outcome.ts'
import type { PageLimits } from './page-limits.ts'
import type { Trouble } from './record.ts'
import { blockedUrlPatterns } from './tab/blocked-hosts.ts'
import { appearAs } from './tab/visitor.ts'
import { allHear, createRecorder } from './visit/recorder.ts'
import { takeSnapshot } from './visit/snapshot.ts'

/** A document that is shown instead of what the site answers; without its scripts. */
export type GivenDocument = { status: number; html: string }

export type Look = {
  /** Of the main answer; null: none came. */
  status: number | null
  /** Where one has arrived. */
  url: string
  /** WebP. `isCut`: the page goes on below it. */
  picture: Buffer
  isCut: boolean
  /** The document as it was then; null for a given one, and for what is too large or no HTML. */
  html: string | null
  /** Until its load event, real milliseconds; null: it never came. */
  loadedMs: number | null
  requests: { made: number; blocked: number; failed: number }
  /** That came. */
  pictures: number
  troubles: Trouble[]
  consoleErrors: { count: number; texts: string[] }
}

const VIEWPORT = { width: 1280, height: 1024 }
/** CSS pixels from the top. */
const PICTURE_HEIGHT = 4_000
/** A larger one is taken again, as it is first seen. */
export const PICTURE_LIMIT_BYTES = 1_500_000
const LOAD_MS = 12_000
/** Loaded, and nothing was under way for so long; or it goes on for so long. */
const QUIET_MS = 500
const QUIET_WITHIN_MS = 4_000

/**
 * Loads one page in real time, as a person's browser does, in a context of its
 * own that is thrown away: with its pictures, its fonts and its scripts. A given
 * document is shown at the page's address, with all that belongs to it, and
 * without scripts. Rejects when the page cannot be loaded; `signal` ends it.
 */
export async function lookAt(
  browser: BrowserProcess,
  proxyUrl: string,
  wanted: { url: string; visitor?: Visitor | undefined; given?: GivenDocument },
  options: { nowMs: () => number; limits: PageLimits; signal: AbortSignal },
): Promise<Look> {
  const { cdp } = browser
  const { signal } = options
  const { browserContextId } = await cdp.browser.send('Target.createBrowserContext', {
    disposeOnDetach: true,
    proxyServer: proxyUrl,
    proxyBypassList: '<-loopback>',
  })
  try {
    const aborted = new Promise<never>((_resolve, reject) => {
      const abort = () => reject(signal.reason)
      if (signal.aborted) abort()
      signal.addEventListener('abort', abort, { once: true })
    })
    return await Promise.race([load(browser, browserContextId, wanted, options), aborted, lost(browser)])
  } finally {
    await cdp.browser.send('Target.disposeBrowserContext', { browserContextId }).catch(() => {})
  }
}

async function lost(browser: BrowserProcess): Promise<never> {
  throw new Error(await browser.ended)
}

async function load(
  browser: BrowserProcess,
  browserContextId: string,
  { url, visitor = {}, given }: { url: string; visitor?: Visitor | undefined; given?: GivenDocument },
  { nowMs, limits }: { nowMs: () => number; limits: PageLimits },
): Promise<Look> {
  const { cdp } = browser
  await Promise.all([
    cdp.browser.send('Browser.grantPermissions', { permissions: [], browserContextId }),
    cdp.browser.send('Browser.setDownloadBehavior', { behavior: 'deny', browserContextId }),
  ])
  const viewport = visitor.viewport ?? VIEWPORT
  const { targetId } = await cdp.browser.send('Target.createTarget', {
    url: 'about:blank',
    browserContextId,
    ...viewport,
  })
  const { sessionId } = await cdp.browser.send('Target.attachToTarget', { targetId, flatten: true })
  const session = cdp.session(sessionId)
  const recorder = createRecorder(nowMs)
  const { promise: died, reject: die } = Promise.withResolvers<never>()
  died.catch(() => {})
  const { promise: loaded, resolve: tellLoaded } = Promise.withResolvers<true>()
  const quiet = createQuiet()
  let status: number | null = null
  let pictures = 0
  let arrivedAt = url
  let isGiven = given === undefined

  const own: CdpListeners = {
    'Inspector.targetCrashed': () => die(new Error('the page crashed')),
    'Inspector.detached': ({ reason }) => die(new Error(reason)),
    'Page.loadEventFired': () => tellLoaded(true),
    'Page.frameNavigated': ({ frame }) => {
      if (frame.parentId === undefined) arrivedAt = frame.url
    },
    'Page.javascriptDialogOpening': ({ type }) => {
      void session.send('Page.handleJavaScriptDialog', { accept: type === 'beforeunload' }).catch(() => {})
    },
    'Network.requestWillBeSent': ({ requestId }) => quiet.began(requestId),
    'Network.responseReceived': ({ type, frameId, response }) => {
      if (type === 'Document' && frameId === targetId) status = response.status
      if (type === 'Image' && response.status < 400) pictures++
    },
    'Network.loadingFinished': ({ requestId }) => quiet.ended(requestId),
    'Network.loadingFailed': ({ requestId }) => quiet.ended(requestId),
    'Fetch.requestPaused': ({ requestId, frameId }) => {
      void answerDocument(requestId, frameId).catch(() => {})
    },
  }
  const answerDocument = async (requestId: string, frameId: string) => {
    if (given === undefined || frameId !== targetId)
      await session.send('Fetch.continueRequest', { requestId })
    // It leads elsewhere by itself: what is looked at is this document.
    else if (isGiven) await session.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' })
    else {
      isGiven = true
      await session.send('Fetch.fulfillRequest', answerOf(requestId, given))
    }
  }
  session.listen(allHear([recorder.listeners(targetId), own]))
  await Promise.all([
    session.send('Page.enable'),
    session.send('Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 }),
    session.send('Runtime.enable'),
    // Nobody's figures count somebody who looks here.
    session.send('Network.setBlockedURLs', { urls: blockedUrlPatterns() }),
    session.send('Emulation.setFocusEmulationEnabled', { enabled: true }),
    appearAs(session, browser, visitor),
    given === undefined
      ? null
      : Promise.all([
          session.send('Emulation.setScriptExecutionDisabled', { value: true }),
          session.send('Fetch.enable', { patterns: [{ resourceType: 'Document', requestStage: 'Request' }] }),
        ]),
  ])

  const work = async (): Promise<Look> => {
    const began = nowMs()
    const { errorText } = await session.send('Page.navigate', { url })
    if (errorText !== undefined) throw new Error(errorText)
    const isLoaded = await Promise.race([loaded, delay(LOAD_MS, false, { ref: false })])
    const loadedMs = isLoaded ? Math.round(nowMs() - began) : null
    await quiet.settled()
    const { picture, isCut } = await takePicture(session, viewport)
    const snapshot = given === undefined ? await takeSnapshot(session, targetId, limits) : null
    const { record } = recorder.explain({ kind: 'aborted' })
    if (record === null) throw new Error('nothing was recorded')
    const { made, spared, blocked, failed } = record.requests
    return {
      status,
      url: arrivedAt,
      picture,
      isCut,
      html: snapshot?.kind === 'html' ? snapshot.html : null,
      loadedMs,
      requests: { made: made + spared, blocked, failed },
      pictures,
      troubles: record.troubles,
      consoleErrors: record.consoleErrors,
    }
  }
  return Promise.race([work(), died])
}

function answerOf(requestId: string, { status, html }: GivenDocument) {
  return {
    requestId,
    responseCode: status,
    responseHeaders: [{ name: 'Content-Type', value: 'text/html; charset=utf-8' }],
    body: Buffer.from(html).toString('base64'),
  }
}

async function takePicture(
  session: CdpSession,
  { width, height }: { width: number; height: number },
): Promise<{ picture: Buffer; isCut: boolean }> {
  const { cssContentSize } = await session.send('Page.getLayoutMetrics')
  const wanted = Math.min(PICTURE_HEIGHT, Math.max(height, Math.ceil(cssContentSize.height)))
  const take = async (to: number, quality: number) => {
    const { data } = await session.send('Page.captureScreenshot', {
      format: 'webp',
      quality,
      clip: { x: 0, y: 0, width, height: to, scale: 1 },
      captureBeyondViewport: true,
    })
    return { picture: Buffer.from(data, 'base64'), isCut: cssContentSize.height > to }
  }
  for (const [to, quality] of [
    [wanted, 70],
    [height, 60],
    [height, 20],
  ] as const) {
    const taken = await take(to, quality)
    if (taken.picture.length <= PICTURE_LIMIT_BYTES) return taken
  }
  throw new Error('its picture is too large')
}

/** Whether anything is under way. */
function createQuiet() {
  const open = new Set<string>()
  let changed = () => {}
  return {
    began(id: string) {
      open.add(id)
      changed()
    },
    ended(id: string) {
      open.delete(id)
      changed()
    },
    async settled(): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      let timer: NodeJS.Timeout | undefined
      changed = () => {
        clearTimeout(timer)
        if (open.size === 0) timer = setTimeout(resolve, QUIET_MS)
      }
      changed()
      const cap = setTimeout(resolve, QUIET_WITHIN_MS)
      await promise
      clearTimeout(timer)
      clearTimeout(cap)
      changed = () => {}
    },
  }
}

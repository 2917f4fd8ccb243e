import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { BrowserProcess } from '../browser/browser-process.ts'
import { type CdpConnection, CdpError, type CdpListeners, type CdpSession } from '../browser/cdp.ts'
import type { Visitor } from '../outcome.ts'
import { PAGE_LIMITS } from '../page-limits.ts'
import { createVirtualClock, openClockSession, type VirtualClock } from '../time/virtual-clock.ts'
import { allHear } from '../visit/recorder.ts'
import { WORLD } from '../visit/snapshot.ts'
import { blockedUrlPatterns } from './blocked-hosts.ts'
import { createPageDate, type PageDate } from './page-date.ts'
import { appearAs, nameBrowser } from './visitor.ts'
import { ATTACH_WORKERS } from './workers.ts'

/** One page target, attached and set up, at about:blank. Its process lives as long as it does. */
export type Page = {
  readonly session: CdpSession
  /** To the browser: leads to the page's workers. */
  readonly connection: CdpConnection
  readonly clock: VirtualClock
  readonly date: PageDate
  readonly frameId: string
  /** Our world in the main document that is there, once there is one. */
  readonly ownWorld: number | undefined
  /** Resolves with the reason when the process has died. */
  readonly lost: Promise<string>
  /** For HTTP authentication, have been given: the browser remembers them as long as the context lives. */
  readonly hasCredentials: boolean
  /** Set at the end of a visit whose page may stay in the tab, asleep: see `Stillness`. */
  isStill: boolean
  /** For one render; replaces those of the render before. */
  listen(listeners: CdpListeners): void
  /** While its clock stands: does all that a render would else have to wait for at its beginning. Rejects when the page has gone. */
  expectNext(): Promise<void>
  /** Ends it although it may hang. Rejects when the browser is gone. */
  close(): Promise<void>
}

/** Separate functions, run one after the other before any script of the page. */
const NEW_DOCUMENT_SCRIPT = [
  'spinning-clock.js',
  'images.js',
  'real-time.js',
  'browser-questions.js',
  'history.js',
  'animations.js',
  'resize-observer.js',
  'frame-events.js',
  'new-document.js',
]
  .map((file) => readFileSync(path.join(import.meta.dirname, '../in-page', file), 'utf8'))
  .join(';\n')

/** Why a page is `lost` that took more memory than a page may. */
export const OUT_OF_MEMORY = 'the page took too much memory'
/** Why a page is `lost` of which Chromium had more to tell than of a page may be told. */
export const TOLD_TOO_MUCH = 'the page gave Chromium too much to tell'

const VIEWPORT = { width: 1280, height: 1024 }

export async function openPage(
  browser: BrowserProcess,
  browserContextId: string,
  visitor: Visitor = {},
): Promise<Page> {
  const { cdp } = browser
  const wanted = { url: 'about:blank', browserContextId, ...(visitor.viewport ?? VIEWPORT) }
  const { targetId } = await cdp.browser
    .send('Target.createTarget', { ...wanted, enableBeginFrameControl: true })
    // Only the headless shell can do without frames.
    .catch((error) => {
      if (!(error instanceof CdpError)) throw error
      return cdp.browser.send('Target.createTarget', wanted)
    })
  const { sessionId } = await cdp.browser.send('Target.attachToTarget', { targetId, flatten: true })
  const session = cdp.session(sessionId)
  const clockSession = await openClockSession(cdp, targetId, {
    'Emulation.virtualTimeBudgetExpired': () => clock.budgetExpired(),
  })
  const clock: VirtualClock = createVirtualClock(clockSession)
  let ownWorld: number | undefined
  const { promise: lost, resolve: lose } = Promise.withResolvers<string>()
  let hasCredentials = false
  const eventLimit = { bytes: PAGE_LIMITS.eventBytes, exceeded: () => lose(TOLD_TOO_MUCH) }

  const credentials = credentialListeners(() => {
    hasCredentials = true
  })
  const always: CdpListeners = {
    'Inspector.targetCrashed': () => lose(browser.memory.hasEnded() ? OUT_OF_MEMORY : 'the page crashed'),
    'Inspector.detached': ({ reason }) => lose(reason),
    'Runtime.executionContextCreated': ({ context: { id, name, auxData } }) => {
      if (name === WORLD && auxData?.['frameId'] === targetId) ownWorld = id
    },
    'Runtime.executionContextsCleared': () => {
      ownWorld = undefined
    },
    'Page.javascriptDialogOpening': ({ type }) => {
      // Staying is never right; all else is answered as somebody who does not care would.
      void session.send('Page.handleJavaScriptDialog', { accept: type === 'beforeunload' }).catch(() => {})
    },
  }
  session.listen(always)
  await Promise.all([prepare(session), clock.pause()])
  await appearAs(session, browser, visitor)

  const page: Page = {
    session,
    connection: cdp,
    clock,
    date: createPageDate(session, clock, () => ownWorld),
    get ownWorld() {
      return ownWorld
    },
    frameId: targetId,
    lost,
    get hasCredentials() {
      return hasCredentials
    },
    isStill: false,
    listen(listeners) {
      session.listen(allHear([credentials, { ...listeners, ...always }]), eventLimit)
      browser.contextWorkers.listen(browserContextId, listeners)
    },
    async expectNext() {
      await Promise.all([page.date.read(), clock.renew()])
      // A session that goes takes what another has said of the platform with it (Chromium 153).
      await nameBrowser(session, browser, visitor)
    },
    async close() {
      cdp.endSession(sessionId)
      clockSession.end()
      await cdp.browser.send('Target.closeTarget', { targetId })
    },
  }
  await page.expectNext()
  return page
}

async function prepare(session: CdpSession): Promise<void> {
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
    session.send('Target.setAutoAttach', ATTACH_WORKERS),
    session.send('Page.addScriptToEvaluateOnNewDocument', { source: NEW_DOCUMENT_SCRIPT }),
    session.send('Network.setBypassServiceWorker', { bypass: true }),
    session.send('Network.setBlockedURLs', { urls: blockedUrlPatterns() }),
    session.send('Emulation.setFocusEmulationEnabled', { enabled: true }),
  ])
}

const WITH_CREDENTIALS = /^[a-z]+:\/\/[^/?#]*@/i

/**
 * Hears of credentials for HTTP authentication (RFC 9110, section 11), which a
 * script gives in a URL or to an XMLHttpRequest. Chromium remembers them in the
 * context, where no wiping of storage reaches them: only the context's end does.
 */
function credentialListeners(given: () => void): CdpListeners {
  const look = (url: string) => {
    if (url.includes('@') && WITH_CREDENTIALS.test(url)) given()
  }
  return {
    'Network.requestWillBeSent': ({ request }) => look(request.url),
    // The request itself tells them only once it has been answered.
    'Network.responseReceived': ({ response }) => look(response.url),
  }
}

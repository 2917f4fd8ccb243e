import { readFileSync } from 'node:fs'
import path from 'node:path'
import { PAGE_LIMITS, type Visitor } from '@prepaint/contract/outcome/outcome.ts'
import type { GatewaySite } from '../../gateway/site.ts'
import type { BrowserProcess } from '../browser/browser-process.ts'
import { type CdpConnection, CdpError, type CdpListeners, type CdpSession } from '../browser/cdp.ts'
import { PageDate, VirtualClock } from '../time/virtual-clock.ts'
import { mergeListeners } from '../visit/recorder.ts'
import { WORLD } from '../visit/snapshot.ts'
import { blockedUrlPatterns } from './blocked-hosts.ts'
import { signIn } from './sign-in.ts'
import type { UserAgent } from './user-agent.ts'
import { emulateVisitor, userAgentOf, viewportOf } from './visitor.ts'
import { ATTACH_WORKERS } from './workers.ts'

export type Page = {
  readonly session: CdpSession
  readonly connection: CdpConnection
  readonly clock: VirtualClock
  readonly date: PageDate
  readonly frameId: string
  /** Our isolated world in the current main document. */
  readonly ownWorld: number | undefined
  /** Resolves with the reason when the process has died. */
  readonly lost: Promise<string>
  /** The page used HTTP credentials, which the browser remembers until the context ends. */
  readonly hasCredentials: boolean
  canPark: boolean
  readonly userAgent: UserAgent
  listen(listeners: CdpListeners): void
  /** Prepares the next render in advance. Rejects if the page is gone. */
  prepareNext(): Promise<void>
  /** Closes the page even if it hangs. Rejects if the browser is gone. */
  close(): Promise<void>
}

const NEW_DOCUMENT_SCRIPTS = [
  'spinning-clock.js',
  'hooks.js',
  'images.js',
  'media.js',
  'fonts.js',
  'registered-properties.js',
  'real-time.js',
  'history.js',
  'animations.js',
  'resize-observer.js',
  'frame-events.js',
  'asides.js',
  'script-text.js',
  'floods.js',
  'service-worker.js',
  'calls.js',
  'prompts.js',
  'desktop.js',
  'paint.js',
  'new-document.js',
]
  .map((file) => readFileSync(path.join(import.meta.dirname, '../in-page', file), 'utf8'))
  .join('\n')
/** Chromium forgets an overridden platform whenever a session of the page ends. */
const newDocumentScript = ({ platform }: UserAgent, endsTimers: boolean) => `(() => {
${NEW_DOCUMENT_SCRIPTS}
intercept(Navigator.prototype, 'platform', (native, self) => (apply(native, self, []), ${JSON.stringify(platform)}))
whenReady.endsTimers = ${endsTimers}
})()`

export const OUT_OF_MEMORY = 'the page took too much memory'
export const TOO_MANY_EVENTS = 'the page caused too many events'

/** `waits`: its rule waits longer than until the page says that it is ready. */
export type PageKind = { visitor?: Visitor | undefined; waits?: boolean }

/** `site` is the context's gateway; null if the page loads nothing. */
export async function openPage(
  browser: BrowserProcess,
  browserContextId: string,
  { visitor = {}, waits = false }: PageKind = {},
  site: GatewaySite | null = null,
): Promise<Page> {
  const { cdp } = browser
  const wanted = { url: 'about:blank', browserContextId, ...viewportOf(visitor) }
  const { targetId } = await cdp.browser
    .send('Target.createTarget', { ...wanted, enableBeginFrameControl: true })
    // Only the headless shell works without frames.
    .catch((error) => {
      if (!(error instanceof CdpError)) throw error
      return cdp.browser.send('Target.createTarget', wanted)
    })
  const signedIn = site === null || site.isSignedIn ? null : signIn(cdp, targetId, site)
  // If another step fails first, that one is reported.
  signedIn?.catch(() => {})
  const { sessionId } = await cdp.browser.send('Target.attachToTarget', { targetId, flatten: true })
  const session = cdp.session(sessionId)
  const clock = await VirtualClock.open(cdp, targetId)
  const date = new PageDate(session, clock)
  const { promise: lost, resolve: lose } = Promise.withResolvers<string>()
  let ownWorld: number | undefined
  let hasCredentials = false

  const always: CdpListeners = {
    'Inspector.targetCrashed': () => lose(browser.memory.hasKilled() ? OUT_OF_MEMORY : 'the page crashed'),
    'Inspector.detached': ({ reason }) => lose(reason),
    'Runtime.executionContextCreated': ({ context: { id, name, auxData } }) => {
      if (name === WORLD && auxData?.['frameId'] === targetId) ownWorld = id
    },
    'Runtime.executionContextsCleared': () => {
      ownWorld = undefined
    },
    ...dismissDialogs(session),
  }
  const checkCredentials = (url: string) => {
    if (url.includes('@') && WITH_CREDENTIALS.test(url)) hasCredentials = true
  }
  const credentials: CdpListeners = {
    'Network.requestWillBeSent': ({ request }) => checkCredentials(request.url),
    // A request shows them only after its response.
    'Network.responseReceived': ({ response }) => checkCredentials(response.url),
  }
  const prepareNext = async () => {
    await Promise.all([date.read(ownWorld), clock.renew()])
  }
  const userAgent = userAgentOf(browser, visitor)
  session.listen(always)
  await Promise.all([setUp(session, userAgent, !waits), clock.pause()])
  await emulateVisitor(session, browser, visitor)
  await prepareNext()
  await signedIn

  return {
    session,
    clock,
    date,
    lost,
    prepareNext,
    connection: cdp,
    frameId: targetId,
    get ownWorld() {
      return ownWorld
    },
    get hasCredentials() {
      return hasCredentials
    },
    canPark: false,
    userAgent,
    listen(listeners) {
      const limit = { bytes: PAGE_LIMITS.eventBytes, exceeded: () => lose(TOO_MANY_EVENTS) }
      session.listen(mergeListeners([credentials, { ...listeners, ...always }]), limit)
      browser.contextWorkers.listen(browserContextId, listeners)
    },
    async close() {
      cdp.endSession(sessionId)
      clock.end()
      await cdp.browser.send('Target.closeTarget', { targetId })
    },
  }
}

/** Leaves the page when asked whether to stay; cancels all other dialogs. */
export function dismissDialogs(session: CdpSession): CdpListeners {
  return {
    'Page.javascriptDialogOpening': ({ type }) => {
      void session.send('Page.handleJavaScriptDialog', { accept: type === 'beforeunload' }).catch(() => {})
    },
  }
}

async function setUp(session: CdpSession, userAgent: UserAgent, endsTimers: boolean): Promise<void> {
  await Promise.all([
    session.send('Page.enable'),
    session.send('Network.enable', {
      maxTotalBufferSize: 0,
      maxResourceBufferSize: 0,
      maxPostDataSize: 4096,
    }),
    session.send('Runtime.enable'),
    session.send('Runtime.addBinding', { name: 'prepaintTell' }),
    session.send('Target.setAutoAttach', ATTACH_WORKERS),
    session.send('Page.addScriptToEvaluateOnNewDocument', {
      source: newDocumentScript(userAgent, endsTimers),
    }),
    session.send('Network.setBypassServiceWorker', { bypass: true }),
    session.send('Network.setBlockedURLs', { urls: blockedUrlPatterns() }),
    session.send('Emulation.setFocusEmulationEnabled', { enabled: true }),
  ])
}

/** HTTP credentials in a URL (RFC 9110, section 11). Chromium keeps them even after a storage wipe. */
const WITH_CREDENTIALS = /^[a-z]+:\/\/[^/?#]*@/i

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

/** One page of a browser context. */
export class Page {
  readonly session: CdpSession
  readonly connection: CdpConnection
  readonly clock: VirtualClock
  readonly date: PageDate
  readonly frameId: string
  readonly userAgent: UserAgent
  canPark = false
  readonly #browser: BrowserProcess
  readonly #browserContextId: string
  readonly #sessionId: string
  readonly #loss = Promise.withResolvers<string>()
  /** Listeners that hear everything, during a render and between two of them. */
  readonly #always: CdpListeners
  #ownWorld: number | undefined
  #hasCredentials = false

  /** `site` is the context's gateway; null if the page loads nothing. */
  static async open(
    browser: BrowserProcess,
    browserContextId: string,
    { visitor = {}, waits = false }: PageKind = {},
    site: GatewaySite | null = null,
  ): Promise<Page> {
    const { cdp } = browser
    const frameId = await createTarget(browser, browserContextId, visitor)
    const signedIn = site === null || site.isSignedIn ? null : signIn(cdp, frameId, site)
    // If another step fails first, that one is reported.
    signedIn?.catch(() => {})
    const attached = await cdp.browser.send('Target.attachToTarget', { targetId: frameId, flatten: true })
    const clock = await VirtualClock.open(cdp, frameId)
    const userAgent = userAgentOf(browser, visitor)
    const { sessionId } = attached
    const page = new Page(browser, { browserContextId, frameId, sessionId, clock, userAgent })
    await Promise.all([setUp(page.session, userAgent, !waits), clock.pause()])
    await emulateVisitor(page.session, browser, visitor)
    await page.prepareNext()
    await signedIn
    return page
  }

  private constructor(
    browser: BrowserProcess,
    opened: {
      browserContextId: string
      frameId: string
      sessionId: string
      clock: VirtualClock
      userAgent: UserAgent
    },
  ) {
    this.#browser = browser
    this.#browserContextId = opened.browserContextId
    this.#sessionId = opened.sessionId
    this.connection = browser.cdp
    this.session = browser.cdp.session(opened.sessionId)
    this.clock = opened.clock
    this.date = new PageDate(this.session, opened.clock)
    this.frameId = opened.frameId
    this.userAgent = opened.userAgent
    this.#always = this.#listeners()
    this.session.listen(this.#always)
  }

  /** Our isolated world in the current main document. */
  get ownWorld(): number | undefined {
    return this.#ownWorld
  }

  /** The page used HTTP credentials, which the browser remembers until the context ends. */
  get hasCredentials(): boolean {
    return this.#hasCredentials
  }

  /** Resolves with the reason when the process has died. */
  get lost(): Promise<string> {
    return this.#loss.promise
  }

  /** Replaces the listeners of the last render. */
  listen(listeners: CdpListeners): void {
    const limit = {
      bytes: PAGE_LIMITS.eventBytes,
      exceeded: () => this.#loss.resolve(TOO_MANY_EVENTS),
    }
    const credentials: CdpListeners = {
      'Network.requestWillBeSent': ({ request }) => this.#checkCredentials(request.url),
      // A request shows them only after its response.
      'Network.responseReceived': ({ response }) => this.#checkCredentials(response.url),
    }
    this.session.listen(mergeListeners([credentials, { ...listeners, ...this.#always }]), limit)
    this.#browser.contextWorkers.listen(this.#browserContextId, listeners)
  }

  /** Prepares the next render in advance. Rejects if the page is gone. */
  async prepareNext(): Promise<void> {
    await Promise.all([this.date.read(this.#ownWorld), this.clock.renew()])
  }

  /** Closes the page even if it hangs. Rejects if the browser is gone. */
  async close(): Promise<void> {
    const { cdp } = this.#browser
    cdp.endSession(this.#sessionId)
    this.clock.end()
    await cdp.browser.send('Target.closeTarget', { targetId: this.frameId })
  }

  #listeners(): CdpListeners {
    return {
      'Inspector.targetCrashed': () =>
        this.#loss.resolve(this.#browser.memory.takeKill() ? OUT_OF_MEMORY : 'the page crashed'),
      'Inspector.detached': ({ reason }) => this.#loss.resolve(reason),
      'Runtime.executionContextCreated': ({ context: { id, name, auxData } }) => {
        if (name === WORLD && auxData?.['frameId'] === this.frameId) this.#ownWorld = id
      },
      'Runtime.executionContextsCleared': () => {
        this.#ownWorld = undefined
      },
      ...dismissDialogs(this.session),
    }
  }

  #checkCredentials(url: string): void {
    if (url.includes('@') && WITH_CREDENTIALS.test(url)) this.#hasCredentials = true
  }
}

/** Resolves with the id of the target, which is that of its main frame. */
async function createTarget(
  { cdp }: BrowserProcess,
  browserContextId: string,
  visitor: Visitor,
): Promise<string> {
  const wanted = { url: 'about:blank', browserContextId, ...viewportOf(visitor) }
  const { targetId } = await cdp.browser
    .send('Target.createTarget', { ...wanted, enableBeginFrameControl: true })
    // Only the headless shell works without frames.
    .catch((error) => {
      if (!(error instanceof CdpError)) throw error
      return cdp.browser.send('Target.createTarget', wanted)
    })
  return targetId
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

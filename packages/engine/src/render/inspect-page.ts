import type { PageLimits, Visitor } from '@prepaint/contract/outcome/outcome.ts'
import type { GivenDocument, Inspected } from '@prepaint/contract/outcome/renderer.ts'
import { within } from '@prepaint/runtime/within.ts'
import type { GatewaySite } from '../gateway/site.ts'
import type { BrowserProcess } from './browser/browser-process.ts'
import type { CdpListeners, CdpSession } from './browser/cdp.ts'
import { untilAborted } from './browser/until-aborted.ts'
import { blockedUrlPatterns } from './tab/blocked-hosts.ts'
import { dismissDialogs } from './tab/page.ts'
import { signIn } from './tab/sign-in.ts'
import { closeContext, openContext } from './tab/tab.ts'
import { emulateVisitor, viewportOf } from './tab/visitor.ts'
import { mergeListeners, Recorder } from './visit/recorder.ts'
import { takeSnapshot } from './visit/snapshot.ts'

const PICTURE_HEIGHT = 4_000
/** A larger picture is taken again, of the first screen only. */
export const PICTURE_LIMIT_BYTES = 1_500_000
const LOAD_MS = 12_000
/** A page is done after the load event when no request was open for `ms`, or after `withinMs` in any case. */
type Quiet = { ms: number; withinMs: number }

const QUIET_OF_GIVEN: Quiet = { ms: 500, withinMs: 4_000 }
/** Scripts often wait before they ask for what people see. */
const QUIET_OF_PEOPLE: Quiet = { ms: 2_000, withinMs: 8_000 }

type Wanted = { url: string; visitor?: Visitor | undefined; given?: GivenDocument | undefined }

/** Loads a page in real time in its own context, a given document without scripts. Rejects on failure or abort. */
export async function inspectPage(
  browser: BrowserProcess,
  site: GatewaySite,
  wanted: Wanted,
  options: { nowMs: () => number; limits: PageLimits; signal: AbortSignal },
): Promise<Inspected> {
  const contextId = await openContext(browser, site.proxyUrl)
  try {
    const lost = browser.ended.then((why) => Promise.reject(new Error(why)))
    const inspected = Promise.race([load(browser, contextId, site, wanted, options), lost])
    return await untilAborted(inspected, options.signal)
  } finally {
    await closeContext(browser, contextId)
  }
}

async function load(
  browser: BrowserProcess,
  browserContextId: string,
  site: GatewaySite,
  { url, visitor = {}, given }: Wanted,
  { nowMs, limits }: { nowMs: () => number; limits: PageLimits },
): Promise<Inspected> {
  const { cdp } = browser
  const viewport = viewportOf(visitor)
  const target = { url: 'about:blank', browserContextId, ...viewport }
  const { targetId } = await cdp.browser.send('Target.createTarget', target)
  await signIn(cdp, targetId, site)
  const { sessionId } = await cdp.browser.send('Target.attachToTarget', { targetId, flatten: true })
  const session = cdp.session(sessionId)
  const recorder = new Recorder(nowMs)
  const requests = new OpenRequests()
  const { promise: died, reject: die } = Promise.withResolvers<never>()
  died.catch(() => {})
  const { promise: loaded, resolve: reportLoaded } = Promise.withResolvers<true>()
  const seen = { status: null as number | null, pictures: 0, url }

  const own: CdpListeners = {
    'Inspector.targetCrashed': () => die(new Error('the page crashed')),
    'Inspector.detached': ({ reason }) => die(new Error(reason)),
    'Page.loadEventFired': () => reportLoaded(true),
    'Page.frameNavigated': ({ frame }) => {
      if (frame.parentId === undefined) seen.url = frame.url
    },
    'Network.responseReceived': ({ type, frameId, response }) => {
      if (type === 'Document' && frameId === targetId) seen.status = response.status
      if (type === 'Image' && response.status < 400) seen.pictures++
    },
    ...dismissDialogs(session),
  }
  if (given !== undefined) Object.assign(own, answerDocument(session, targetId, given))
  session.listen(mergeListeners([recorder.listeners(targetId), requests.listeners, own]))
  await setUp(session, given !== undefined)
  await emulateVisitor(session, browser, visitor)

  const work = async (): Promise<Inspected> => {
    const beganMs = nowMs()
    const { errorText } = await session.send('Page.navigate', { url })
    if (errorText !== undefined) throw new Error(errorText)
    const isLoaded = await within(LOAD_MS, loaded, false)
    const loadedMs = isLoaded ? Math.round(nowMs() - beganMs) : null
    await requests.settled(given === undefined ? QUIET_OF_PEOPLE : QUIET_OF_GIVEN)
    const picture = await takePicture(session, viewport)
    const snapshot = given === undefined ? await takeSnapshot(session, targetId, limits) : null
    const { requests: counts, troubles, consoleErrors } = recorder.soFar
    return {
      ...seen,
      ...picture,
      html: snapshot?.kind === 'html' ? snapshot.html : null,
      loadedMs,
      requests: { made: counts.made + counts.spared, blocked: counts.blocked, failed: counts.failed },
      troubles,
      consoleErrors,
    }
  }
  return Promise.race([work(), died])
}

async function setUp(session: CdpSession, isGiven: boolean): Promise<void> {
  await Promise.all([
    session.send('Page.enable'),
    session.send('Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 }),
    session.send('Runtime.enable'),
    // Inspections must not count as visits.
    session.send('Network.setBlockedURLs', { urls: blockedUrlPatterns() }),
    session.send('Emulation.setFocusEmulationEnabled', { enabled: true }),
  ])
  if (!isGiven) return
  await Promise.all([
    session.send('Emulation.setScriptExecutionDisabled', { value: true }),
    session.send('Fetch.enable', { patterns: [{ resourceType: 'Document', requestStage: 'Request' }] }),
  ])
}

function answerDocument(session: CdpSession, mainFrameId: string, given: GivenDocument): CdpListeners {
  let isAnswered = false
  const answer = async (requestId: string, frameId: string) => {
    if (frameId !== mainFrameId) await session.send('Fetch.continueRequest', { requestId })
    // The document navigates elsewhere, for example by meta refresh.
    else if (isAnswered) await session.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' })
    else {
      isAnswered = true
      await session.send('Fetch.fulfillRequest', {
        requestId,
        responseCode: given.status,
        responseHeaders: [{ name: 'Content-Type', value: 'text/html; charset=utf-8' }],
        body: Buffer.from(given.html).toString('base64'),
      })
    }
  }
  return {
    'Fetch.requestPaused': ({ requestId, frameId }) => void answer(requestId, frameId).catch(() => {}),
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

/** Knows which requests of the page have no end yet. */
class OpenRequests {
  readonly #open = new Set<string>()
  #changed = () => {}

  readonly listeners: CdpListeners = {
    'Network.requestWillBeSent': ({ requestId }) => {
      this.#open.add(requestId)
      this.#changed()
    },
    'Network.loadingFinished': ({ requestId }) => this.#end(requestId),
    'Network.loadingFailed': ({ requestId }) => this.#end(requestId),
  }

  async settled({ ms, withinMs }: Quiet): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    let quiet: NodeJS.Timeout | undefined
    this.#changed = () => {
      clearTimeout(quiet)
      if (this.#open.size === 0) quiet = setTimeout(resolve, ms)
    }
    this.#changed()
    const cap = setTimeout(resolve, withinMs)
    await promise
    clearTimeout(quiet)
    clearTimeout(cap)
    this.#changed = () => {}
  }

  #end(requestId: string): void {
    this.#open.delete(requestId)
    this.#changed()
  }
}

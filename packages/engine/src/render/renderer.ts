import type { Excess, PageLimits, RenderOutcome, RenderRequest } from '@prepaint/contract/outcome/outcome.ts'
import type { Rendering } from '@prepaint/contract/outcome/record.ts'
import type { SelectorProblem } from '@prepaint/contract/outcome/renderer.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { GivenDocument } from '../gateway/documents.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { BrowserBinary } from './browser/browser-binary.ts'
import { type BrowserProcess, launchBrowser, type Sandbox } from './browser/browser-process.ts'
import { CdpClosed } from './browser/cdp.ts'
import { type RecycleLimits, Supervisor } from './browser/supervisor.ts'
import { untilAborted } from './browser/until-aborted.ts'
import { checkSelectors } from './check-selectors.ts'
import { Slots } from './slots.ts'
import { StaticPages } from './static-pages.ts'
import type { Tab } from './tab/tab.ts'
import { hasFreshProcess, TabPool } from './tab/tab-pool.ts'
import { LongPolls } from './time/long-polls.ts'
import { Recorder } from './visit/recorder.ts'
import { visit } from './visit/visit.ts'

type PageRendererOptions = {
  binary: BrowserBinary
  dataDir: string
  identity: string
  requireSandbox: boolean
  slots: number
  /** Real time for one render, from the start of its slot. */
  timeoutMs: number
  limits: PageLimits
  recycle?: Partial<RecycleLimits> | undefined
}

type RunningBrowser = { process: BrowserProcess; tabs: TabPool }
type TakenTab = { browser: RunningBrowser; tab: Tab; release(): void }

/** `cleaned` resolves when the tab can be used again. */
type Attempt = { rendering: Rendering; isRepeatable: boolean; cleaned: Promise<void> }

/** How often a tab is asked for while browsers die before anything was rendered. */
const TAKE_ATTEMPTS = 3
const NO_TAB = 'the browser opened no tab in the time of the render'
const SELECTOR_CHECK_MS = 10_000
const MEBIBYTE = 1024 * 1024

/** Renders pages in one supervised browser, several at once. */
export class PageRenderer {
  readonly browsers: Supervisor<RunningBrowser>
  readonly #gateway: Gateway
  readonly #clock: Clock
  readonly #log: Log
  readonly #options: PageRendererOptions
  readonly #slots: Slots
  readonly #longPolls: LongPolls
  readonly #statics: StaticPages
  readonly #closing = new AbortController()

  /** Closes the gateway if no browser starts, and rejects. */
  static async start(
    gateway: Gateway,
    clock: Clock,
    log: Log,
    options: PageRendererOptions,
  ): Promise<PageRenderer> {
    const { slots, limits } = options
    const startBrowser = async (): Promise<RunningBrowser> => {
      const process = await launchBrowser({
        ...options,
        spkiHash: gateway.spkiHash,
        pageMemoryBytes: limits.memoryBytes,
        log,
      })
      return { process, tabs: new TabPool(process, gateway, 3 * slots + 2) }
    }
    const recycle: RecycleLimits = {
      renders: 1_000,
      ageMs: 30 * 60_000,
      memoryBytes: (512 + 384 * slots) * MEBIBYTE,
      ...options.recycle,
    }
    try {
      const browsers = await Supervisor.start(startBrowser, clock, log, { limits: recycle })
      return new PageRenderer(browsers, gateway, clock, log, options)
    } catch (error) {
      await gateway.close()
      throw error
    }
  }

  private constructor(
    browsers: Supervisor<RunningBrowser>,
    gateway: Gateway,
    clock: Clock,
    log: Log,
    options: PageRendererOptions,
  ) {
    this.browsers = browsers
    this.#gateway = gateway
    this.#clock = clock
    this.#log = log
    this.#options = options
    this.#slots = new Slots(options.slots)
    this.#longPolls = new LongPolls(clock.nowMs)
    this.#statics = new StaticPages(gateway)
  }

  get sandbox(): Sandbox {
    return this.browsers.latest.process.sandbox
  }

  /** See `BrowserProcess.yieldCores`. */
  yieldCores(isYielding: boolean): void {
    this.browsers.latest.process.yieldCores(isYielding)
  }

  /** Never rejects: failures are outcomes. */
  async render(request: RenderRequest): Promise<Rendering> {
    const { timeoutMs } = this.#options
    const { nowMs } = this.#clock
    const beganMs = nowMs()
    let recorder = new Recorder(nowMs, beganMs)
    const signal = AbortSignal.any([request.signal, this.#closing.signal])
    const found = await this.#statics.find(request, recorder)
    if (found !== null && 'outcome' in found) return recorder.explain(found.outcome)
    const document = found?.document
    const giveSlotBack = request.withoutBrowser ? null : await this.#slots.take(signal)
    if (giveSlotBack === null) {
      document?.drop()
      return recorder.explain({ kind: 'aborted' })
    }
    const endMs = nowMs() + timeoutMs
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    const toRender = { ...request, signal }
    /** What an attempt found in a process in which earlier pages may have left what counted. */
    let tooHeavy: Rendering | null = null
    try {
      let attempt = await this.#attempt(toRender, recorder, inTime, timeoutMs, document?.handOver())
      while (attempt.isRepeatable) {
        tooHeavy = attempt.rendering
        await attempt.cleaned
        recorder = new Recorder(nowMs, beganMs)
        attempt = await this.#attempt(toRender, recorder, inTime, Math.max(endMs - nowMs(), 0))
      }
      // The slot waits for the cleaning, so the next render finds a clean tab.
      void attempt.cleaned.finally(giveSlotBack)
      const { rendering } = attempt
      if (tooHeavy !== null && rendering.outcome.kind === 'timed-out') return tooHeavy
      this.#statics.learn(request, rendering)
      return rendering
    } catch (error) {
      document?.drop()
      giveSlotBack()
      if (signal.aborted) return recorder.explain({ kind: 'aborted' })
      if (tooHeavy !== null) return tooHeavy
      this.#log.warn({ err: error, domain: request.customDomain }, 'a render could not begin')
      const message = error instanceof Error ? error.message : String(error)
      return recorder.explain({ kind: 'crashed', reason: inTime.aborted ? NO_TAB : message })
    }
  }

  /** Renders in one tab. Rejects if no tab can be had before `inTime` aborts. */
  async #attempt(
    request: RenderRequest,
    recorder: Recorder,
    inTime: AbortSignal,
    timeoutMs: number,
    given?: GivenDocument,
  ): Promise<Attempt> {
    recorder.reached('slot')
    const { browser, tab, release } = await this.#takeTab(request, inTime)
    recorder.reached('tab')
    const isFresh = hasFreshProcess(tab)
    const found = await visit(tab, request, {
      timeoutMs,
      clock: this.#clock,
      limits: this.#options.limits,
      recorder,
      longPolls: this.#longPolls,
      given,
    })
    const hasNetwork = browser.process.parts.hasNetwork()
    const outcome = hasNetwork ? withinGatewayLimits(found, tab.site.excess()) : withoutNetwork(found)
    const cleaned = browser.tabs.giveBack(tab, stateAfter(outcome)).finally(release)
    const rendering = recorder.explain(outcome, tab.site.preloaded())
    // What earlier pages left in the process counts until it is collected.
    const isRepeatable = outcome.kind === 'too-large' && outcome.what === 'memory' && !isFresh
    return { rendering, isRepeatable, cleaned }
  }

  async #takeTab(request: RenderRequest, signal: AbortSignal): Promise<TakenTab> {
    for (let attempt = 1; ; attempt++) {
      const { browser, release } = await this.browsers.lease(signal)
      try {
        return { browser, release, tab: await browser.tabs.take(request, signal) }
      } catch (error) {
        release()
        if (!(error instanceof CdpClosed) || attempt === TAKE_ATTEMPTS) throw error
      }
    }
  }

  async checkSelectors(selectors: readonly string[]): Promise<SelectorProblem[]> {
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(SELECTOR_CHECK_MS)])
    const { browser, release } = await this.browsers.lease(signal)
    try {
      return await untilAborted(checkSelectors(browser.process, selectors), signal)
    } finally {
      release()
    }
  }

  /** Resolves when browsers and gateway are gone. Running renders end as `aborted` or `crashed`. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.browsers.close()
    await this.#gateway.close()
  }
}

/** A page that the gateway cut is incomplete; the limit is the reason. */
function withinGatewayLimits(found: RenderOutcome, excess: Excess | null): RenderOutcome {
  if (excess === null || found.kind === 'redirect' || found.kind === 'aborted') return found
  return { kind: 'too-large', what: excess }
}

/** The page is incomplete because of the browser, which is worth a retry. A crash keeps its own reason. */
function withoutNetwork(found: RenderOutcome): RenderOutcome {
  if (found.kind === 'aborted' || found.kind === 'crashed') return found
  return { kind: 'crashed', reason: 'the network process has ended' }
}

function stateAfter({ kind }: RenderOutcome): 'sound' | 'broken' {
  const isBroken = kind === 'timed-out' || kind === 'crashed' || kind === 'aborted' || kind === 'too-large'
  return isBroken ? 'broken' : 'sound'
}

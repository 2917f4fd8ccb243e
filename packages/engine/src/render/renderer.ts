import {
  type Excess,
  PAGE_LIMITS,
  type PageLimits,
  type RenderOutcome,
  type RenderRequest,
} from '@prepaint/contract/outcome/outcome.ts'
import type { Rendering } from '@prepaint/contract/outcome/record.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { findBrowser } from './browser/browser-binary.ts'
import { type BrowserProcess, launchBrowser, type Sandbox } from './browser/browser-process.ts'
import { CdpClosed } from './browser/cdp.ts'
import { type RecycleLimits, superviseBrowser } from './browser/supervisor.ts'
import { StaticPages } from './static-pages.ts'
import { hasFreshProcess, TabPool } from './tab/tab-pool.ts'
import { LongPolls } from './time/long-polls.ts'
import { Recorder } from './visit/recorder.ts'
import { visit } from './visit/visit.ts'

export type RendererOptions = {
  chromium: string | null
  dataDir: string
  slots: number
  /** Real time for one render, from the start of its slot. */
  timeoutMs: number
  requireSandbox: boolean
  identity: string
  openGateway(): Promise<Gateway>
  limits?: Partial<PageLimits>
  recycle?: Partial<RecycleLimits>
  clock: Clock
  log: Log
  onLongStep?: (line: string) => void
}

export type Renderer = {
  /** Never rejects: failures are outcomes. */
  render(request: RenderRequest): Promise<Rendering>
  readonly healthy: boolean
  readonly browsers: { readonly alive: number; readonly started: number }
  readonly sandbox: Sandbox
  /** See `BrowserProcess.yieldCores`. */
  yieldCores(isYielding: boolean): void
  /** Resolves when browsers and gateway are gone. Running renders end as `aborted` or `crashed`. */
  close(): Promise<void>
}

/** Retry when a browser dies before anything was rendered. */
const TAKE_ATTEMPTS = 3
const NO_TAB = 'the browser opened no tab in the time of the render'
const MEGABYTE = 1024 * 1024

/** Throws if no browser is found or it does not start. */
export async function startRenderer(options: RendererOptions): Promise<Renderer> {
  const { timeoutMs, clock, log } = options
  const limits = { ...PAGE_LIMITS, ...options.limits }
  const { browsers, gateway, launched } = await startBrowsers(options, limits)
  const slots = createSlots(options.slots)
  const longPolls = new LongPolls(clock.nowMs)
  const closing = new AbortController()
  const statics = new StaticPages(gateway.askDocument)

  async function takeTab(request: RenderRequest, signal: AbortSignal) {
    for (let attempt = 1; ; attempt++) {
      const { browser, release } = await browsers.lease(signal)
      try {
        return { browser, release, tab: await browser.tabs.take(request, signal) }
      } catch (error) {
        release()
        if (!(error instanceof CdpClosed) || attempt === TAKE_ATTEMPTS) throw error
      }
    }
  }

  async function render(request: RenderRequest): Promise<Rendering> {
    const beganMs = clock.nowMs()
    let recorder = new Recorder(clock.nowMs, beganMs)
    const signal = AbortSignal.any([request.signal, closing.signal])
    const ready = await statics.find(request, recorder)
    if (ready !== null && 'outcome' in ready) return recorder.explain(ready.outcome)
    const giveSlotBack = request.withoutBrowser ? null : await slots.take(signal)
    if (giveSlotBack === null) {
      ready?.document.drop()
      return recorder.explain({ kind: 'aborted' })
    }
    const slotMs = clock.nowMs()
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    let given = ready?.document.handOver()
    let tooHeavy: Rendering | null = null
    try {
      for (;;) {
        recorder.reached('slot')
        const { browser, release, tab } = await takeTab(request, inTime)
        recorder.reached('tab')
        const isFresh = hasFreshProcess(tab)
        const leftMs = tooHeavy === null ? timeoutMs : Math.max(slotMs + timeoutMs - clock.nowMs(), 0)
        const options = { timeoutMs: leftMs, clock, limits, recorder, longPolls, given }
        const found = await visit(tab, { ...request, signal }, options)
        const hasNetwork = browser.process.parts.hasNetwork()
        const outcome = hasNetwork ? withinGatewayLimits(found, tab.site.excess()) : withoutNetwork(found)
        const cleaned = browser.tabs.giveBack(tab, stateAfter(outcome)).finally(release)
        const rendering = recorder.explain(outcome, tab.site.preloaded())
        // What earlier pages left in the process counts until it is collected.
        if (outcome.kind === 'too-large' && outcome.what === 'memory' && !isFresh) {
          tooHeavy = rendering
          given = undefined
          recorder = new Recorder(clock.nowMs, beganMs)
          await cleaned
          continue
        }
        // The slot waits for the cleaning, so the next render finds a clean tab.
        void cleaned.finally(giveSlotBack)
        if (tooHeavy !== null && outcome.kind === 'timed-out') return tooHeavy
        statics.learn(request, rendering)
        return rendering
      }
    } catch (error) {
      ready?.document.drop()
      giveSlotBack()
      if (signal.aborted) return recorder.explain({ kind: 'aborted' })
      if (tooHeavy !== null) return tooHeavy
      log.warn({ err: error, domain: request.customDomain }, 'a render could not begin')
      const reason = inTime.aborted ? NO_TAB : error instanceof Error ? error.message : String(error)
      return recorder.explain({ kind: 'crashed', reason })
    }
  }

  return {
    render,
    browsers,
    get healthy() {
      return browsers.healthy
    },
    get sandbox() {
      return launched.process?.sandbox ?? 'off'
    },
    yieldCores: (isYielding) => launched.process?.yieldCores(isYielding),
    async close() {
      closing.abort()
      await browsers.close()
      await gateway.close()
    },
  }
}

async function startBrowsers(options: RendererOptions, limits: PageLimits) {
  const { slots, clock, log } = options
  const binary = await findBrowser(options)
  const gateway = await options.openGateway()
  const launched: { process: BrowserProcess | null } = { process: null }
  const start = async () => {
    const { spkiHash } = gateway
    const process = await launchBrowser({
      ...options,
      binary,
      spkiHash,
      pageMemoryBytes: limits.memoryBytes,
    })
    launched.process = process
    return { process, tabs: new TabPool(process, gateway.openSite, 3 * slots + 2) }
  }
  const recycle = { renders: 1_000, ageMs: 30 * 60_000, memoryBytes: (512 + 384 * slots) * MEGABYTE }
  try {
    const recycleLimits = { ...recycle, ...options.recycle }
    return {
      browsers: await superviseBrowser({ start, limits: recycleLimits, clock, log }),
      gateway,
      launched,
    }
  } catch (error) {
    await gateway.close()
    throw error
  }
}

/** A page that the gateway cut is incomplete; the limit is the reason. */
function withinGatewayLimits(found: RenderOutcome, excess: Excess | null): RenderOutcome {
  if (excess === null || found.kind === 'redirect' || found.kind === 'aborted') return found
  return { kind: 'too-large', what: excess }
}

/** Incomplete because of the browser: worth a retry. A crash keeps its own reason. */
function withoutNetwork(found: RenderOutcome): RenderOutcome {
  if (found.kind === 'aborted' || found.kind === 'crashed') return found
  return { kind: 'crashed', reason: 'the network process has ended' }
}

function stateAfter({ kind }: RenderOutcome): 'sound' | 'broken' {
  return kind === 'timed-out' || kind === 'crashed' || kind === 'aborted' || kind === 'too-large'
    ? 'broken'
    : 'sound'
}

/** Limits concurrent renders; waiting renders start in order of arrival. */
export type Slots = {
  /** Resolves with a release function; null if `signal` aborts first. */
  take(signal: AbortSignal): Promise<(() => void) | null>
}

export function createSlots(count: number): Slots {
  let free = count
  const waiting: (() => void)[] = []

  const giveBack = () => {
    const next = waiting.shift()
    if (next === undefined) free++
    else next()
  }
  const once = (): (() => void) => {
    let isTaken = true
    return () => {
      if (isTaken) giveBack()
      isTaken = false
    }
  }

  return {
    take(signal) {
      if (signal.aborted) return Promise.resolve(null)
      if (free > 0) {
        free--
        return Promise.resolve(once())
      }
      return new Promise((resolve) => {
        const turn = () => {
          signal.removeEventListener('abort', leave)
          resolve(once())
        }
        const leave = () => {
          waiting.splice(waiting.indexOf(turn), 1)
          resolve(null)
        }
        waiting.push(turn)
        signal.addEventListener('abort', leave, { once: true })
      })
    },
  }
}

import type { Sandbox } from './browser/browser-process.ts'
import { type Browsers, type BrowsersOptions, startBrowsers } from './browser/browsers.ts'
import type { Excess, RenderOutcome, RenderRequest } from './outcome.ts'
import { PAGE_LIMITS, type PageLimits } from './page-limits.ts'
import type { Rendering } from './record.ts'
import { createRecorder } from './visit/recorder.ts'
import { visit } from './visit/visit.ts'

export type RendererOptions = BrowsersOptions & {
  /** Real time for one render, from the moment it has its slot. */
  timeoutMs: number
  /** In tests: other limits of one page than `PAGE_LIMITS`. */
  limits?: Partial<PageLimits>
}

export type Renderer = {
  /** One page, rendered. Never rejects: whatever happens is an outcome. */
  render(request: RenderRequest): Promise<Rendering>
  /** A browser runs and answers. */
  readonly healthy: boolean
  readonly browsers: Pick<Browsers, 'alive' | 'started'>
  readonly sandbox: Sandbox
  /** Renders that still run end as `aborted` or `crashed`; browsers and gateway are gone after that. */
  close(): Promise<void>
}

/** Throws when there is no browser, or it does not start. */
export async function startRenderer(options: RendererOptions): Promise<Renderer> {
  const { timeoutMs, clock, log } = options
  const limits = { ...PAGE_LIMITS, ...options.limits }
  const browsers = await startBrowsers(options, limits.memoryBytes)
  const slots = createSlots(options.slots)
  const closing = new AbortController()

  async function render(request: RenderRequest): Promise<Rendering> {
    const recorder = createRecorder(clock.nowMs)
    const signal = AbortSignal.any([request.signal, closing.signal])
    const giveSlotBack = await slots.take(signal)
    if (giveSlotBack === null) return recorder.explain({ kind: 'aborted' })
    recorder.reached('slot')
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    try {
      const { tab, isWhole, giveBack } = await browsers.take(request, inTime)
      recorder.reached('tab')
      const found = await visit(tab, { ...request, signal }, { timeoutMs, clock, limits, recorder })
      const outcome = isWhole() ? withinGatewayLimits(found, tab.excess()) : withoutNetwork(found)
      // The outcome does not wait for the cleaning. The slot does, so that the next render finds a clean tab.
      void giveBack(leavesSound(outcome) ? 'sound' : 'broken').finally(giveSlotBack)
      return recorder.explain(outcome, tab.preloaded())
    } catch (error) {
      giveSlotBack()
      if (signal.aborted) return recorder.explain({ kind: 'aborted' })
      log.warn({ err: error, domain: request.customDomain }, 'a render could not begin')
      return recorder.explain({
        kind: 'crashed',
        reason: error instanceof Error ? error.message : String(error),
      })
    }
  }

  return {
    render,
    browsers,
    get healthy() {
      return browsers.healthy
    },
    get sandbox() {
      return browsers.sandbox
    },
    async close() {
      closing.abort()
      await browsers.close()
    },
  }
}

/** A page that the gateway has cut somewhere is half a page, or none: the reason is its excess, whatever came of it. */
function withinGatewayLimits(found: RenderOutcome, excess: Excess | null): RenderOutcome {
  if (excess === null || found.kind === 'redirect' || found.kind === 'aborted') return found
  return { kind: 'too-large', what: excess }
}

/** Half a page for the browser's sake: worth another attempt. Whoever has crashed knows better why. */
function withoutNetwork(found: RenderOutcome): RenderOutcome {
  if (found.kind === 'aborted' || found.kind === 'crashed') return found
  return { kind: 'crashed', reason: 'the network process has ended' }
}

/** A page that hangs, has died or was left in the middle is not worth cleaning. */
function leavesSound(outcome: RenderOutcome): boolean {
  const { kind } = outcome
  return kind !== 'timed-out' && kind !== 'crashed' && kind !== 'aborted' && kind !== 'too-large'
}

/** So many renders at once; the others wait their turn, first come first served. */
export type Slots = {
  /** Resolves with the function that gives the slot back; null when `signal` ended the wait. */
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
  /** Each slot is given back once, however often that is said. */
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

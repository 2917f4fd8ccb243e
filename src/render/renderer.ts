import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import { findBrowser } from './browser-binary.ts'
import { launchBrowser, type Sandbox } from './browser-process.ts'
import { CdpClosed } from './cdp.ts'
import type { Excess, RenderOutcome, RenderRequest } from './outcome.ts'
import { PAGE_LIMITS, type PageLimits } from './page-limits.ts'
import type { Rendering } from './record.ts'
import { createRecorder } from './recorder.ts'
import { createSlots } from './slots.ts'
import { superviseBrowser } from './supervisor.ts'
import { createTabPool, type Site, type SiteProxy } from './tab-pool.ts'
import { visit } from './visit.ts'

/** Chromium's only way out, as far as the renderer knows it. */
export type RenderGateway = {
  /** base64 SHA-256 of the public key that it shows for custom domains; null where it ends no TLS. */
  spkiHash: string | null
  openSite(site: Site): Promise<SiteProxy>
  close(): Promise<void>
}

export type RendererOptions = {
  /** PREPAINT_CHROMIUM. */
  chromium: string | null
  dataDir: string
  /** Pages rendered at once. */
  slots: number
  /** Real time for one render, from the moment it has its slot. */
  timeoutMs: number
  requireSandbox: boolean
  /** In tests: other limits of one page than `PAGE_LIMITS`. */
  limits?: Partial<PageLimits>
  openGateway(): Promise<RenderGateway>
  clock: Clock
  log: Log
  /** A line for the terminal before a step of seconds. */
  onLongStep?: (line: string) => void
}

export type Renderer = {
  /** One page, rendered. Never rejects: whatever happens is an outcome. */
  render(request: RenderRequest): Promise<Rendering>
  /** A browser runs and answers. */
  readonly healthy: boolean
  readonly sandbox: Sandbox
  /** Renders that still run end as `aborted` or `crashed`; browsers and gateway are gone after that. */
  close(): Promise<void>
}

const START_ATTEMPTS = 3
const MEGABYTE = 1024 * 1024

/** Starts a browser behind a gateway and keeps it alive. Throws when there is none, or it does not start. */
export async function startRenderer(options: RendererOptions): Promise<Renderer> {
  const { slots: slotCount, timeoutMs, clock, log } = options
  const limits = { ...PAGE_LIMITS, ...options.limits }
  const binary = await findBrowser(options)
  const gateway = await options.openGateway()
  let sandbox: Sandbox = 'off'
  const supervisor = await superviseBrowser({
    async start() {
      const process = await launchBrowser({
        ...options,
        binary,
        spkiHash: gateway.spkiHash,
        pageMemoryBytes: limits.memoryBytes,
      })
      sandbox = process.sandbox
      const tabs = createTabPool({ browser: process, openSite: gateway.openSite, limit: 3 * slotCount + 2 })
      return { process, tabs }
    },
    limits: { renders: 1_000, ageMs: 30 * 60_000, memoryBytes: (512 + 384 * slotCount) * MEGABYTE },
    clock,
    log,
  }).catch(async (error) => {
    await gateway.close()
    throw error
  })
  const slots = createSlots(slotCount)
  const closing = new AbortController()

  async function render(request: RenderRequest): Promise<Rendering> {
    const recorder = createRecorder(clock.nowMs)
    const signal = AbortSignal.any([request.signal, closing.signal])
    const giveSlotBack = await slots.take(signal)
    if (giveSlotBack === null) return recorder.explain({ kind: 'aborted' })
    recorder.reached('slot')
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    try {
      const { tabs, tab, release } = await takeTab(request, inTime)
      recorder.reached('tab')
      const found = await visit(tab, { ...request, signal }, { timeoutMs, clock, limits, recorder })
      const outcome = withinGatewayLimits(found, tab.excess())
      // The outcome does not wait for the cleaning. The slot does, so that the next render finds a clean tab.
      void tabs.giveBack(tab, leavesSound(outcome) ? 'sound' : 'broken').finally(() => {
        release()
        giveSlotBack()
      })
      return recorder.explain(outcome)
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

  /** A browser that dies just now is no reason to give up: nothing has been rendered yet. */
  async function takeTab(site: Site, inTime: AbortSignal) {
    for (let attempt = 1; ; attempt++) {
      const { browser, release } = await supervisor.lease(inTime)
      try {
        return { tabs: browser.tabs, tab: await browser.tabs.take(site, inTime), release }
      } catch (error) {
        release()
        if (!(error instanceof CdpClosed) || attempt === START_ATTEMPTS) throw error
      }
    }
  }

  return {
    render,
    get healthy() {
      return supervisor.healthy
    },
    get sandbox() {
      return sandbox
    },
    async close() {
      closing.abort()
      await supervisor.close()
      await gateway.close()
    },
  }
}

/** A page that the gateway has cut somewhere is half a page, or none: the reason is its excess, whatever came of it. */
function withinGatewayLimits(found: RenderOutcome, excess: Excess | null): RenderOutcome {
  if (excess === null || found.kind === 'redirect' || found.kind === 'aborted') return found
  return { kind: 'too-large', what: excess }
}

/** A page that hangs, has died or was left in the middle is not worth cleaning. */
function leavesSound(outcome: RenderOutcome): boolean {
  const { kind } = outcome
  return kind !== 'timed-out' && kind !== 'crashed' && kind !== 'aborted' && kind !== 'too-large'
}

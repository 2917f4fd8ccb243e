import { PAGE_LIMITS, type PageLimits, type RenderRequest } from '@prepaint/contract/outcome/outcome.ts'
import type { Rendering } from '@prepaint/contract/outcome/record.ts'
import type {
  Inspected,
  InspectionRequest,
  Renderer,
  SelectorProblem,
} from '@prepaint/contract/outcome/renderer.ts'
import type { AllowedRange } from '@prepaint/outbound/address-range'
import { type Clock, systemClock } from '@prepaint/runtime/clock.ts'
import { type Log, silentLog } from '@prepaint/runtime/log.ts'
import { startGateway } from './gateway/gateway.ts'
import type { GatewayLimits } from './gateway/request-counts.ts'
import { findBrowser } from './render/browser/browser-binary.ts'
import type { Sandbox } from './render/browser/browser-process.ts'
import type { RecycleLimits } from './render/browser/supervisor.ts'
import { Inspector } from './render/inspector.ts'
import { PageRenderer } from './render/renderer.ts'

export type EngineOptions = {
  /** Where the packaged browser is unpacked, and where browsers write what they need. It may be shared. */
  dataDir: string
  /** The end of the browser's user agent, such as `Example/1.0 (+https://example.com/bot)`. */
  identity: string
  /** The browser's program. By default a browser of the system is used, else the packaged one. */
  chromium?: string | null
  /** Refuses to start if Chromium's own sandbox cannot work here. Default: false. */
  requireSandbox?: boolean
  /** How many pages are rendered at once; others wait. Default: 1. */
  slots?: number
  /** Real time for one render, from the start of its slot. Default: 20 seconds. */
  timeoutMs?: number
  /** Private addresses that pages may reach. By default they reach public addresses only. */
  allowedPrivateOrigins?: readonly AllowedRange[]
  /** Whether requests that earlier pages of a site made are sent before the page asks. Default: true. */
  preload?: boolean
  limits?: Partial<PageLimits>
  gatewayLimits?: Partial<GatewayLimits>
  /** When a browser is replaced by a new one. */
  recycle?: Partial<RecycleLimits>
  clock?: Clock
  /** Nothing is logged without it. */
  log?: Log
  /** Called before a step that takes seconds: the packaged browser is unpacked at the first start. */
  onLongStep?: (line: string) => void
}

/** A running browser behind its gateway. */
export interface Engine extends Renderer {
  /** How many browsers are running, and how many have been started. */
  readonly browsers: { readonly alive: number; readonly started: number }
  readonly sandbox: Sandbox
  /** Gives way to other programs that need the cores. See `BrowserProcess.yieldCores`. */
  yieldCores(isYielding: boolean): void
  /** Resolves when browsers and gateways are gone. Running renders end as `aborted` or `crashed`. */
  close(): Promise<void>
}

/** Rejects if no browser is found, or if it does not start. */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const {
    dataDir,
    identity,
    chromium = null,
    requireSandbox = false,
    slots = 1,
    timeoutMs = 20_000,
    allowedPrivateOrigins = [],
    preload,
    gatewayLimits,
    recycle,
    clock = systemClock,
    log = silentLog(),
    onLongStep,
  } = options
  const limits = { ...PAGE_LIMITS, ...options.limits }
  const openGateway = () =>
    startGateway({ allowed: allowedPrivateOrigins, preload, limits: gatewayLimits, log })
  const binary = await findBrowser({ chromium, dataDir, onLongStep })
  const browser = { binary, dataDir, identity, requireSandbox }
  const renderer = await PageRenderer.start(await openGateway(), clock, log, {
    ...browser,
    slots,
    timeoutMs,
    limits,
    recycle,
  })
  const inspector = new Inspector(openGateway, clock, log, browser)
  return new BrowserEngine(renderer, inspector)
}

class BrowserEngine implements Engine {
  readonly #renderer: PageRenderer
  readonly #inspector: Inspector

  constructor(renderer: PageRenderer, inspector: Inspector) {
    this.#renderer = renderer
    this.#inspector = inspector
  }

  render(request: RenderRequest): Promise<Rendering> {
    return this.#renderer.render(request)
  }

  inspect(request: InspectionRequest): Promise<Inspected> {
    return this.#inspector.inspect(request)
  }

  checkSelectors(selectors: readonly string[]): Promise<SelectorProblem[]> {
    return this.#renderer.checkSelectors(selectors)
  }

  get healthy(): boolean {
    return this.#renderer.browsers.healthy
  }

  get browsers(): Engine['browsers'] {
    return this.#renderer.browsers
  }

  get sandbox(): Sandbox {
    return this.#renderer.sandbox
  }

  yieldCores(isYielding: boolean): void {
    this.#renderer.yieldCores(isYielding)
  }

  async close(): Promise<void> {
    await Promise.all([this.#renderer.close(), this.#inspector.close()])
  }
}

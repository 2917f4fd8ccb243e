import { PAGE_LIMITS } from '@prepaint/contract/outcome/outcome.ts'
import type { Inspected, InspectionRequest } from '@prepaint/contract/outcome/renderer.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { BrowserBinary } from './browser/browser-binary.ts'
import { type BrowserProcess, launchBrowser } from './browser/browser-process.ts'
import { inspectPage } from './inspect-page.ts'

type InspectorOptions = {
  binary: BrowserBinary
  dataDir: string
  requireSandbox: boolean
  identity: string
  idleMs?: number
  inspectMs?: number
}

/** A browser with its gateway. `ending` is set when it is no longer needed. */
type Awake = { browser: BrowserProcess; gateway: Gateway; uses: number; ending: Promise<void> | null }

const INSPECT_MS = 30_000
/** The browser ends after this long without an inspection. It takes about 200 MB. */
const IDLE_MS = 60_000

/** Starts a browser on demand behind its own gateway. The browser ends after an idle minute or a failed page. */
export class Inspector {
  readonly #openGateway: () => Promise<Gateway>
  readonly #clock: Clock
  readonly #log: Log
  readonly #options: InspectorOptions
  readonly #closing = new AbortController()
  #awake: Promise<Awake> | null = null
  #idle: NodeJS.Timeout | undefined

  constructor(openGateway: () => Promise<Gateway>, clock: Clock, log: Log, options: InspectorOptions) {
    this.#openGateway = openGateway
    this.#clock = clock
    this.#log = log
    this.#options = options
  }

  get isAwake(): boolean {
    return this.#awake !== null
  }

  /** Rejects if the page cannot be loaded in time, if the signal aborts, or when the inspector closes. */
  async inspect(request: InspectionRequest): Promise<Inspected> {
    const { idleMs = IDLE_MS, inspectMs = INSPECT_MS } = this.#options
    const { customDomain, path, signal } = request
    clearTimeout(this.#idle)
    const starting = this.#awake ?? this.#wake()
    let inTime = AbortSignal.any([signal, this.#closing.signal])
    let used: Awake | null = null
    try {
      used = await starting
      used.uses++
      inTime.throwIfAborted()
      inTime = AbortSignal.any([inTime, AbortSignal.timeout(inspectMs)])
      return await this.#inspectIn(used, request, inTime)
    } catch (error) {
      this.#log.debug({ err: error, domain: customDomain, path }, 'a page could not be inspected')
      // Other inspections finish in this browser, and the next one starts another.
      this.#abandon(starting)
      const isTooLate = inTime.aborted && !signal.aborted && !this.#closing.signal.aborted
      throw isTooLate ? new Error('it took too long', { cause: error }) : error
    } finally {
      if (used !== null) {
        used.uses--
        if (used.uses === 0) {
          if (this.#awake !== starting) await this.#end(used)
          else this.#idle = setTimeout(() => void this.#sleep(starting), idleMs).unref()
        }
      }
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle)
    this.#closing.abort(new Error('the node ends'))
    await this.#sleep(this.#awake)
  }

  async #inspectIn(
    { browser, gateway }: Awake,
    { customDomain, originUrl, originHeaders, path, visitor, given }: InspectionRequest,
    signal: AbortSignal,
  ): Promise<Inspected> {
    const site = await gateway.openSite({ customDomain, originUrl, originHeaders })
    try {
      const page = { url: `https://${customDomain}${path}`, visitor, given }
      const options = { nowMs: this.#clock.nowMs, limits: PAGE_LIMITS, signal }
      const found = await inspectPage(browser, site, page, options)
      const excess = site.excess()
      if (excess !== null) throw new Error(`the page is too large (${excess})`)
      return found
    } finally {
      await site.close()
    }
  }

  #wake(): Promise<Awake> {
    const starting = this.#start()
    this.#awake = starting
    starting.then(({ browser }) => browser.ended.then(() => this.#sleep(starting))).catch(() => {})
    return starting
  }

  async #start(): Promise<Awake> {
    const gateway = await this.#openGateway()
    try {
      const browser = await launchBrowser({
        ...this.#options,
        spkiHash: gateway.spkiHash,
        pageMemoryBytes: PAGE_LIMITS.memoryBytes,
        drawsPages: true,
        log: this.#log,
      })
      return { browser, gateway, uses: 0, ending: null }
    } catch (error) {
      await gateway.close()
      throw error
    }
  }

  /** The next inspection starts another browser. */
  #abandon(which: Promise<Awake>): void {
    if (this.#awake === which) this.#awake = null
  }

  async #sleep(which: Promise<Awake> | null): Promise<void> {
    if (which === null || this.#awake !== which) return
    this.#awake = null
    const found = await which.catch(() => null)
    if (found !== null) await this.#end(found)
  }

  #end(found: Awake): Promise<void> {
    const { browser, gateway } = found
    found.ending ??= browser.kill('is not needed any more').then(() => gateway.close())
    return found.ending
  }
}

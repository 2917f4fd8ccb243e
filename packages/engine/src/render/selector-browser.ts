import { PAGE_LIMITS } from '@prepaint/contract/outcome/outcome.ts'
import type { SelectorProblem } from '@prepaint/contract/outcome/renderer.ts'
import { type Log, silentLog } from '@prepaint/runtime/log.ts'
import { findBrowser } from './browser/browser-binary.ts'
import { type BrowserProcess, launchBrowser } from './browser/browser-process.ts'
import { untilAborted } from './browser/until-aborted.ts'
import { checkSelectors } from './check-selectors.ts'

type SelectorBrowserOptions = {
  /** The browser's program. By default a browser of the system is used, else the packaged one. */
  chromium: string | null
  dataDir: string
  /** Refuses to start if Chromium's own sandbox cannot work here. Default: false. */
  requireSandbox?: boolean
  /** The browser ends after this long without a check. Default: 30 seconds. */
  idleMs?: number
  log?: Log
}

const IDLE_MS = 30_000
/** Limits one check by a browser that has started. */
const CHECK_MS = 5_000

/** A browser without a network that only reads selectors, for programs without an engine. It starts when it is asked, and ends when idle. */
export class SelectorBrowser {
  readonly #options: SelectorBrowserOptions
  readonly #closing = new AbortController()
  /** The end of the last check that was asked for. Checks take turns. */
  #last: Promise<unknown> = Promise.resolve()
  #awake: Promise<BrowserProcess> | null = null
  /** Settles when the browser that ended last is gone. */
  #gone: Promise<unknown> = Promise.resolve()
  #idle: NodeJS.Timeout | undefined

  constructor(options: SelectorBrowserOptions) {
    this.#options = options
  }

  get isAwake(): boolean {
    return this.#awake !== null
  }

  /** Returns the selectors that the browser refuses. Rejects if it does not start or answer. */
  checkSelectors(selectors: readonly string[]): Promise<SelectorProblem[]> {
    const turn = this.#last.then(() => this.#check(selectors))
    this.#last = turn.catch(() => {})
    return turn
  }

  /** Resolves when the browser is gone. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the program ends'))
    await this.#last
    await this.#sleep()
    await this.#gone
  }

  async #check(selectors: readonly string[]): Promise<SelectorProblem[]> {
    this.#closing.signal.throwIfAborted()
    clearTimeout(this.#idle)
    const starting = this.#awake ?? this.#wake()
    try {
      const browser = await starting
      const inTime = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(CHECK_MS)])
      const problems = await untilAborted(checkSelectors(browser, selectors), inTime)
      const { idleMs = IDLE_MS } = this.#options
      this.#idle = setTimeout(() => void this.#sleep(), idleMs).unref()
      return problems
    } catch (error) {
      // The next check starts another browser.
      await this.#sleep()
      throw error
    }
  }

  #wake(): Promise<BrowserProcess> {
    const starting = this.#start()
    this.#awake = starting
    // If it dies while it is idle, the next check starts another one.
    const ended = starting.then((browser) => browser.ended)
    ended
      .then(() => {
        if (this.#awake === starting) this.#awake = null
      })
      .catch(() => {})
    return starting
  }

  async #start(): Promise<BrowserProcess> {
    const { chromium, dataDir, requireSandbox = false, log = silentLog() } = this.#options
    const binary = await findBrowser({ chromium, dataDir })
    return launchBrowser({
      binary,
      dataDir,
      requireSandbox,
      spkiHash: null,
      pageMemoryBytes: PAGE_LIMITS.memoryBytes,
      log,
    })
  }

  async #sleep(): Promise<void> {
    clearTimeout(this.#idle)
    const awake = this.#awake
    if (awake === null) return
    this.#awake = null
    this.#gone = awake.then((browser) => browser.kill('is not needed any more')).catch(() => {})
    await this.#gone
  }
}

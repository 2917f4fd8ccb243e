import { PAGE_LIMITS, type Visitor } from '@prepaint/contract/outcome/outcome.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { findBrowser } from './browser/browser-binary.ts'
import { type BrowserProcess, launchBrowser } from './browser/browser-process.ts'
import { type GivenDocument, inspectPage, type PageInspection } from './inspect-page.ts'

type InspectorOptions = {
  chromium: string | null
  dataDir: string
  requireSandbox: boolean
  identity: string
  openGateway(): Promise<Gateway>
  clock: Clock
  log: Log
  idleMs?: number
  inspectMs?: number
}

export type InspectionRequest = {
  customDomain: string
  originUrl: string
  path: string
  visitor?: Visitor | undefined
  originHeaders?: readonly string[] | undefined
  given?: GivenDocument
  signal: AbortSignal
}

export type Inspector = {
  inspect(request: InspectionRequest): Promise<PageInspection>
  readonly isAwake: boolean
  close(): Promise<void>
}

const INSPECT_MS = 30_000
/** An unused browser takes about 200 MB. */
const IDLE_MS = 60_000

/** Starts a browser on demand behind its own gateway. It ends after an idle minute or a failed page. */
export function createInspector(options: InspectorOptions): Inspector {
  const { clock, log, idleMs = IDLE_MS, inspectMs = INSPECT_MS } = options
  type Awake = { browser: BrowserProcess; gateway: Gateway; uses: number; ending?: Promise<void> }
  let awake: Promise<Awake> | null = null
  let idle: NodeJS.Timeout | undefined
  const closing = new AbortController()

  async function start(): Promise<Awake> {
    const binary = await findBrowser(options)
    const gateway = await options.openGateway()
    try {
      const browser = await launchBrowser({
        ...options,
        binary,
        spkiHash: gateway.spkiHash,
        pageMemoryBytes: PAGE_LIMITS.memoryBytes,
        drawsPages: true,
      })
      return { browser, gateway, uses: 0 }
    } catch (error) {
      await gateway.close()
      throw error
    }
  }

  async function wake(): Promise<Awake> {
    const started = awake ?? start()
    awake = started
    try {
      const found = await started
      void found.browser.ended.then(() => sleep(started))
      return found
    } catch (error) {
      if (awake === started) awake = null
      throw error
    }
  }

  function end(found: Awake): Promise<void> {
    const { browser, gateway } = found
    found.ending ??= browser.kill('is not needed any more').then(() => gateway.close())
    return found.ending
  }

  async function sleep(which: Promise<Awake> | null): Promise<void> {
    if (which === null || awake !== which) return
    awake = null
    const found = await which.catch(() => null)
    if (found !== null) await end(found)
  }

  return {
    async inspect({ customDomain, originUrl, originHeaders, path, visitor, given, signal }) {
      clearTimeout(idle)
      const waking = wake()
      const which = awake
      let inTime = AbortSignal.any([signal, closing.signal])
      let used: Awake | null = null
      try {
        used = await waking
        used.uses++
        const { browser, gateway } = used
        inTime.throwIfAborted()
        inTime = AbortSignal.any([inTime, AbortSignal.timeout(inspectMs)])
        const site = await gateway.openSite({ customDomain, originUrl, originHeaders })
        try {
          const wanted = { url: `https://${customDomain}${path}`, visitor, ...(given && { given }) }
          const found = await inspectPage(browser, site.proxyUrl, wanted, {
            nowMs: clock.nowMs,
            limits: PAGE_LIMITS,
            signal: inTime,
          })
          const excess = site.excess()
          if (excess !== null) throw new Error(`the page is too large (${excess})`)
          return found
        } finally {
          await site.close()
        }
      } catch (error) {
        log.debug({ err: error, domain: customDomain, path }, 'a page could not be inspected')
        // Others finish in this browser, and the next starts another.
        if (awake === which) awake = null
        throw inTime.aborted && !signal.aborted && !closing.signal.aborted
          ? new Error('it took too long', { cause: error })
          : error
      } finally {
        if (used !== null && --used.uses === 0) {
          if (awake !== which) await end(used)
          else idle = setTimeout(() => void sleep(which), idleMs).unref()
        }
      }
    },
    get isAwake() {
      return awake !== null
    },
    async close() {
      clearTimeout(idle)
      closing.abort(new Error('the node ends'))
      await sleep(awake)
    },
  }
}

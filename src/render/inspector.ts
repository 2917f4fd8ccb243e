import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import { findBrowser } from './browser/browser-binary.ts'
import { type BrowserProcess, launchBrowser } from './browser/browser-process.ts'
import type { RenderGateway } from './browser/browsers.ts'
import { type GivenDocument, type Look, lookAt } from './look.ts'
import type { Visitor } from './outcome.ts'
import { PAGE_LIMITS } from './page-limits.ts'

type InspectorOptions = {
  chromium: string | null
  dataDir: string
  requireSandbox: boolean
  identity: string
  openGateway(): Promise<RenderGateway>
  clock: Clock
  log: Log
  /** In tests: sooner. */
  idleMs?: number
  lookMs?: number
}

export type LookRequest = {
  customDomain: string
  originUrl: string
  path: string
  visitor?: Visitor | undefined
  given?: GivenDocument
  signal: AbortSignal
}

/** Looks at pages as a person does. Rejects when a page cannot be looked at. */
export type Inspector = {
  look(request: LookRequest): Promise<Look>
  /** A browser is there at this moment. */
  readonly isAwake: boolean
  close(): Promise<void>
}

/** For one load. */
const LOOK_MS = 30_000
/** A browser that nobody needs costs some 200 MB. */
const IDLE_MS = 60_000

/**
 * A browser of its own, for whoever looks at a page: it draws, loads pictures
 * and lives in real time, which those that render never do. It is started when
 * somebody looks, behind a gateway of its own with the same guard, and ends
 * when nobody has for a minute; and at once when a page has been too much for it.
 */
export function createInspector(options: InspectorOptions): Inspector {
  const { clock, log, idleMs = IDLE_MS, lookMs = LOOK_MS } = options
  type Awake = { browser: BrowserProcess; gateway: RenderGateway }
  let awake: Promise<Awake> | null = null
  let looking = 0
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
      return { browser, gateway }
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

  async function sleep(which: Promise<Awake> | null): Promise<void> {
    if (which === null || awake !== which) return
    awake = null
    const found = await which.catch(() => null)
    await found?.browser.kill('nobody looks any more')
    await found?.gateway.close()
  }

  return {
    async look({ customDomain, originUrl, path, visitor, given, signal }) {
      clearTimeout(idle)
      looking++
      const which = wake()
      let inTime = AbortSignal.any([signal, closing.signal])
      try {
        const { browser, gateway } = await which
        inTime.throwIfAborted()
        // Its start has a limit of its own.
        inTime = AbortSignal.any([inTime, AbortSignal.timeout(lookMs)])
        const site = await gateway.openSite({ customDomain, originUrl })
        try {
          const wanted = { url: `https://${customDomain}${path}`, visitor, ...(given && { given }) }
          const look = await lookAt(browser, site.proxyUrl, wanted, {
            nowMs: clock.nowMs,
            limits: PAGE_LIMITS,
            signal: inTime,
          })
          const excess = site.excess()
          if (excess !== null) throw new Error(`the page is too large (${excess})`)
          return look
        } finally {
          await site.close()
        }
      } catch (error) {
        // A page that hangs would hang for whoever comes next, too.
        log.debug({ err: error, domain: customDomain, path }, 'a page could not be looked at')
        await sleep(awake)
        throw inTime.aborted && !signal.aborted && !closing.signal.aborted
          ? new Error('it took too long', { cause: error })
          : error
      } finally {
        looking--
        if (looking === 0) idle = setTimeout(() => void sleep(awake), idleMs).unref()
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

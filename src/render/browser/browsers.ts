import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'
import { createTabPool, type PooledTab, type Site, type SiteProxy } from '../tab/tab-pool.ts'
import { findBrowser } from './browser-binary.ts'
import { launchBrowser, type Sandbox } from './browser-process.ts'
import { CdpClosed } from './cdp.ts'
import { type RecycleLimits, superviseBrowser } from './supervisor.ts'

/** Chromium's only way out, as far as the renderer knows it. */
export type RenderGateway = {
  /** base64 SHA-256 of the public key that it shows for custom domains; null where it ends no TLS. */
  spkiHash: string | null
  openSite(site: Site): Promise<SiteProxy>
  close(): Promise<void>
}

export type BrowsersOptions = {
  /** PREPAINT_CHROMIUM. */
  chromium: string | null
  dataDir: string
  /** Pages rendered at once. */
  slots: number
  requireSandbox: boolean
  /** See `identityOf`. */
  identity: string
  openGateway(): Promise<RenderGateway>
  /** In tests: other limits of one browser than the usual ones. */
  recycle?: Partial<RecycleLimits>
  clock: Clock
  log: Log
  /** A line for the terminal before a step of seconds. */
  onLongStep?: (line: string) => void
}

/** A tab for one render. */
type TakenTab = {
  tab: PooledTab
  /** Whether nothing that it loaded can have failed for the browser's own sake. */
  isWhole(): boolean
  /** Resolves when the tab is clean for the next render, or closed. */
  giveBack(state: 'sound' | 'broken'): Promise<void>
}

export type Browsers = {
  /** A clean tab of this site in a browser that lives. Rejects when there is none before `signal`. */
  take(site: Site, signal: AbortSignal): Promise<TakenTab>
  readonly healthy: boolean
  readonly alive: number
  readonly started: number
  readonly sandbox: Sandbox
  close(): Promise<void>
}

const START_ATTEMPTS = 3
const MEGABYTE = 1024 * 1024

/** Starts a browser behind a gateway and keeps one alive. Throws when there is none, or it does not start. */
export async function startBrowsers(options: BrowsersOptions, pageMemoryBytes: number): Promise<Browsers> {
  const { slots, clock, log } = options
  const binary = await findBrowser(options)
  const gateway = await options.openGateway()
  let sandbox: Sandbox = 'off'
  const supervisor = await superviseBrowser({
    async start() {
      const process = await launchBrowser({ ...options, binary, spkiHash: gateway.spkiHash, pageMemoryBytes })
      sandbox = process.sandbox
      const tabs = createTabPool({ browser: process, openSite: gateway.openSite, limit: 3 * slots + 2 })
      return { process, tabs }
    },
    limits: {
      renders: 1_000,
      ageMs: 30 * 60_000,
      memoryBytes: (512 + 384 * slots) * MEGABYTE,
      ...options.recycle,
    },
    clock,
    log,
  }).catch(async (error) => {
    await gateway.close()
    throw error
  })

  return {
    /** A browser that dies just now is no reason to give up: nothing has been rendered yet. */
    async take(site, signal) {
      for (let attempt = 1; ; attempt++) {
        const { browser, release } = await supervisor.lease(signal)
        try {
          const tab = await browser.tabs.take(site, signal)
          return {
            tab,
            isWhole: browser.process.parts.hasNetwork,
            giveBack: (state) => browser.tabs.giveBack(tab, state).finally(release),
          }
        } catch (error) {
          release()
          if (!(error instanceof CdpClosed) || attempt === START_ATTEMPTS) throw error
        }
      }
    },
    get alive() {
      return supervisor.alive
    },
    get started() {
      return supervisor.started
    },
    get healthy() {
      return supervisor.healthy
    },
    get sandbox() {
      return sandbox
    },
    async close() {
      await supervisor.close()
      await gateway.close()
    },
  }
}

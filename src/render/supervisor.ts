import { setTimeout as delay } from 'node:timers/promises'

import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { BrowserProcess, Sandbox } from './browser-process.ts'
import { memoryOfGroupBytes } from './process-group.ts'
import type { TabPool } from './tab-pool.ts'

/** A browser in use, and its tabs. */
export type Browser = { process: BrowserProcess; tabs: TabPool }

/** The right to render in one browser; it lives at least until `release`. */
export type Lease = { browser: Browser; release(): void }

export type Supervisor = {
  /** The current browser, or the next one while there is none. Rejects when `signal` ends the wait. */
  lease(signal: AbortSignal): Promise<Lease>
  /** A browser runs and answers. */
  readonly healthy: boolean
  readonly sandbox: Sandbox
  close(): Promise<void>
}

/** When a browser has done enough and a new one takes its place. */
export type RecycleLimits = { renders: number; ageMs: number; memoryBytes: number }

const PING_EVERY_MS = 5_000
const PING_LIMIT_MS = 2_000
const FIRST_BACK_OFF_MS = 100
const LONGEST_BACK_OFF_MS = 30_000
/** A browser that lived so long did not die of its start: the next one starts at once. */
const STABLE_AFTER_MS = 60_000

type Running = Browser & { sinceMs: number; renders: number; leases: number; retired: boolean }

/**
 * Keeps one browser running: starts it, asks it every few seconds whether it
 * lives, and replaces it when it does not, or has done enough. A new one takes
 * over before the old one, drained, is ended. Throws when the first start fails.
 */
export async function superviseBrowser(options: {
  start(): Promise<Browser>
  limits: RecycleLimits
  clock: Clock
  log: Log
}): Promise<Supervisor> {
  const { start, limits, clock, log } = options
  const running = new Set<Running>()
  const closing = new AbortController()
  let current: Running | null = null
  let next = Promise.withResolvers<Running>()
  let backOffMs = FIRST_BACK_OFF_MS
  let isReplacing = false

  const adopt = (browser: Browser): Running => {
    const adopted = { ...browser, sinceMs: clock.nowMs(), renders: 0, leases: 0, retired: false }
    running.add(adopted)
    current = adopted
    next.resolve(adopted)
    void browser.process.ended.then((why) => whenEnded(adopted, why))
    return adopted
  }

  const whenEnded = (browser: Running, why: string) => {
    running.delete(browser)
    if (closing.signal.aborted || browser.retired) return
    log.warn({ why }, 'Chromium has ended, another one is started')
    if (clock.nowMs() - browser.sinceMs > STABLE_AFTER_MS) backOffMs = FIRST_BACK_OFF_MS
    if (current === browser) {
      current = null
      next = Promise.withResolvers()
      void replace()
    }
  }

  /** Until a browser runs; the one in place, if any, goes on meanwhile. */
  const replace = async () => {
    if (isReplacing) return
    isReplacing = true
    while (!closing.signal.aborted) {
      try {
        const before = current
        const started = await start()
        if (closing.signal.aborted) await started.process.kill('closing')
        else adopt(started)
        if (before !== null) retire(before)
        break
      } catch (error) {
        log.error({ err: error, backOffMs }, 'Chromium could not be started')
      }
      await delay(backOffMs, undefined, { signal: closing.signal }).catch(() => {})
      backOffMs = Math.min(backOffMs * 2, LONGEST_BACK_OFF_MS)
    }
    isReplacing = false
    // It may have died before we were done with it.
    if (current === null && !closing.signal.aborted) void replace()
  }

  const retire = (browser: Running) => {
    browser.retired = true
    endWhenIdle(browser)
  }
  const endWhenIdle = (browser: Running) => {
    if (browser.retired && browser.leases === 0) void end(browser, 'has done enough')
  }
  const end = async (browser: Running, why: string) => {
    await browser.tabs.close()
    await browser.process.kill(why)
  }

  const check = async (browser: Running) => {
    if (!(await answers(browser.process))) return void browser.process.kill('gave no answer')
    const { renders, sinceMs, process } = browser
    const hasDoneEnough =
      renders >= limits.renders ||
      clock.nowMs() - sinceMs >= limits.ageMs ||
      memoryOfGroupBytes(process.pid) >= limits.memoryBytes
    if (hasDoneEnough && browser === current) await replace()
  }

  const { process: first } = adopt(await start())
  const pinging = setInterval(() => {
    for (const browser of running) void check(browser)
  }, PING_EVERY_MS)

  return {
    async lease(signal) {
      const browser = current ?? (await untilAborted(next.promise, signal))
      browser.leases++
      browser.renders++
      if (browser.renders === limits.renders) void replace()
      return {
        browser,
        release: () => {
          browser.leases--
          endWhenIdle(browser)
        },
      }
    },
    get healthy() {
      return current !== null && !closing.signal.aborted
    },
    sandbox: first.sandbox,
    async close() {
      closing.abort()
      clearInterval(pinging)
      await Promise.all([...running].map((browser) => end(browser, 'closing')))
    },
  }
}

async function answers(browser: BrowserProcess): Promise<boolean> {
  const waiting = new AbortController()
  const answer = browser.cdp.browser.send('Browser.getVersion').then(
    () => true,
    () => false,
  )
  const tooLate = delay(PING_LIMIT_MS, false, { signal: waiting.signal }).catch(() => false)
  const isAlive = await Promise.race([answer, tooLate])
  waiting.abort()
  return isAlive
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', abort))
}

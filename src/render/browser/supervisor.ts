import { setTimeout as delay } from 'node:timers/promises'

import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { BrowserProcess } from './browser-process.ts'
import { untilAborted } from './until-aborted.ts'

/** What the supervisor needs of a browser. */
type Supervised = {
  process: Pick<BrowserProcess, 'ended' | 'answers' | 'memoryBytes' | 'kill'> & {
    parts: { canOpenPages(): boolean }
  }
  tabs: { close(): Promise<void> }
}

type Supervisor<B extends Supervised> = {
  /**
   * The right to render in the current browser, or in the next one while there
   * is none; it lives at least until `release`. Rejects when `signal` ends the wait.
   */
  lease(signal: AbortSignal): Promise<{ browser: B; release(): void }>
  /** A browser runs and answers. */
  readonly healthy: boolean
  /** Browsers that run; more than one while one takes another's place. */
  readonly alive: number
  /** Browsers that were started so far. */
  readonly started: number
  close(): Promise<void>
}

/** When a browser has done enough and a new one takes its place. */
export type RecycleLimits = { renders: number; ageMs: number; memoryBytes: number }

const CHECK_EVERY_MS = 5_000
const FIRST_BACK_OFF_MS = 100
const LONGEST_BACK_OFF_MS = 30_000
/** A browser that lived so long did not die of its start: the next one starts at once. */
const STABLE_AFTER_MS = 60_000

type Running<B> = { browser: B; sinceMs: number; renders: number; leases: number; retired: boolean }

/**
 * Keeps one browser running: starts it, asks it every few seconds whether it
 * lives, and replaces it when it does not, or has done enough. A new one takes
 * over before the old one, drained, is ended. Throws when the first start fails.
 */
export async function superviseBrowser<B extends Supervised>(options: {
  start(): Promise<B>
  limits: RecycleLimits
  clock: Clock
  log: Log
  /** Between two looks at each browser. */
  checkEveryMs?: number
}): Promise<Supervisor<B>> {
  const { start, limits, clock, log, checkEveryMs = CHECK_EVERY_MS } = options
  const all = new Set<Running<B>>()
  const closing = new AbortController()
  let current: Running<B> | null = null
  let next = Promise.withResolvers<Running<B>>()
  let backOffMs = FIRST_BACK_OFF_MS
  let isReplacing = false
  let starts = 0

  const adopt = (browser: B) => {
    starts++
    const adopted = { browser, sinceMs: clock.nowMs(), renders: 0, leases: 0, retired: false }
    all.add(adopted)
    current = adopted
    next.resolve(adopted)
    void browser.process.ended.then((why) => whenEnded(adopted, why))
  }

  const whenEnded = (running: Running<B>, why: string) => {
    all.delete(running)
    if (closing.signal.aborted || running.retired) return
    log.warn({ why }, 'Chromium has ended, another one is started')
    if (clock.nowMs() - running.sinceMs > STABLE_AFTER_MS) backOffMs = FIRST_BACK_OFF_MS
    if (current !== running) return
    current = null
    next = Promise.withResolvers()
    void replace()
  }

  /** Until a browser runs; the one in place, if any, goes on meanwhile. */
  const replace = async () => {
    if (isReplacing) return
    isReplacing = true
    const before = current
    while (!closing.signal.aborted) {
      try {
        const started = await start()
        if (closing.signal.aborted) await started.process.kill('closing')
        else adopt(started)
        break
      } catch (error) {
        log.error({ err: error, backOffMs }, 'Chromium could not be started')
      }
      await delay(backOffMs, undefined, { signal: closing.signal }).catch(() => {})
      backOffMs = Math.min(backOffMs * 2, LONGEST_BACK_OFF_MS)
    }
    isReplacing = false
    if (before !== null) retire(before)
    // The new one may have died before we were done.
    if (current === null && !closing.signal.aborted) void replace()
  }

  /** It can finish what it has, but take nothing new. */
  const giveUp = (running: Running<B>) => {
    log.warn('Chromium can open no pages any more, another one is started')
    current = null
    next = Promise.withResolvers()
    retire(running)
    void replace()
  }
  const retire = (running: Running<B>) => {
    running.retired = true
    endWhenIdle(running)
  }
  const endWhenIdle = (running: Running<B>) => {
    if (running.retired && running.leases === 0) void end(running.browser, 'has done enough')
  }
  const end = async ({ tabs, process }: B, why: string) => {
    await tabs.close()
    await process.kill(why)
  }

  const check = async (running: Running<B>) => {
    const { browser, renders, sinceMs } = running
    if (!(await browser.process.answers())) return void browser.process.kill('gave no answer')
    if (running === current && !browser.process.parts.canOpenPages()) return giveUp(running)
    const hasDoneEnough =
      renders >= limits.renders ||
      clock.nowMs() - sinceMs >= limits.ageMs ||
      browser.process.memoryBytes() >= limits.memoryBytes
    if (hasDoneEnough && running === current) await replace()
  }

  adopt(await start())
  const checking = setInterval(() => {
    for (const running of all) void check(running)
  }, checkEveryMs)

  return {
    async lease(signal) {
      if (current !== null && !current.browser.process.parts.canOpenPages()) giveUp(current)
      const running = current ?? (await untilAborted(next.promise, signal))
      running.leases++
      running.renders++
      if (running.renders === limits.renders) void replace()
      return {
        browser: running.browser,
        release: () => {
          running.leases--
          endWhenIdle(running)
        },
      }
    },
    get alive() {
      return all.size
    },
    get started() {
      return starts
    },
    get healthy() {
      return current !== null && !closing.signal.aborted
    },
    async close() {
      closing.abort()
      clearInterval(checking)
      await Promise.all([...all].map(({ browser }) => end(browser, 'closing')))
    },
  }
}

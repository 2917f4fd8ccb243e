import { setTimeout as delay } from 'node:timers/promises'

import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { BrowserProcess } from './browser-process.ts'
import { untilAborted } from './until-aborted.ts'

type Supervised = {
  process: Pick<BrowserProcess, 'ended' | 'answers' | 'memoryBytes' | 'kill'> & {
    parts: { canOpenPages(): boolean }
  }
  tabs: { close(): Promise<void> }
}

export type RecycleLimits = { renders: number; ageMs: number; memoryBytes: number }

type SupervisorOptions = {
  limits: RecycleLimits
  checkEveryMs?: number
}

/** The browser is closed after this long without a render. The next render starts another one. */
const IDLE_MS = 10 * 60_000

const CHECK_EVERY_MS = 5_000
const FIRST_BACK_OFF_MS = 100
const LONGEST_BACK_OFF_MS = 30_000
const STABLE_AFTER_MS = 60_000

type Running<B> = { browser: B; sinceMs: number; renders: number; leases: number; retired: boolean }

/** Keeps one browser running; drains and replaces it when it does not answer or has reached a limit. */
export class Supervisor<B extends Supervised> {
  readonly #start: () => Promise<B>
  readonly #clock: Clock
  readonly #log: Log
  readonly #limits: RecycleLimits
  readonly #all = new Set<Running<B>>()
  readonly #closing = new AbortController()
  readonly #checking: NodeJS.Timeout
  #current: Running<B> | null = null
  #latest: B
  #next = Promise.withResolvers<Running<B>>()
  #backOffMs = FIRST_BACK_OFF_MS
  #isReplacing = false
  /** The browser was closed because nothing was rendered. It ends when the next one has started or failed to start. */
  #isAsleep = false
  #usedMs = 0
  readonly #ending = new Set<Promise<unknown>>()
  #started = 0

  /** Rejects if the first browser does not start. Later ones are tried again. */
  static async start<B extends Supervised>(
    start: () => Promise<B>,
    clock: Clock,
    log: Log,
    options: SupervisorOptions,
  ): Promise<Supervisor<B>> {
    return new Supervisor(await start(), start, clock, log, options)
  }

  private constructor(
    first: B,
    start: () => Promise<B>,
    clock: Clock,
    log: Log,
    { limits, checkEveryMs = CHECK_EVERY_MS }: SupervisorOptions,
  ) {
    this.#start = start
    this.#clock = clock
    this.#log = log
    this.#limits = limits
    this.#latest = first
    this.#adopt(first)
    this.#checking = setInterval(() => {
      this.#sleepWhenIdle()
      for (const running of this.#all) void this.#check(running)
    }, checkEveryMs)
  }

  /** The browser that was started last; it may have ended. */
  get latest(): B {
    return this.#latest
  }

  get alive(): number {
    return this.#all.size
  }

  get started(): number {
    return this.#started
  }

  /** Whether pages can be rendered, also if a render has to start the browser. */
  get healthy(): boolean {
    return (this.#current !== null || this.#isAsleep) && !this.#closing.signal.aborted
  }

  /** Waits for a browser if there is none. It lives at least until `release`. Rejects when `signal` aborts. */
  async lease(signal: AbortSignal): Promise<{ browser: B; release(): void }> {
    const current = this.#current
    if (current !== null && !current.browser.process.parts.canOpenPages()) this.#replaceDrained(current)
    if (this.#isAsleep) void this.#replace()
    const running = this.#current ?? (await untilAborted(this.#next.promise, signal))
    running.leases++
    running.renders++
    if (running.renders === this.#limits.renders) void this.#replace()
    const release = () => {
      running.leases--
      this.#usedMs = this.#clock.nowMs()
      this.#endWhenIdle(running)
    }
    return { browser: running.browser, release }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    clearInterval(this.#checking)
    await Promise.all([...this.#all].map(({ browser }) => this.#end(browser, 'closing')))
    await Promise.all(this.#ending)
  }

  #sleepWhenIdle(): void {
    const running = this.#current
    if (running === null || running.leases > 0 || this.#isReplacing) return
    if (this.#clock.nowMs() - this.#usedMs < IDLE_MS) return
    this.#isAsleep = true
    this.#noCurrent()
    this.#retire(running)
  }

  #adopt(browser: B): void {
    this.#started++
    this.#latest = browser
    this.#usedMs = this.#clock.nowMs()
    const running = { browser, sinceMs: this.#usedMs, renders: 0, leases: 0, retired: false }
    this.#all.add(running)
    this.#current = running
    this.#isAsleep = false
    this.#next.resolve(running)
    void browser.process.ended.then((why) => this.#hasEnded(running, why))
  }

  #hasEnded(running: Running<B>, why: string): void {
    this.#all.delete(running)
    if (this.#closing.signal.aborted || running.retired) return
    this.#log.warn({ why }, 'Chromium has ended, another one is started')
    if (this.#clock.nowMs() - running.sinceMs > STABLE_AFTER_MS) this.#backOffMs = FIRST_BACK_OFF_MS
    if (this.#current !== running) return
    this.#noCurrent()
    void this.#replace()
  }

  async #check(running: Running<B>): Promise<void> {
    const { browser, sinceMs } = running
    if (!(await browser.process.answers())) {
      void browser.process.kill('gave no answer')
      return
    }
    if (running !== this.#current) return
    if (!browser.process.parts.canOpenPages()) return this.#replaceDrained(running)
    const { ageMs, memoryBytes } = this.#limits
    const isUsedUp =
      this.#clock.nowMs() - sinceMs >= ageMs || (await browser.process.memoryBytes()) >= memoryBytes
    if (isUsedUp && running === this.#current) await this.#replace()
  }

  async #replace(): Promise<void> {
    if (this.#isReplacing) return
    this.#isReplacing = true
    const before = this.#current
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        const started = await this.#start()
        if (signal.aborted) await started.process.kill('closing')
        else this.#adopt(started)
        break
      } catch (error) {
        this.#isAsleep = false
        this.#log.error({ err: error, backOffMs: this.#backOffMs }, 'Chromium could not be started')
      }
      await delay(this.#backOffMs, undefined, { signal }).catch(() => {})
      this.#backOffMs = Math.min(this.#backOffMs * 2, LONGEST_BACK_OFF_MS)
    }
    this.#isReplacing = false
    if (before !== null) this.#retire(before)
    if (this.#current === null && !signal.aborted) void this.#replace()
  }

  /** The browser cannot open pages any more; it finishes its renders. */
  #replaceDrained(running: Running<B>): void {
    this.#log.warn('Chromium can open no pages any more, another one is started')
    this.#noCurrent()
    this.#retire(running)
    void this.#replace()
  }

  #noCurrent(): void {
    this.#current = null
    this.#next = Promise.withResolvers()
  }

  #retire(running: Running<B>): void {
    running.retired = true
    this.#endWhenIdle(running)
  }

  #endWhenIdle(running: Running<B>): void {
    if (running.retired && running.leases === 0) void this.#end(running.browser, 'has done enough')
  }

  async #end({ tabs, process }: B, why: string): Promise<void> {
    const ended = tabs.close().then(() => process.kill(why))
    this.#ending.add(ended)
    await ended.finally(() => this.#ending.delete(ended))
  }
}

import type { RenderRequest } from '@prepaint/contract/outcome/outcome.ts'
import { within } from '@prepaint/runtime/within.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { BrowserProcess } from '../browser/browser-process.ts'
import { untilAborted } from '../browser/until-aborted.ts'
import { doesWait } from '../visit/rule.ts'
import { Tab } from './tab.ts'

/**
 * Replace the process before its clock is five minutes ahead: `PageDate` does not correct the load's start time. Each
 * render adds about 5 s. A new process costs as much as two or three renders (docs/decisions/0015-render-speed.md).
 */
const RENDERS_PER_PROCESS = 60

/** Returns whether the tab's next render is the first in its process. */
export function hasFreshProcess(tab: Tab): boolean {
  return tab.renders % RENDERS_PER_PROCESS === 0
}

/** How long an idle page stays parked: leaving for about:blank costs a fifth of a render's processor time. */
const PARK_LIMIT_MS = 1_000

/** Cleaning takes about 5 ms; close a page that takes longer. */
const CLEAN_LIMIT_MS = 2_000

export class TabPool {
  readonly #browser: BrowserProcess
  readonly #gateway: Gateway
  readonly #limit: number
  readonly #tabs = new Set<Tab>()
  #idle: Tab[] = []
  readonly #cleaning = new Map<Tab, Promise<boolean>>()

  /** If there are `limit` tabs, the one that was not used for longest is closed for a new one. */
  constructor(browser: BrowserProcess, gateway: Gateway, limit: number) {
    this.#browser = browser
    this.#gateway = gateway
    this.#limit = limit
  }

  /** Two domains never share a tab, nor do two origins, visitors or lists of blocked hosts of one domain. */
  async take(site: RenderRequest, signal: AbortSignal): Promise<Tab> {
    const { customDomain, originUrl, visitor, block, originHeaders } = site
    const key = JSON.stringify([customDomain, originUrl, visitor, block, originHeaders, doesWait(site)])
    const known = this.#idle.findLast((tab) => tab.key === key)
    if (known !== undefined) {
      this.#notIdle(known)
      return known
    }
    const soon = [...this.#cleaning].find(([tab]) => tab.key === key)
    if (soon !== undefined) {
      const [tab, isClean] = soon
      this.#cleaning.delete(tab)
      if (await isClean) return tab
    }
    const oldest = this.#idle[0]
    if (this.#tabs.size >= this.#limit && oldest !== undefined) await this.#discard(oldest)
    const opened = this.#open(site, key)
    return untilAborted(opened, signal).catch((error) => {
      void opened.then(
        (tab) => this.#discard(tab),
        () => {},
      )
      throw error
    })
  }

  /** Resolves when the tab is clean or closed. Never rejects. */
  async giveBack(tab: Tab, state: 'sound' | 'broken'): Promise<void> {
    tab.page.listen({})
    tab.site.judgeNext(null)
    tab.renders++
    if (state === 'broken') return this.#discard(tab)
    await this.#whileCleaning(tab, tab.clean(hasFreshProcess(tab)))
  }

  async close(): Promise<void> {
    await Promise.all([...this.#tabs].map((tab) => this.#discard(tab)))
  }

  async #open(site: RenderRequest, key: string): Promise<Tab> {
    const proxy = await this.#gateway.openSite(site)
    const opened = killUnlessOpened(this.#browser)
    try {
      const tab = await Tab.open(this.#browser, proxy, key, { visitor: site.visitor, waits: doesWait(site) })
      this.#tabs.add(tab)
      tab.lost.addEventListener('abort', () => void this.#discard(tab))
      if (tab.lost.aborted) void this.#discard(tab)
      return tab
    } finally {
      opened()
    }
  }

  async #discard(tab: Tab): Promise<void> {
    this.#notIdle(tab)
    this.#tabs.delete(tab)
    await tab.close()
  }

  #notIdle(tab: Tab): void {
    this.#idle = this.#idle.filter((other) => other !== tab)
  }

  async #whileCleaning(tab: Tab, work: Promise<void>): Promise<void> {
    const cleaned = hasSucceededInTime(work)
    this.#cleaning.set(tab, cleaned)
    const isClean = await cleaned
    if (this.#tabs.has(tab)) tab.site.endPage()
    if (!isClean) await this.#discard(tab)
    // If it is not in the map, a waiting render has taken it.
    else if (this.#cleaning.has(tab) && this.#tabs.has(tab)) this.#becomeIdle(tab)
    this.#cleaning.delete(tab)
  }

  #becomeIdle(tab: Tab): void {
    this.#idle.push(tab)
    if (!tab.isParked) return
    const rendersSoFar = tab.renders
    const leave = () => {
      if (!this.#idle.includes(tab) || tab.renders !== rendersSoFar) return
      this.#notIdle(tab)
      void this.#whileCleaning(tab, tab.leave())
    }
    setTimeout(leave, PARK_LIMIT_MS).unref()
  }
}

function hasSucceededInTime(work: Promise<void>): Promise<boolean> {
  const succeeded = work.then(
    () => true,
    () => false,
  )
  return within(CLEAN_LIMIT_MS, succeeded, false)
}

const OPEN_LIMIT_MS = 5_000

/** Kills a browser that cannot open a page in time, unless it is busy. Call the result when opening has ended. */
function killUnlessOpened(browser: Pick<BrowserProcess, 'answers' | 'kill'>): () => void {
  let isOver = false
  const kill = () => {
    if (!isOver) void browser.kill('could not open a page')
  }
  const check = async () => {
    if (!(await browser.answers())) kill()
    else if (!isOver) timer = setTimeout(kill, OPEN_LIMIT_MS)
  }
  let timer = setTimeout(() => void check(), OPEN_LIMIT_MS)
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}

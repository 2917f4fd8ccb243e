import type { OutgoingHttpHeaders } from 'node:http'
import type { BrowserProcess } from '../browser/browser-process.ts'
import { untilAborted } from '../browser/until-aborted.ts'
import type { Excess, Visitor } from '../outcome.ts'
import { openTab, type Tab } from './tab.ts'

/** Whose traffic a context carries. Two domains never share a tab, nor do two origins of one domain. */
export type Site = { customDomain: string; originUrl: string; visitor?: Visitor | undefined }

/** The gateway's side of one context: a proxy of its own. */
export type SiteProxy = {
  proxyUrl: string
  /** What the page has had too much of, null if nothing. */
  excess(): Excess | null
  /** Requests of this page that the gateway had sent before the page did. */
  preloaded(): number
  /** The browser has got all of the site's own answer from this address. */
  isDelivered(url: string): boolean
  /** Its limits for one page begin anew. */
  takeTally(): unknown
  /** Of the next document that the page asks for, the answer is shown to `judge` before the browser hears of it. */
  judgeNext(judge: ((status: number, headers: OutgoingHttpHeaders) => boolean) | null): void
  close(): Promise<void>
}

type TabPool = {
  /** A clean tab of this site: one that was used for it before, if there is one. Rejects when `signal` ends the wait. */
  take(site: Site, signal: AbortSignal): Promise<PooledTab>
  /** Resolves when the tab is clean and can be taken again, or is closed. Never rejects. */
  giveBack(tab: PooledTab, state: 'sound' | 'broken'): Promise<void>
  close(): Promise<void>
}

export type PooledTab = Tab & {
  readonly key: string
  renders: number
  /** Which of the gateway's limits this render has met; null: none. */
  excess(): Excess | null
  preloaded: SiteProxy['preloaded']
  isDelivered: SiteProxy['isDelivered']
  judgeNext: SiteProxy['judgeNext']
}

/**
 * The page's process keeps a clock that only runs ahead: each render moves it
 * by the virtual time it was given, some 5 s. The date is put right
 * (page-date.ts), but where the time since the load begins is not. So a tab's
 * process is replaced before that would be five minutes; what it hoards in
 * memory goes with it. Not sooner: to warm up another one costs as much as two
 * or three renders (docs/decisions/0015-render-speed.md).
 */
const RENDERS_PER_PROCESS = 60

/**
 * A page that has nothing under way stays in its tab, asleep, for the next
 * render to replace: leaving it for about:blank first costs a fifth of a whole
 * render's processor time. Nobody comes: then it goes, with the memory it holds.
 */
const SLEEP_LIMIT_MS = 1_000

/** Cleaning takes some 5 ms; a page that cannot be left in this time is closed. */
const CLEAN_LIMIT_MS = 2_000

export function createTabPool(options: {
  browser: BrowserProcess
  openSite(site: Site): Promise<SiteProxy>
  /** Tabs in all, in use or waiting to be used again. The longest unused is closed for a new one. */
  limit: number
}): TabPool {
  const { browser, openSite, limit } = options
  const proxies = new Map<PooledTab, SiteProxy>()
  /** Oldest first. */
  let idle: PooledTab[] = []
  /** Tabs that are being cleaned, by the promise of that. */
  const cleaning = new Map<PooledTab, Promise<boolean>>()

  const discard = async (tab: PooledTab) => {
    idle = idle.filter((other) => other !== tab)
    const proxy = proxies.get(tab)
    proxies.delete(tab)
    await tab.close()
    await proxy?.close()
  }

  const open = async (site: Site, key: string): Promise<PooledTab> => {
    const proxy = await openSite(site)
    const opened = endUnlessOpened(browser)
    try {
      const tab: PooledTab = Object.assign(await openTab(browser, proxy.proxyUrl, site.visitor), {
        key,
        renders: 0,
        excess: proxy.excess,
        preloaded: proxy.preloaded,
        isDelivered: proxy.isDelivered,
        judgeNext: proxy.judgeNext,
      })
      proxies.set(tab, proxy)
      // Also while it waits: a tab that dies then is not given to anybody.
      void tab.lost.then(() => discard(tab))
      return tab
    } catch (error) {
      await proxy.close()
      throw error
    } finally {
      opened()
    }
  }

  /** Until `work` has made it fit for the next render; whoever waits for it then has it, else it is idle. */
  const whileCleaning = async (tab: PooledTab, work: Promise<void>) => {
    const cleaned = inTime(work)
    cleaning.set(tab, cleaned)
    const isClean = await cleaned
    proxies.get(tab)?.takeTally()
    if (!isClean) await discard(tab)
    // If it is not there, somebody was waiting for it and has it now.
    else if (cleaning.has(tab) && proxies.has(tab)) beIdle(tab)
    cleaning.delete(tab)
  }
  const beIdle = (tab: PooledTab) => {
    idle.push(tab)
    if (!tab.isAsleep) return
    const rendersSoFar = tab.renders
    const leave = () => {
      if (!idle.includes(tab) || tab.renders !== rendersSoFar) return
      idle = idle.filter((other) => other !== tab)
      void whileCleaning(tab, tab.leave())
    }
    setTimeout(leave, SLEEP_LIMIT_MS).unref()
  }

  return {
    async take(site, signal) {
      const key = JSON.stringify([site.customDomain, site.originUrl, site.visitor])
      // The one used last has the warmest caches.
      const known = idle.findLast((tab) => tab.key === key)
      if (known !== undefined) {
        idle = idle.filter((tab) => tab !== known)
        return known
      }
      // Cleaning takes milliseconds, a new context a hundred of them.
      const soon = [...cleaning].find(([tab]) => tab.key === key)
      if (soon !== undefined) {
        cleaning.delete(soon[0])
        if (await soon[1]) return soon[0]
      }
      const oldest = idle[0]
      if (proxies.size >= limit && oldest !== undefined) await discard(oldest)
      const opened = open(site, key)
      return untilAborted(opened, signal).catch((error) => {
        void opened.then(discard, () => {})
        throw error
      })
    },

    async giveBack(tab, state) {
      tab.page.listen({})
      tab.judgeNext(null)
      tab.renders++
      if (state === 'broken') return discard(tab)
      const renew = tab.renders % RENDERS_PER_PROCESS === 0
      await whileCleaning(tab, tab.clean(renew))
    },

    async close() {
      await Promise.all([...proxies.keys()].map(discard))
    },
  }
}

async function inTime(work: Promise<void>): Promise<boolean> {
  const { promise: tooLate, resolve } = Promise.withResolvers<false>()
  const timer = setTimeout(() => resolve(false), CLEAN_LIMIT_MS)
  try {
    return await Promise.race([
      work.then(
        () => true,
        () => false,
      ),
      tooLate,
    ])
  } finally {
    clearTimeout(timer)
  }
}

/** Opening a page takes a tenth of a second. */
export const OPEN_LIMIT_MS = 5_000

/**
 * Ends a browser that cannot open a page in time: it is half dead (its zygote is
 * gone). One whose main thread is at work for another page answers late, and
 * has the same time again. Gives the function that says that the page is open, or given up.
 */
export function endUnlessOpened(browser: Pick<BrowserProcess, 'answers' | 'kill'>): () => void {
  let isOver = false
  const end = () => {
    if (!isOver) void browser.kill('could not open a page')
  }
  const ask = async () => {
    if (!(await browser.answers())) end()
    else if (!isOver) timer = setTimeout(end, OPEN_LIMIT_MS)
  }
  let timer = setTimeout(() => void ask(), OPEN_LIMIT_MS)
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}

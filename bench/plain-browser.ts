import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'

import { type CdpSession, connectCdp, killGroup } from '../test/support/engine-parts.ts'
import type { GivenBrowser } from './peers/service.ts'

export type PlainLoad = {
  /** The last document change by the page itself, not only by the parser. */
  lastChangeMs: number
  changes: number
}

/** A headless browser with default settings: real time, no gateway, nothing blocked. */
export type PlainBrowser = {
  pid: number
  /** Visits in a tab that stays, with warm caches. */
  warm(url: string): Promise<PlainLoad>
  cold(url: string): Promise<PlainLoad>
  close(): Promise<void>
}

/** A page without changes for this long is done; these pages have no timers. */
const QUIET_MS = 1_000
const LIMIT_MS = 15_000
const LOOK_EVERY_MS = 100
/** A killed process is gone in milliseconds, or never. */
const END_LIMIT_MS = 5_000

/** Time of the last change in the document or a shadow root. Ignores attributes, such as those of a spinner. */
const WATCH = `(() => {
  const seen = window.prepaintSeen = { last: 0, changes: 0 }
  const observer = new MutationObserver((records) => { seen.last = performance.now(); seen.changes += records.length })
  const watch = (root) => observer.observe(root, { subtree: true, childList: true, characterData: true })
  watch(document)
  const attach = Element.prototype.attachShadow
  Element.prototype.attachShadow = function (init) { const root = attach.call(this, init); watch(root); return root }
})()`

export async function startPlainBrowser(browser: GivenBrowser, home: string): Promise<PlainBrowser> {
  const userDataDir = path.join(home, 'profile')
  await mkdir(userDataDir, { recursive: true })
  const child = spawn(
    browser.executable,
    [
      '--headless',
      '--no-sandbox',
      '--remote-debugging-pipe',
      '--no-first-run',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--disable-background-networking',
      `--user-data-dir=${userDataDir}`,
      '--window-size=1280,1024',
      'about:blank',
    ],
    {
      env: { PATH: process.env['PATH'], HOME: home, TMPDIR: home, ...browser.environment },
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
      detached: true,
    },
  )
  const exited = once(child, 'exit')
  const cdp = connectCdp(child.stdio[3] as Writable, child.stdio[4] as Readable)

  const open = async (browserContextId?: string) => {
    const { targetId } = await cdp.browser.send('Target.createTarget', {
      url: 'about:blank',
      ...(browserContextId !== undefined && { browserContextId }),
    })
    const { sessionId } = await cdp.browser.send('Target.attachToTarget', { targetId, flatten: true })
    const session = cdp.session(sessionId)
    await session.send('Page.enable')
    await session.send('Page.addScriptToEvaluateOnNewDocument', { source: WATCH })
    return session
  }
  const tab = await open()

  return {
    pid: child.pid!,
    async warm(url) {
      const load = await visit(tab, url)
      await tab.send('Page.navigate', { url: 'about:blank' })
      return load
    },
    async cold(url) {
      const { browserContextId } = await cdp.browser.send('Target.createBrowserContext', {})
      try {
        return await visit(await open(browserContextId), url)
      } finally {
        await cdp.browser.send('Target.disposeBrowserContext', { browserContextId })
      }
    },
    async close() {
      killGroup(child.pid!)
      await Promise.race([exited, delay(END_LIMIT_MS, null, { ref: false })])
      // A zombie without a reaper, as in a chroot, must not keep this process running.
      child.unref()
      for (const pipe of child.stdio) pipe?.destroy()
      await rm(userDataDir, { recursive: true, force: true, maxRetries: 10 }).catch((error: Error) =>
        console.error(`the profile of the plain browser stays: ${error.message}`),
      )
    },
  }
}

/** Polls rarely, because each poll takes some of the page's time. */
async function visit(session: CdpSession, url: string): Promise<PlainLoad> {
  const begunMs = performance.now()
  await session.send('Page.navigate', { url })
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
    if (performance.now() - begunMs < QUIET_MS) continue
    const { result } = await session.send('Runtime.evaluate', {
      expression: '({ ...window.prepaintSeen, now: performance.now() })',
      returnByValue: true,
    })
    const { last, changes, now } = result.value as { last: number; changes: number; now: number }
    if (now - last >= QUIET_MS || performance.now() - begunMs > LIMIT_MS)
      return { lastChangeMs: last, changes }
  }
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { PAGE_LIMITS } from '@prepaint/contract/outcome/outcome.ts'
import { textOf } from '@prepaint/contract/reading/page-reader.ts'
import type { BrowserBinary } from '@prepaint/engine/browser-binary'
import { connectCdp, type GatewaySite, signIn, takeSnapshot } from '../test/support/engine-parts.ts'

/** A browser with its default settings, as a visitor has it. */
export type OrdinaryBrowser = {
  /** The text in a new context behind a gateway, `waitMs` of real time after navigation, and what of it a person sees; null: no page came. */
  text(url: string, site: GatewaySite, waitMs: number): Promise<{ text: string; seen: string } | null>
  /** The value of `expression` in a document of this HTML. */
  evaluate(html: string, expression: string): Promise<unknown>
  close(): Promise<void>
}

/** Text that is neither hidden nor without a box, with that of shadow roots and frames. */
const SEEN = `(() => {
  const words = []
  const read = (node) => {
    if (node.nodeType === 3) {
      const range = node.ownerDocument.createRange()
      range.selectNode(node)
      if (node.parentElement?.checkVisibility({ visibilityProperty: true }) !== false && range.getClientRects().length > 0)
        words.push(node.data)
      return
    }
    if (/^(SCRIPT|STYLE|NOSCRIPT|TEXTAREA)$/.test(node.nodeName)) return
    for (const child of (node.shadowRoot ?? node.contentDocument ?? node).childNodes) read(child)
    if (node.shadowRoot) for (const child of node.childNodes) if (child.assignedSlot || child.nodeType === 1) read(child)
  }
  read(document.body)
  return words.join(' ')
})()`

export async function startOrdinaryBrowser(
  binary: BrowserBinary,
  spkiHash: string,
): Promise<OrdinaryBrowser> {
  const dir = await mkdtemp(path.join(tmpdir(), 'prepaint-ordinary-'))
  const child = spawn(
    binary.executable,
    [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--remote-debugging-pipe',
      `--user-data-dir=${dir}`,
      `--ignore-certificate-errors-spki-list=${spkiHash}`,
    ],
    {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
      env: {
        HOME: dir,
        ...{ TZ: 'UTC', LANG: 'en_US.UTF-8' },
        ...(binary.libraryDir === null ? {} : { LD_LIBRARY_PATH: binary.libraryDir }),
        ...(binary.fontsDir === null ? {} : { FONTCONFIG_PATH: binary.fontsDir }),
      },
    },
  )
  const cdp = connectCdp(child.stdio[3] as Writable, child.stdio[4] as Readable)
  const { browser } = cdp

  return {
    async text(url, site, waitMs) {
      const context = { proxyServer: site.proxyUrl, proxyBypassList: '<-loopback>' }
      const { browserContextId } = await browser.send('Target.createBrowserContext', context)
      const target = { url: 'about:blank', browserContextId, width: 1280, height: 1024 }
      const { targetId } = await browser.send('Target.createTarget', target)
      await signIn(cdp, targetId, site)
      const { sessionId } = await browser.send('Target.attachToTarget', { targetId, flatten: true })
      const session = cdp.session(sessionId)
      await session.send('Page.enable')
      void session.send('Page.navigate', { url }).catch(() => {})
      await delay(waitMs)
      const seen = session.send('Runtime.evaluate', { expression: SEEN, returnByValue: true })
      const visible = await Promise.race([
        seen.then(({ result }) => result.value).catch(() => ''),
        delay(5_000, ''),
      ])
      const snapshot = await Promise.race([
        takeSnapshot(session, targetId, PAGE_LIMITS).catch(() => null),
        delay(5_000, null),
      ])
      await browser.send('Target.closeTarget', { targetId }).catch(() => {})
      await browser.send('Target.disposeBrowserContext', { browserContextId }).catch(() => {})
      return snapshot?.kind === 'html' ? { text: textOf(snapshot.html), seen: String(visible) } : null
    },
    async evaluate(html, expression) {
      const { targetId } = await browser.send('Target.createTarget', { url: 'about:blank' })
      const { sessionId } = await browser.send('Target.attachToTarget', { targetId, flatten: true })
      const session = cdp.session(sessionId)
      await session.send('Page.setDocumentContent', { frameId: targetId, html })
      const { result } = await session.send('Runtime.evaluate', { expression, returnByValue: true })
      await browser.send('Target.closeTarget', { targetId })
      return result.value
    },
    async close() {
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      await rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
    },
  }
}

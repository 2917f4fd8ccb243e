import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Readable, Writable } from 'node:stream'

import { findBrowser } from '@prepaint/engine/browser-binary'
import { connectCdp } from '../../test/support/engine-parts.ts'

export type View = { width: number; height: number; scheme: 'light' | 'dark' }

export type Tab = {
  open(url: string): Promise<void>
  show(view: View): Promise<void>
  run<Value>(expression: string): Promise<Value>
  /** Waits until the expression is true, at most 30 s. */
  until(expression: string): Promise<void>
  picture(wholePage: boolean): Promise<Buffer>
}

/** Starts the browser that a node would use, with one tab. `say` receives console errors and policy violations. */
export async function startBrowser(dataDir: string, say: (line: string) => void) {
  const binary = await findBrowser({ chromium: null, dataDir })
  const home = await mkdtemp(path.join(tmpdir(), 'browser-'))
  const env: Record<string, string> = { HOME: home }
  if (binary.libraryDir !== null) env['LD_LIBRARY_PATH'] = binary.libraryDir
  if (binary.fontsDir !== null) env['FONTCONFIG_PATH'] = binary.fontsDir
  const flags = ['--headless', '--no-sandbox', '--remote-debugging-pipe', `--user-data-dir=${home}`]
  const child = spawn(binary.executable, [...flags, '--hide-scrollbars', '--disable-gpu'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    detached: true,
    env,
  })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const cdp = connectCdp(child.stdio[3] as Writable, child.stdio[4] as Readable)
  const { targetId } = await cdp.browser.send('Target.createTarget', { url: 'about:blank' })
  const { sessionId } = await cdp.browser.send('Target.attachToTarget', { targetId, flatten: true })
  const page = cdp.session(sessionId)
  page.listen({
    'Log.entryAdded': ({ entry }) => say(`${entry.level}: ${entry.text} ${entry.url ?? ''}`),
    'Runtime.exceptionThrown': ({ exceptionDetails: { exception, text } }) =>
      say(`exception: ${exception?.description ?? text}`),
    'Runtime.consoleAPICalled': ({ type, args }) => {
      if (type === 'error' || type === 'warning') say(`${type}: ${args.map(({ value }) => value).join(' ')}`)
    },
    'Page.javascriptDialogOpening': () => {
      void page.send('Page.handleJavaScriptDialog', { accept: true }).catch((error) => say(String(error)))
    },
  })
  for (const domain of ['Page', 'Runtime', 'Log'] as const) await page.send(`${domain}.enable`)

  const run: Tab['run'] = async (expression) => {
    const { result, exceptionDetails } = await page.send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
      userGesture: true,
    })
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description ?? expression)
    return result.value
  }
  const until: Tab['until'] = async (expression) => {
    let cause: unknown
    for (const start = Date.now(); Date.now() - start < 30_000; ) {
      try {
        if (await run<boolean>(`!!(${expression})`)) return
      } catch (error) {
        cause = error
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    throw new Error(`not within 30 s: ${expression}`, { cause })
  }
  let window = { width: 1280, height: 800 }
  const resize = (height: number) =>
    page.send('Emulation.setDeviceMetricsOverride', {
      width: window.width,
      height,
      deviceScaleFactor: 1,
      mobile: false,
    })
  const capture = async () => {
    const { data } = await page.send('Page.captureScreenshot', {})
    return Buffer.from(data, 'base64')
  }
  const tab: Tab = {
    run,
    until,
    async open(url) {
      await run(
        `[...document.querySelectorAll('button')].find((each) => each.textContent === 'Undo changes')?.click()`,
      )
      await page.send('Page.navigate', { url: 'about:blank' })
      await page.send('Page.navigate', { url })
      await until(`location.href !== 'about:blank' && document.readyState === 'complete'`)
      await until(`document.querySelector('h1') && !document.querySelector('[aria-label=Loading]')`)
    },
    async show({ width, height, scheme }) {
      window = { width, height }
      await resize(height)
      await page.send('Emulation.setEmulatedMedia', {
        features: [
          { name: 'prefers-color-scheme', value: scheme },
          { name: 'prefers-reduced-motion', value: 'reduce' },
        ],
      })
    },
    async picture(wholePage) {
      await new Promise((resolve) => setTimeout(resolve, 350))
      if (!wholePage) return capture()
      // Rows beyond the window are not drawn.
      await resize(Math.max(window.height, await run<number>('document.documentElement.scrollHeight')))
      try {
        return await capture()
      } finally {
        await resize(window.height)
      }
    },
  }
  return {
    tab,
    async close() {
      process.kill(-(child.pid as number), 'SIGKILL')
      await exited
      await rm(home, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

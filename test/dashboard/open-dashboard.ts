import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Browser, chromium, type Locator, type Page } from 'playwright-core'
import { findBrowser } from '../../src/render/browser/browser-binary.ts'
import { clearDataDir, makeDataDir, testChromium } from '../support/data-dir.ts'
import { serve } from '../support/loopback.ts'
import { startNodeProcess } from '../support/node-process.ts'

/** A real node with its PostgreSQL and Chromium, a site behind it, and a browser in front. */
export async function openDashboard(settings: Record<string, string> = {}) {
  const closing: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (const end of closing.splice(0)) await end()
  }
  try {
    const dataDir = makeDataDir()
    closing.unshift(() => clearDataDir(dataDir))
    const site = await startSite()
    closing.unshift(site.close)
    // Verdicts must not depend on the speed of the machine.
    const node = await startNodeProcess(dataDir, { PREPAINT_LIVE_WAIT_MS: '25000', ...settings })
    closing.unshift(node.stop)
    const home = await mkdtemp(path.join(tmpdir(), 'prepaint-person-'))
    await chmod(home, 0o711)
    closing.push(() => rm(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }))
    const browser = await launch(home)
    closing.unshift(() => browser.close())
    /** Console errors, policy violations and uncaught errors of all windows. */
    const complaints: string[] = []
    return {
      node,
      originUrl: site.url,
      /** The link to create the first account, printed by `npm start` on a new data directory. */
      firstLink: /http:\S+\/welcome#\S+/.exec(node.log())![0],
      complaints,
      close,
      /** A window of a browser that is signed out. */
      async newPage() {
        const context = await browser.newContext({
          reducedMotion: 'reduce',
          permissions: ['clipboard-write'],
        })
        const page = await context.newPage()
        await page.addInitScript(COUNT_JUMPS)
        page.on('console', (message) => {
          if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
        })
        page.on('pageerror', (error) => complaints.push(String(error)))
        return page
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Elements by the names that people read, of this page unless another one is named. */
export function elements(page: Page) {
  return {
    heading: (name: string, on = page) => on.getByRole('heading', { level: 1, name, exact: true }),
    button: (name: string, within: Page | Locator = page) =>
      within.getByRole('button', { name, exact: true }),
    field: (name: string, within: Page | Locator = page) =>
      within.getByRole('textbox', { name, exact: true }),
    link: (name: string) => page.getByRole('link', { name, exact: true }),
    region: (name: string) => page.getByRole('region', { name, exact: true }),
    dialog: (name: string | RegExp) => page.getByRole('dialog', { name }),
    /** The table row that contains `text`. */
    row: (text: string | RegExp, on = page) => on.getByRole('row', { name: text }),
  }
}

/** Fills the form that signs in. */
export async function signIn(on: Page, email: string, password: string): Promise<void> {
  const { button, field } = elements(on)
  await field('E-mail').fill(email)
  await field('Password').fill(password)
  await button('Sign in').click()
}

/** Calls the API with the session of the page; returns the status. */
export function callFrom(
  on: Page,
  method: string,
  path: string,
  body: object | null = null,
): Promise<number> {
  return on.evaluate(
    async ([method, path, body]) => {
      const headers = { 'content-type': 'application/json' }
      return (await fetch(path!, { method: method!, headers, ...(body && { body }) })).status
    },
    [method, path, body && JSON.stringify(body)],
  )
}

/** The Cumulative Layout Shift. */
export function jumps(page: Page): Promise<number> {
  return page.evaluate('globalThis.jumps')
}

const COUNT_JUMPS = `
  globalThis.jumps = 0
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) jumps += value
  }).observe({ type: 'layout-shift', buffered: true })`

async function launch(home: string): Promise<Browser> {
  const { executable, libraryDir, fontsDir } = await findBrowser({ chromium: testChromium, dataDir: home })
  return chromium.launch({
    executablePath: executable,
    chromiumSandbox: false,
    env: {
      HOME: home,
      ...(libraryDir !== null && { LD_LIBRARY_PATH: libraryDir }),
      ...(fontsDir !== null && { FONTCONFIG_PATH: fontsDir }),
    },
  })
}

/** A site drawn by its script, with `/missing` (404) and `/broken` (500). */
function startSite() {
  return serve((request, response) => {
    if (request.url === '/robots.txt') return void response.end('User-agent: *\nDisallow: /broken')
    if (request.url === '/broken') return void response.writeHead(500).end('sorry')
    response.writeHead(request.url === '/missing' ? 404 : 200, { 'content-type': 'text/html' })
    response.end(`<!doctype html><html lang="en"><title>Loading</title><div id="app"></div><script>
      document.title = 'Garden tools'
      document.getElementById('app').innerHTML = '<h1>Everything for the garden</h1><p>at ' + location.pathname
    </script></html>`)
  })
}

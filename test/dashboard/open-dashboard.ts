import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after } from 'node:test'
import { findBrowser } from '@prepaint/engine/browser-binary'
import { chromium, type Locator, type Page } from 'playwright-core'
import { DASHBOARD_DIR } from '../../packages/api/src/service/dashboard.ts'
import { startTestApi, type TestAccount, type TestApi } from '../support/api.ts'
import { until as untilWithin } from '../support/condition.ts'
import { clearDataDir, makeDataDir, testChromium } from '../support/data-dir.ts'
import { serve } from '../support/loopback.ts'
import { startNodeProcess } from '../support/node-process.ts'

/** Enough for a render, or a screen that is drawn, on a busy machine. */
const PATIENCE_MS = 60_000

export const until = <T>(what: string, probe: () => T | Promise<T>) => untilWithin(what, probe, PATIENCE_MS)

/** A real node with its PostgreSQL and Chromium, a site behind it, and a browser in front. */
export async function openDashboard(settings: Record<string, string> = {}) {
  const dataDir = makeDataDir()
  const site = await startSite()
  const node = await startNodeProcess(dataDir, { PREPAINT_LIVE_WAIT_MS: '25000', ...settings })
  const browser = await openBrowser()
  after(async () => {
    await browser.close()
    await node.stop()
    await site.close()
    await clearDataDir(dataDir)
  })
  return {
    node,
    originUrl: site.url,
    /** The link to create the first account, printed by `npm start` on a new data directory. */
    firstLink: /http:\S+\/welcome#\S+/.exec(node.log())![0],
    complaints: browser.complaints,
    newPage: browser.newPage,
  }
}

/** The dashboard of an API alone, in a window in which `owner` is signed in. `prepare` writes what it shows. */
export async function openScreens(prepare: (api: TestApi, owner: TestAccount) => Promise<void>) {
  const api = await startTestApi({ dashboardDir: DASHBOARD_DIR, events: {} })
  // The browser's clock is the real one.
  api.clock.atMs = Date.now()
  const owner = await api.account()
  await prepare(api, owner)
  const browser = await openBrowser()
  after(async () => {
    await browser.close()
    await api.close()
  })
  const page = await browser.newPage()
  const [name = '', value = ''] = (await api.session(owner)).split('=')
  await page.context().addCookies([{ name, value, url: api.url }])
  return { api, owner, page, complaints: browser.complaints, ...personAt(page, api.url) }
}

export async function openBrowser() {
  const home = makeDataDir()
  const { executable, libraryDir, fontsDir } = await findBrowser({ chromium: testChromium, dataDir: home })
  const env: Record<string, string> = { HOME: home }
  if (libraryDir !== null) env['LD_LIBRARY_PATH'] = libraryDir
  if (fontsDir !== null) env['FONTCONFIG_PATH'] = fontsDir
  const browser = await chromium.launch({ executablePath: executable, chromiumSandbox: false, env })
  /** Console errors, policy violations and uncaught errors of all windows. */
  const complaints: string[] = []
  return {
    complaints,
    async newPage() {
      const context = await browser.newContext({ reducedMotion: 'reduce', permissions: ['clipboard-write'] })
      context.setDefaultTimeout(PATIENCE_MS)
      const page = await context.newPage()
      await page.addInitScript(COUNT_JUMPS)
      page.on('console', (message) => {
        const isComplaint = ['error', 'warning'].includes(message.type())
        if (isComplaint) complaints.push(`${message.text()} ${message.location().url}`.trimEnd())
      })
      page.on('pageerror', (error) => complaints.push(String(error)))
      return page
    },
    async close() {
      await browser.close()
      await clearDataDir(home)
    },
  }
}

/** A window of another person, beside that of the page. Close it by its context. */
export async function openWindow(page: Page, session?: { url: string; token: string }): Promise<Page> {
  const context = await page.context().browser()!.newContext({ reducedMotion: 'reduce' })
  context.setDefaultTimeout(PATIENCE_MS)
  if (session !== undefined) {
    const { url, token } = session
    await context.addCookies([{ name: 'prepaint-session', value: token, url }])
  }
  return context.newPage()
}

const WIDTHS = [390, 768, 1_024, 1_440]

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
    row: (text: string | RegExp, on = page) => on.getByRole('row', { name: text }),
    /** axe finds nothing, on a phone and a wide screen, light and dark. */
    isClean: (on = page) => axeFindsNothing(() => axeEverywhere(on)),
    /** Nothing is wider than the window at each width, and axe finds nothing. */
    isCleanEverywhere: async (on = page) => {
      for (const width of WIDTHS) {
        await on.setViewportSize({ width, height: 900 })
        await isWithin(on, width)
      }
      await axeFindsNothing(() => axeEverywhere(on))
    },
    isCleanHere: () => axeFindsNothing(() => axeFindings(page)),
  }
}

/** The content is no wider than the window, once it is drawn for that width. */
export async function isWithin(page: Page, width: number): Promise<void> {
  await until(`nothing is wider than the window at ${width}`, async () => {
    const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
    assert(wide <= width, `${wide} pixels wide`)
    return true
  })
}

const SCOPE = `(document.querySelector('[role=dialog]') ?? document)`

/** What a person does at a screen, by the texts that are shown. */
function personAt(page: Page, url: string) {
  const run = <T>(expression: string): Promise<T> => page.evaluate<T>(expression)
  const becomes = (expression: string) => until(expression, () => run(`!!(${expression})`))
  return {
    run,
    becomes,
    async open(path: string): Promise<void> {
      // A screen asks whoever leaves it before all is saved.
      await becomes(`!document.body?.innerText.includes('Not saved yet')`)
      await page.goto(url + path)
      await becomes(`document.querySelector('h1') && !document.querySelector('[aria-label=Loading]')`)
    },
    shows: (text: string) => becomes(`document.body.innerText.includes(${JSON.stringify(text)})`),

    async click(name: string): Promise<void> {
      const found = `[...${SCOPE}.querySelectorAll('button:not(:disabled), a, label')].find((each) =>
        each.textContent.trim() === ${JSON.stringify(name)} || each.ariaLabel === ${JSON.stringify(name)} ||
        (each.tagName === 'LABEL' && each.textContent.startsWith(${JSON.stringify(name)})))`
      await becomes(found)
      await run(`${found}.click()`)
    },

    /** Fills the field or selects the option of the field whose label begins so. */
    async fill(label: string, value: string): Promise<void> {
      const found = `[...${SCOPE}.querySelectorAll('label')].find((each) =>
        each.textContent.startsWith(${JSON.stringify(label)}))?.control`
      await becomes(found)
      await run(`((field) => {
        const { set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value')
        set.call(field, ${JSON.stringify(value)})
        field.dispatchEvent(new Event(field.tagName === 'SELECT' ? 'change' : 'input', { bubbles: true }))
      })(${found})`)
    },

    isClean: elements(page).isClean,
  }
}

export async function signIn(on: Page, email: string, password: string): Promise<void> {
  const { button, field } = elements(on)
  await field('E-mail').fill(email)
  await field('Password').fill(password)
  await button('Sign in').click()
}

/** Chooses from the menu of the person, at the foot of the navigation. */
export async function chooseOwn(on: Page, item: string): Promise<void> {
  await on.getByRole('button', { name: /\. Your menu$/ }).click()
  await on.getByRole('menuitem', { name: item, exact: true }).click()
}

/** Its sum, `globalThis.jumps`, is the Cumulative Layout Shift. */
const COUNT_JUMPS = `
  globalThis.jumps = 0
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) jumps += value
  }).observe({ type: 'layout-shift', buffered: true })`

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

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The last view is the one in which a window was opened, and is left. */
const VIEWS = [
  { width: 390, height: 844, colorScheme: 'light' },
  { width: 1280, height: 720, colorScheme: 'dark' },
  { width: 1280, height: 720, colorScheme: 'light' },
] as const

/** A screen that changes while axe reads it is read again: live figures, or what has just been loaded. */
const READINGS = 3

async function axeFindsNothing(read: () => Promise<string[]>): Promise<void> {
  let found = await read()
  for (let reading = 1; reading < READINGS && found.length > 0; reading++) found = await read()
  assert.deepEqual(found, [])
}

/** Findings of the current screen on a phone and on a wide screen, light and dark; nothing is wider than the window. */
async function axeEverywhere(page: Page): Promise<string[]> {
  const found: string[] = []
  for (const { colorScheme, ...size } of VIEWS) {
    await page.setViewportSize(size)
    await page.emulateMedia({ colorScheme })
    await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor()
    const width = await page.evaluate<number>('document.documentElement.scrollWidth')
    const findings = await axeFindings(page)
    if (width > size.width) findings.push(`${width} pixels wide`)
    found.push(...findings.map((line) => `${colorScheme}, ${size.width} px: ${line}`))
  }
  return found
}

/** Findings against WCAG 2.2 A and AA and axe's best practices, a line for each element. */
async function axeFindings(page: Page): Promise<string[]> {
  // Colours on their way from one scheme to the other, and dialogs that open, have any contrast.
  await page.evaluate(
    `Promise.allSettled(document.getAnimations().filter((each) => each instanceof CSSTransition).map((each) => each.finished)).then(() => undefined)`,
  )
  // Evaluated by the debugger, which ignores the content security policy.
  await page.evaluate(axe)
  return page.evaluate(
    `axe.run().then(({ violations }) => violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ target, failureSummary }) => [id, help, target, failureSummary].join(': '))))`,
  )
}

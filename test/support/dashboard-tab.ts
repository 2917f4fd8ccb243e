import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { startBrowser, type Tab } from '../../dashboard/shots/browser.ts'
import { setPassword } from '../../src/accounts/sign-in/passwords.ts'
import { DASHBOARD_DIR } from '../../src/api/service/dashboard.ts'
import { startTestApi, type TestAccount, type TestApi } from './api.ts'
import { clearDataDir, makeDataDir } from './data-dir.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const PASSWORD = 'seven quiet otters paint'

/** The dashboard in a tab of 1280 by 800, in which `owner` is signed in. `prepare` writes what it shows. */
export async function startDashboard(
  prepare: (api: TestApi, owner: TestAccount) => Promise<void>,
  options: Pick<NonNullable<Parameters<typeof startTestApi>[0]>, 'events'> = {},
) {
  const closing: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (const end of closing.splice(0)) await end()
  }
  try {
    const api = await startTestApi({ dashboardDir: DASHBOARD_DIR, ...options })
    closing.unshift(api.close)
    // The browser's clock is the real one.
    api.clock.atMs = Date.now()
    const owner = await api.account()
    await prepare(api, owner)
    const dir = makeDataDir()
    closing.unshift(() => clearDataDir(dir))
    /** Console errors. */
    const complaints: string[] = []
    const browser = await startBrowser(dir, (line) => complaints.push(line))
    closing.unshift(browser.close)
    await signIn(browser.tab, api, owner)
    complaints.length = 0
    return { api, owner, tab: browser.tab, complaints, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function signIn(tab: Tab, api: TestApi, { id, email }: TestAccount): Promise<void> {
  await setPassword(api.pool, id, PASSWORD)
  await tab.show({ width: 1280, height: 800, scheme: 'light' })
  await tab.open(`${api.url}/sign-in`)
  await tab.run(`fetch('/api/session', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: ${JSON.stringify(JSON.stringify({ email, password: PASSWORD }))},
  })`)
}

/** An open dialog is in front of the rest. */
const SCOPE = `(document.querySelector('[role=dialog]') ?? document)`

/** What a person does in a tab, by the texts that are shown. */
export function personAt(tab: Tab) {
  return {
    shows: (text: string) => tab.until(`document.body.innerText.includes(${JSON.stringify(text)})`),

    async click(name: string): Promise<void> {
      const found = `[...${SCOPE}.querySelectorAll('button:not(:disabled), a, label')].find((each) =>
        each.textContent.trim() === ${JSON.stringify(name)} || each.ariaLabel === ${JSON.stringify(name)} ||
        (each.tagName === 'LABEL' && each.textContent.startsWith(${JSON.stringify(name)})))`
      await tab.until(found)
      await tab.run(`${found}.click()`)
    },

    /** Fills the field or selects the option of the field whose label begins so. */
    async fill(label: string, value: string): Promise<void> {
      const found = `[...${SCOPE}.querySelectorAll('label')].find((each) =>
        each.textContent.startsWith(${JSON.stringify(label)}))?.control`
      await tab.until(found)
      await tab.run(`((field) => {
        const { set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value')
        set.call(field, ${JSON.stringify(value)})
        field.dispatchEvent(new Event(field.tagName === 'SELECT' ? 'change' : 'input', { bubbles: true }))
      })(${found})`)
    },

    /** axe finds nothing on a dark phone and a light wide screen, and nothing is wider than the screen. */
    async isClean(): Promise<void> {
      for (const view of [
        { width: 390, height: 844, scheme: 'dark' },
        { width: 1280, height: 800, scheme: 'light' },
      ] as const) {
        await tab.show(view)
        await tab.until(`document.documentElement.dataset.mantineColorScheme === '${view.scheme}'`)
        await tab.run(`${axe};0`)
        const found = await tab.run<string[]>(
          `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ target }) => target).join()))`,
        )
        assert.deepEqual(found, [], JSON.stringify(view))
        const width = await tab.run<number>('document.documentElement.scrollWidth')
        assert(width <= view.width, `${width} pixels wide`)
      }
    },
  }
}

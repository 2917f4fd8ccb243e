import { startBrowser, type Tab } from '../../dashboard/shots/browser.ts'
import { setPassword } from '../../src/accounts/sign-in/passwords.ts'
import type { TestAccount, TestApi } from './api.ts'
import { clearDataDir, makeDataDir } from './data-dir.ts'

const PASSWORD = 'seven quiet otters paint'

/** A tab of 1280 by 800 in which the account is signed in to the dashboard. `say` receives console errors. */
export async function openDashboardTab(
  api: TestApi,
  { id, email }: TestAccount,
  say: (line: string) => void,
): Promise<{ tab: Tab; close: () => Promise<void> }> {
  await setPassword(api.pool, id, PASSWORD)
  const dir = makeDataDir()
  const { tab, close } = await startBrowser(dir, say)
  await tab.show({ width: 1280, height: 800, scheme: 'light' })
  await tab.open(`${api.url}/sign-in`)
  await tab.run(`fetch('/api/session', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: ${JSON.stringify(JSON.stringify({ email, password: PASSWORD }))},
  })`)
  return {
    tab,
    async close() {
      await close()
      await clearDataDir(dir)
    },
  }
}

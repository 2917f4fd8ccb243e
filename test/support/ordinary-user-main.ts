/** Run by confinement.test.ts: a browser of an ordinary user. Drops root first; ends with its stdin. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { PAGE_LIMITS } from '@prepaint/contract/outcome/outcome.ts'
import { findBrowser } from '@prepaint/engine/browser-binary'
import { ownUid } from '@prepaint/runtime/system-user.ts'
import { pino } from 'pino'
import { commandWithView, viewOf } from '../../packages/engine/src/render/browser/confinement.ts'
import { Page } from '../../packages/engine/src/render/tab/page.ts'
import { testChromium } from './data-dir.ts'
import { launchBrowser } from './engine-parts.ts'

const USER = 65_431
const [dataDir = ''] = process.argv.slice(2)

// Before dropping root, read everything that only root can enter.
const real = await findBrowser({ chromium: testChromium, dataDir })
// The sandbox cannot work with this path, but namespaces can.
const executable = `${dataDir}/chromium/unusable`
mkdirSync(`${dataDir}/chromium`, { recursive: true })
writeFileSync(
  executable,
  `#!/bin/sh\ncase "$*" in *--no-sandbox*) exec ${real.executable} "$@";; *) echo "FATAL: No usable sandbox!" >&2; exit 1;; esac\n`,
  { mode: 0o755 },
)
const binary = { ...real, executable }
if (ownUid() === 0) {
  execFileSync('chown', ['-R', `${USER}:${USER}`, dataDir])
  process.setgroups?.([])
  process.setgid?.(USER)
  process.setuid?.(USER)
}

const said: string[] = []
const log = pino({ level: 'warn' }, { write: (line: string) => void said.push(line) })
const tell = (result: Record<string, unknown>) =>
  process.stdout.write(`${JSON.stringify({ uid: ownUid(), said, ...result })}\n`)
try {
  const browser = await launchBrowser({
    binary,
    dataDir,
    spkiHash: null,
    pageMemoryBytes: PAGE_LIMITS.memoryBytes,
    requireSandbox: false,
    log,
  })
  const { browserContextId } = await browser.cdp.browser.send('Target.createBrowserContext', {})
  const { session } = await Page.open(browser, browserContextId)
  const { result } = await session.send('Runtime.evaluate', { expression: '6 * 7' })
  const [file = '', ...args] = commandWithView(viewOf(dataDir, binary.executable, `${dataDir}/browsers`))
  tell({
    pid: browser.pid,
    evaluated: result.value,
    sandbox: browser.sandbox,
    data: browser.data,
    hiding: [file, ...args],
  })
  process.stdin.resume()
  await once(process.stdin, 'end')
  await browser.kill('the test is over')
} catch (error) {
  tell({ error: (error as Error).message })
}

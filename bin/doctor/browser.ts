import { existsSync } from 'node:fs'

import type { Config } from '../../src/config.ts'
import { silentLog } from '../../src/log.ts'
import { findBrowser } from '../../src/render/browser-binary.ts'
import { launchBrowser } from '../../src/render/browser-process.ts'
import { PAGE_LIMITS } from '../../src/render/page-limits.ts'
import { type Finding, ok, problem, warning } from './finding.ts'
import { withTrialDirectory } from './trial-directory.ts'

/** Starts the browser as a node would, and ends it. */
export async function browserWorks({ dataDir, render }: Config): Promise<Finding> {
  try {
    return await withTrialDirectory(dataDir, existsSync(dataDir), (dir) => tryBrowser(render, dir))
  } catch (error) {
    const advice = 'apt-get install chromium-headless-shell, or set PREPAINT_CHROMIUM to a browser that runs'
    return problem('Chromium', (error as Error).message.split('\n')[0] ?? '', advice)
  }
}

async function tryBrowser(render: Config['render'], dataDir: string): Promise<Finding> {
  const binary = await findBrowser({ chromium: render.chromium, dataDir })
  const options = {
    binary,
    dataDir,
    spkiHash: null,
    pageMemoryBytes: PAGE_LIMITS.memoryBytes,
    requireSandbox: false,
    log: silentLog(),
  }
  const browser = await launchBrowser(options)
  await browser.kill('doctor has seen it')
  const open = browser.data === 'open' ? '; what breaks out of it could read the data directory' : ''
  const found = `${browser.product} (${binary.source}), sandbox ${browser.sandbox}${open}`
  if (browser.sandbox === 'on') return ok('Chromium', found)
  const advice =
    browser.data === 'closed'
      ? 'see "user namespaces" here and "Sandbox" in README.md; until then, render no sites of strangers'
      : 'start the node as root, or see "user namespaces" here and "Sandbox" in README.md; until then, render no sites of strangers'
  return render.requireSandbox
    ? problem('Chromium', `${found}, and PREPAINT_REQUIRE_SANDBOX=1 asks for it`, advice)
    : warning('Chromium', found, advice)
}

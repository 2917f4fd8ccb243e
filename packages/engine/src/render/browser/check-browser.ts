import { PAGE_LIMITS } from '@prepaint/contract/outcome/outcome.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { type BrowserBinary, fasterBrowser, findBrowser } from './browser-binary.ts'
import { type DataAccess, launchBrowser, type Sandbox } from './browser-process.ts'

export type BrowserCheck = {
  /** Name and version, such as `HeadlessChrome/153.0.1.2`. */
  product: string
  source: BrowserBinary['source']
  sandbox: Sandbox
  data: DataAccess
  /** What to do for faster renders; null if nothing can be done. */
  faster: string | null
}

/** Starts the browser that the engine would use, and ends it again. Rejects if there is none, or if it does not start. */
export async function checkBrowser(options: {
  chromium: string | null
  dataDir: string
}): Promise<BrowserCheck> {
  const { dataDir } = options
  const binary = await findBrowser(options)
  const browser = await launchBrowser({
    binary,
    dataDir,
    spkiHash: null,
    pageMemoryBytes: PAGE_LIMITS.memoryBytes,
    requireSandbox: false,
    log: silentLog(),
  })
  await browser.kill('it was only checked')
  const { product, sandbox, data } = browser
  return { product, source: binary.source, sandbox, data, faster: fasterBrowser(product) }
}

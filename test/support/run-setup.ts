/**
 * What the files of one test run share: Node's test runner calls this once (`--test-global-setup`). A file that is
 * run alone makes its own.
 */
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { findBrowser } from '@prepaint/engine/browser-binary'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { SHARED_DOCUMENT } from './api-contract.ts'
import { SHARED_BROWSER } from './data-dir.ts'
import { SHARED_SERVER } from './database.ts'
import { startTestCluster } from './postgres-server.ts'

const PREFIX = 'prepaint-tests-'
const LEFTOVER_MS = 6 * 3_600_000

const dir = mkdtempSync(path.join(tmpdir(), PREFIX))

export async function globalSetup(): Promise<void> {
  // Processes compile, and strip types of, what another one has loaded before only once.
  process.env['NODE_COMPILE_CACHE'] ??= path.resolve(
    import.meta.dirname,
    '../../node_modules/.cache/compiled',
  )
  removeLeftovers()
  // Browsers run as another user.
  chmodSync(dir, 0o711)
  const [server, browser] = await Promise.all([
    startTestCluster(),
    findBrowser({ chromium: null, dataDir: dir }),
  ])
  process.env[SHARED_SERVER] = String(server.host)
  process.env[SHARED_DOCUMENT] = path.join(dir, 'openapi.json')
  if (browser.source === 'packaged') process.env[SHARED_BROWSER] = path.join(dir, 'chromium')
}

export function globalTeardown(): void {
  rmSync(dir, { recursive: true, force: true })
}

/** Removes what killed runs left. */
function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(PREFIX))) {
    const left = path.join(tmpdir(), name)
    const { mtimeMs } = statSync(left, { throwIfNoEntry: false }) ?? {}
    if (mtimeMs !== undefined && systemClock.nowMs() - mtimeMs > LEFTOVER_MS)
      rmSync(left, { recursive: true, force: true })
  }
}

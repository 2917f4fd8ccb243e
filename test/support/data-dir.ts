import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { until } from './condition.ts'
import { processesOf } from './processes.ts'

/** Names the directory of the browser that run-setup.ts has unpacked, if none is installed. */
export const SHARED_BROWSER = 'PREPAINT_TEST_BROWSER'

/** A browser to test with in place of the one that a node would find (see test/render/browsers.long.test.ts). */
export const testChromium: string | null = process.env['PREPAINT_TEST_CHROMIUM'] ?? null

/** A data directory that other users can enter: as root, PostgreSQL and browsers run as such. The browser is unpacked in it. */
export function makeDataDir(): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'prepaint-test-'))
  chmodSync(dir, 0o711)
  const shared = process.env[SHARED_BROWSER]
  if (shared !== undefined) linkBrowser(shared, path.join(dir, 'chromium'))
  return dir
}

/** Ends processes and removes the directory. Returns command lines of processes that ran on for ten seconds. */
export async function clearDataDir(dir: string): Promise<string[]> {
  const leaked = await until(`no process of ${dir}`, () => processesOf(dir).length === 0).then(
    () => [],
    () => processesOf(dir),
  )
  for (const { pid } of leaked) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {}
  }
  removeDir(dir)
  return leaked.map(({ pid, command }) => `${pid} ${command}`)
}

export function removeDir(dir: string): void {
  rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
}

function linkBrowser(from: string, to: string): void {
  mkdirSync(to, { mode: 0o755 })
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    const source = path.join(entry.parentPath, entry.name)
    const target = path.join(to, path.relative(from, source))
    if (entry.isDirectory()) mkdirSync(target, { mode: 0o755 })
    // It names its own directory.
    else if (entry.name === 'fonts.conf')
      writeFileSync(target, readFileSync(source, 'utf8').replaceAll(from, to))
    else linkSync(source, target)
  }
}

import assert from 'node:assert/strict'
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { testChromium } from './data-dir.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const MAIN = path.join(ROOT, 'bin/prepaint.ts')

/** Without settings of the tests' user. */
export function spawnPrepaint(
  args: readonly string[],
  settings: Record<string, string>,
  stdio: StdioOptions = ['pipe', 'pipe', 'pipe'],
): ChildProcess {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env
  const browser = testChromium !== null && { PREPAINT_CHROMIUM: testChromium }
  const env = { PATH, HOME, NODE_COMPILE_CACHE, ...browser, ...settings }
  return spawn(process.execPath, ['--max-semi-space-size=4', MAIN, ...args], { cwd: ROOT, env, stdio })
}

export async function runPrepaint(args: readonly string[], settings: Record<string, string>, stdin = '') {
  const child = spawnPrepaint(args, settings)
  // The command need not read its stdin.
  child.stdin!.on('error', () => {}).end(stdin)
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const [stdout, stderr, code] = await Promise.all([text(child.stdout!), text(child.stderr!), ended])
  return { code, stdout, stderr }
}

/** Runs with `--json` and checks that stdout is one object on one line. */
export async function runJson(args: readonly string[], settings: Record<string, string>, stdin = '') {
  const { code, stdout, stderr } = await runPrepaint([...args, '--json'], settings, stdin)
  assert.match(stdout, /^\{.*\}\n$/, `one object on stdout, not "${stdout}"; stderr: ${stderr}`)
  return { code, json: JSON.parse(stdout) as Record<string, unknown> }
}

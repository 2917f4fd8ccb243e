import assert from 'node:assert/strict'
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { testChromium } from './data-dir.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const MAIN = path.join(ROOT, 'bin/prepaint.ts')

/** How a command is run, without its arguments. */
export type Program = {
  command: readonly string[]
  cwd: string
  /** A directory of commands that goes before the others, for `#!/usr/bin/env`. */
  searchPath?: string
}

const CHECKOUT: Program = { command: [process.execPath, '--max-semi-space-size=16', MAIN], cwd: ROOT }

/** Without settings of the tests' user. */
export function spawnPrepaint(
  args: readonly string[],
  settings: Record<string, string>,
  stdio: StdioOptions = ['pipe', 'pipe', 'pipe'],
  program: Program = CHECKOUT,
): ChildProcess {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env
  const browser = testChromium !== null && { PREPAINT_CHROMIUM: testChromium }
  const env: NodeJS.ProcessEnv = { PATH, HOME, NODE_COMPILE_CACHE, ...browser, ...settings }
  if (program.searchPath !== undefined) env['PATH'] = `${program.searchPath}:${PATH}`
  const [file, ...before] = program.command
  return spawn(file!, [...before, ...args], { cwd: program.cwd, env, stdio })
}

export async function runPrepaint(
  args: readonly string[],
  settings: Record<string, string>,
  stdin = '',
  program: Program = CHECKOUT,
) {
  const child = spawnPrepaint(args, settings, ['pipe', 'pipe', 'pipe'], program)
  // The command need not read its stdin.
  child.stdin!.on('error', () => {}).end(stdin)
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const [stdout, stderr, code] = await Promise.all([text(child.stdout!), text(child.stderr!), ended])
  return { code, stdout, stderr }
}

/** Runs with `--json` and checks that stdout is one object on one line. */
export async function runJson(
  args: readonly string[],
  settings: Record<string, string>,
  stdin = '',
  program: Program = CHECKOUT,
) {
  const { code, stdout, stderr } = await runPrepaint([...args, '--json'], settings, stdin, program)
  assert.match(stdout, /^\{.*\}\n$/, `one object on stdout, not "${stdout}"; stderr: ${stderr}`)
  return { code, json: JSON.parse(stdout) as Record<string, unknown> }
}

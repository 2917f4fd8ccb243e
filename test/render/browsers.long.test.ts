/**
 * Everything that depends on the browser, with each browser of Debian that is installed: the rest of a run uses the one
 * that a node finds, in CI the packaged one.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { it } from 'node:test'

import { hasProgram } from '../support/program.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const FILES = globSync('src/render/{browser,tab,time,visit}/*.test.ts', { cwd: ROOT }).concat(
  'test/roles.test.ts',
  'test/security/secrets.test.ts',
)

for (const name of ['chromium', 'chromium-headless-shell']) {
  if (!hasProgram(name, name)) continue
  it(`with ${name}`, { timeout: 280_000 }, async () => {
    const executable = execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim()
    const run = spawn(process.execPath, ['--test', '--test-reporter=dot', '--test-concurrency=2', ...FILES], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, PREPAINT_TEST_CHROMIUM: executable, NODE_TEST_CONTEXT: undefined },
    })
    const ended = new Promise<number | null>((resolve) => run.once('close', resolve))
    const said = await text(run.stdout)
    assert.equal(await ended, 0, said.slice(-20_000))
  })
}

/** What depends on the browser's program, with each that is named; the rest of a run uses the one that a node finds. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'

const ROOT = path.resolve(import.meta.dirname, '../..')
const FILES = [
  ...globSync('packages/engine/src/render/browser/*.test.ts', { cwd: ROOT }),
  ...['packages/engine/src/render/visit/visit.test.ts', 'packages/engine/src/render/tab/visitor.test.ts'],
  'test/render/platform/platform.test.ts',
  ...['test/roles.long.test.ts', 'test/security/secrets.long.test.ts'],
]

/** Programs, as `PREPAINT_TEST_BROWSERS=/usr/bin/chromium:/usr/bin/chromium-headless-shell`. */
const browsers = process.env['PREPAINT_TEST_BROWSERS']?.split(':') ?? []

for (const executable of browsers) {
  it(`with ${executable}`, () => {
    const env = { ...process.env, PREPAINT_TEST_CHROMIUM: executable, NODE_TEST_CONTEXT: undefined }
    const args = ['--test', '--test-reporter=dot', '--test-concurrency=2', ...FILES]
    const run = spawnSync(process.execPath, args, { cwd: ROOT, env, encoding: 'utf8', timeout: 590_000 })
    assert.equal(run.status, 0, (run.stdout + run.stderr).slice(-20_000))
  })
}

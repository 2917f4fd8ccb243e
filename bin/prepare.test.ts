import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { openFolder } from '../test/support/folder.ts'

/** A checkout whose dashboard is built by writing a file. */
function makeCheckout(): { built: string; prepare(npmCommand: string): void } {
  const checkout = openFolder()
  const built = path.join(checkout, 'built')
  mkdirSync(path.join(checkout, 'bin'))
  mkdirSync(path.join(checkout, 'node_modules/vite'), { recursive: true })
  mkdirSync(path.join(checkout, 'dashboard'))
  cpSync(path.join(import.meta.dirname, 'prepare.js'), path.join(checkout, 'bin/prepare.js'))
  writeFileSync(path.join(checkout, 'package.json'), '{ "type": "module" }')
  writeFileSync(
    path.join(checkout, 'dashboard/build.ts'),
    `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(built)}, '')`,
  )
  return {
    built,
    prepare(npmCommand) {
      const env = { PATH: process.env['PATH'], npm_command: npmCommand }
      const { status } = spawnSync(process.execPath, [path.join(checkout, 'bin/prepare.js')], { env })
      assert.equal(status, 0)
    },
  }
}

describe('the prepare script', () => {
  it('builds the dashboard after npm ci', () => {
    const { built, prepare } = makeCheckout()
    prepare('ci')
    assert.equal(existsSync(built), true)
  })

  it('builds nothing when npx runs a command, so that the command starts at once', () => {
    const { built, prepare } = makeCheckout()
    prepare('exec')
    assert.equal(existsSync(built), false)
  })
})

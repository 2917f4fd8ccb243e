import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, it } from 'node:test'

import { makeDir } from './system-user.ts'

const home = mkdtempSync(path.join(os.tmpdir(), 'prepaint-make-dir-'))
after(() => rmSync(home, { recursive: true }))

it('makes what is missing with its mode, and leaves alone what is there', () => {
  const dir = path.join(home, 'a/b/c')
  makeDir(dir, 0o711)
  assert.equal(statSync(path.join(home, 'a')).mode & 0o777, 0o711)
  assert.equal(statSync(dir).mode & 0o777, 0o711)
  makeDir(dir, 0o700)
  assert.equal(statSync(dir).mode & 0o777, 0o711)
})

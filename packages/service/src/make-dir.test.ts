import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'
import { makeDir } from '@prepaint/runtime/system-user.ts'
import { openFolder } from '../../../test/support/folder.ts'

it('makes what is missing with its mode, and leaves alone what is there', () => {
  const home = openFolder()
  const dir = path.join(home, 'a/b/c')
  makeDir(dir, 0o711)
  assert.equal(statSync(path.join(home, 'a')).mode & 0o777, 0o711)
  assert.equal(statSync(dir).mode & 0o777, 0o711)
  makeDir(dir, 0o700)
  assert.equal(statSync(dir).mode & 0o777, 0o711)
})

import assert from 'node:assert/strict'
import { it } from 'node:test'

import { browserPolicy } from './own-domain.ts'

it('adds a policy of its own to pages and frames', () => {
  for (const destination of ['document', 'iframe', 'frame']) {
    assert.match(browserPolicy(destination, undefined) ?? '', /^font-src data: blob:; media-src /)
    assert.match(browserPolicy(destination, "default-src 'self'") ?? '', /^default-src 'self', font-src /)
  }
})

it('leaves all else as the origin sent it', () => {
  for (const destination of ['script', 'empty', 'font', undefined]) {
    assert.equal(browserPolicy(destination, undefined), undefined)
    assert.equal(browserPolicy(destination, "script-src 'none'"), "script-src 'none'")
  }
})

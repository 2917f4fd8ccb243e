import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { loadConfig } from './config.ts'

describe('PREPAINT_CONTACT', () => {
  it('is an e-mail address or a URL; nobody by default', () => {
    const read = (contact: string) => loadConfig({ PREPAINT_CONTACT: contact }).contact
    assert.equal(loadConfig({}).contact, null)
    assert.equal(read(''), null)
    assert.equal(read('render@example.com'), 'render@example.com')
    assert.equal(read('https://example.com/contact?about=bots'), 'https://example.com/contact?about=bots')
  })

  it('anything else stops the start', () => {
    for (const wrong of [
      'somebody',
      'javascript:alert(1)',
      'a b@example.com',
      '"><b>@example.com',
      '@',
      'x@',
    ]) {
      assert.throws(() => loadConfig({ PREPAINT_CONTACT: wrong }), /PREPAINT_CONTACT must be/, wrong)
    }
  })
})

import assert from 'node:assert/strict'
import path from 'node:path'
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

describe('PREPAINT_VERIFY_CRAWLERS and PREPAINT_CRAWLER_RANGES_DIR', () => {
  it('are off by default', () => {
    assert.deepEqual(loadConfig({}).crawlers, { verify: false, rangesDir: null })
    assert.equal(loadConfig({ PREPAINT_VERIFY_CRAWLERS: '1' }).crawlers.verify, true)
    assert.equal(
      loadConfig({ PREPAINT_CRAWLER_RANGES_DIR: 'ranges' }).crawlers.rangesDir,
      path.resolve('ranges'),
    )
  })

  it('anything but 0 and 1 stops the start', () => {
    assert.throws(
      () => loadConfig({ PREPAINT_VERIFY_CRAWLERS: 'yes' }),
      /PREPAINT_VERIFY_CRAWLERS must be one of 0, 1/,
    )
  })
})

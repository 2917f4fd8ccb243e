import assert from 'node:assert/strict'
import { it } from 'node:test'

import { domainPath, nextPath, signInPath } from './route-map.ts'

it('signing in returns to the screen that was left', () => {
  for (const path of ['/keys', '/domains/shop.example.com/cache', '/operator/accounts']) {
    assert.equal(nextPath(signInPath(path).replace('/sign-in', '')), path)
  }
  assert.equal(signInPath('/domains'), '/sign-in')
  assert.equal(nextPath(''), '/domains')
})

it('a link cannot lead elsewhere after signing in', () => {
  const others = [
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    'javascript:alert(1)',
    '/sign-in',
  ]
  for (const next of [...others, '/welcome', '/domains//evil.example', '/docs', '/keys?x', '/keys#x']) {
    assert.equal(nextPath(`?next=${encodeURIComponent(next)}`), '/domains', next)
  }
})

it('the address of a domain encodes its name', () => {
  assert.equal(domainPath('domainCache', 'a/b'), '/domains/a%2Fb/cache')
})

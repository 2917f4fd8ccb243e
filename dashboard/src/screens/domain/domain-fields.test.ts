import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { parseDomainName } from '../../../../src/sites/domain-name.ts'
import { asciiName, domainProblem, originProblem } from './domain-fields.ts'

describe('a domain name as it is typed', () => {
  it('is refused only where the server refuses it too', () => {
    const names = ['www.example.com', 'EXAMPLE.com', 'bücher.example', 'example.com.', ' shop.example.com ']
    const others = [
      '',
      'shop',
      'https://example.com',
      'example.com/path',
      'example.com:80',
      '10.0.0.1',
      'a b.com',
    ]
    for (const name of [...names, ...others]) {
      assert.equal(domainProblem(name) === null, names.includes(name), name)
      assert.equal(parseDomainName(name).ok, names.includes(name), name)
    }
  })

  it('is shown as the server stores it', () => {
    for (const name of ['Bücher.example', 'EXAMPLE.com', 'example.com.']) {
      const stored = parseDomainName(name)
      assert.equal(asciiName(name), stored.ok ? stored.name : null)
    }
    assert.equal(asciiName('a b'), null)
  })
})

describe('the address of an origin as it is typed', () => {
  it('is scheme, host and port, and not the domain itself', () => {
    const problem = (origin: string) => originProblem(origin, 'Shop.example.com')
    assert.equal(problem('https://origin.example.com'), null)
    assert.equal(problem('http://origin.example.com:8080/'), null)
    assert.match(problem('') ?? '', /^Enter/)
    assert.match(problem('origin.example.com') ?? '', /^Begin with/)
    assert.match(problem('https://origin.example.com/shop') ?? '', /without path/)
    assert.match(problem('https://me@origin.example.com') ?? '', /^Only scheme/)
    assert.match(problem('https://') ?? '', /not an address/)
    assert.match(problem('https://shop.example.com') ?? '', /domain itself/)
  })
})

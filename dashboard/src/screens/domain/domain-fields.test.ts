import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { parseDomainName } from '../../../../src/sites/domain-name.ts'
import { asciiName, domainProblem, fieldCheckOf, originProblem } from './domain-fields.ts'

describe('a domain name, while typing', () => {
  it('is refused only if the server refuses it too', () => {
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

  it('is normalised like on the server', () => {
    for (const name of ['Bücher.example', 'EXAMPLE.com', 'example.com.']) {
      const stored = parseDomainName(name)
      assert.equal(asciiName(name), stored.ok ? stored.name : null)
    }
    assert.equal(asciiName('a b'), null)
  })
})

describe('the URL of an origin, while typing', () => {
  it('is scheme, host and port, and not the domain itself', () => {
    const problem = (origin: string) => originProblem(origin, 'Shop.example.com')
    assert.equal(problem('https://origin.example.com'), null)
    assert.equal(problem('http://origin.example.com:8080/'), null)
    assert.match(problem('') ?? '', /^Enter/)
    assert.match(problem('origin.example.com') ?? '', /^Begin with/)
    assert.match(problem('https://origin.example.com/shop') ?? '', /without a path/)
    assert.match(problem('https://me@origin.example.com') ?? '', /only scheme/)
    assert.match(problem('https://') ?? '', /not a URL/)
    assert.match(problem('https://shop.example.com') ?? '', /domain itself/)
  })
})

it('the server’s check of each field, as text', () => {
  const name = (name: string | null, problem: string | null) =>
    fieldCheckOf('custom_domain', { custom_domain: { name, problem }, origin_url: null, target: null })
  assert.deepEqual(name('a.example', null), { isGood: true, text: 'a.example is available' })
  assert.deepEqual(name('a.example', 'is already registered'), {
    isGood: false,
    text: 'The name is already registered',
  })
  const origin = (found: { problem?: string; status?: number; warning?: string }) =>
    fieldCheckOf('origin_url', {
      custom_domain: null,
      origin_url: { url: 'https://o.example', problem: null, status: null, warning: null, ...found },
      target: null,
    })
  assert.deepEqual(origin({ status: 200 }), { isGood: true, text: 'It responds with status 200' })
  assert.equal(origin({ status: 503 })?.isGood, false)
  assert.match(
    origin({ warning: 'it takes no connection' })?.text ?? '',
    /can add it, but.*takes no connection/,
  )
  assert.equal(origin({ problem: 'must name a host' })?.text, 'The URL must name a host')
  assert.equal(fieldCheckOf('origin_url', { custom_domain: null, origin_url: null, target: null }), null)
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { DomainId, DomainName } from '../ids.ts'
import { readOrigin } from '../outbound/origin.ts'
import { DEFAULT_DOMAIN_SETTINGS } from '../sites/domain-settings.ts'
import { pathOn, publicUrl } from './site.ts'

const site = {
  id: 1 as DomainId,
  name: 'shop.example.com' as DomainName,
  origin: readOrigin('http://origin.example.net:8080', 'site'),
  query: DEFAULT_DOMAIN_SETTINGS.query,
}

it('addresses of the origin are moved to the domain, others are left alone', () => {
  const cases: [string, string | null][] = [
    ['http://origin.example.net:8080/a?b=1', 'https://shop.example.com/a?b=1'],
    ['https://origin.example.net/a', 'https://shop.example.com/a'],
    ['http://origin.example.net:8081/a', null],
    ['https://shop.example.com/a', null],
    ['https://elsewhere.example/a', null],
    ['https://origin.example.net.elsewhere.example/a', null],
    ['https://origin.example.net@elsewhere.example/a', null],
    ['/a', null],
  ]
  for (const [address, moved] of cases) assert.equal(publicUrl(site, address), moved, address)
})

it('paths of other hosts and schemes are none of the site', () => {
  assert.equal(pathOn(site, 'http://origin.example.net:8080/a'), '/a')
  assert.equal(pathOn(site, '/a'), '/a')
  for (const address of ['https://elsewhere.example/a', 'ftp://shop.example.com/a', '//elsewhere.example/a'])
    assert.equal(pathOn(site, address), null, address)
})

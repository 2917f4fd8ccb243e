import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConfigError, loadConfig } from '../../../../bin/settings/config.ts'
import { clientBlock, createClientReader } from './client-address.ts'

const proxiesOf = (setting: string) => loadConfig({ PREPAINT_TRUSTED_PROXIES: setting }).trustedProxies
const read = createClientReader(proxiesOf('10.0.0.0/8, 192.0.2.7, fd00::/8'))

type Given = { near?: string; for?: string; proto?: string; tls?: boolean; others?: Record<string, string> }
const client = ({ near = '10.0.0.1', for: forwarded, proto, tls, others }: Given) =>
  read({
    headers: {
      ...others,
      ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }),
      ...(proto === undefined ? {} : { 'x-forwarded-proto': proto }),
    },
    socket: { remoteAddress: near, encrypted: tls },
  })

describe('the address of a client', () => {
  const CASES: [name: string, given: Given, address: string][] = [
    ['the socket, without a proxy', { near: '203.0.113.5' }, '203.0.113.5'],
    ['a header of somebody else is nothing', { near: '203.0.113.5', for: '1.1.1.1' }, '203.0.113.5'],
    ['what the client wrote itself is not read', { for: '1.1.1.1, 198.51.100.9' }, '198.51.100.9'],
    ['proxies behind one another', { for: '1.1.1.1, 198.51.100.9, 192.0.2.7, 10.9.9.9' }, '198.51.100.9'],
    ['the neighbour of a trusted address', { for: '1.1.1.1, 192.0.2.8, 10.9.9.9' }, '192.0.2.8'],
    ['trusted ones alone: the left-most', { for: '10.0.0.3, 10.0.0.2' }, '10.0.0.3'],
    ['an empty header', { for: '' }, '10.0.0.1'],
    ['garbage: who sent it', { for: '1.1.1.1, unknown' }, '10.0.0.1'],
    ['garbage further in: who sent that', { for: '1.1.1.1, , 10.0.0.2' }, '10.0.0.2'],
    ['an odd spelling is none', { for: '0177.0.0.1' }, '10.0.0.1'],
    ['with a port', { for: '198.51.100.9:5123' }, '198.51.100.9'],
    ['IPv6', { for: '2001:DB8:0::5' }, '2001:db8::5'],
    ['IPv6 with a port', { for: '[2001:db8::5]:443' }, '2001:db8::5'],
    ['a socket that takes both', { near: '::ffff:10.0.0.1', for: '198.51.100.9' }, '198.51.100.9'],
    ['a proxy of IPv6', { near: 'fd00::1', for: '198.51.100.9' }, '198.51.100.9'],
    ['a zone', { near: 'fe80::1%eth0' }, 'fe80::1'],
    ['a socket that has closed', { near: '' }, ''],
    ['no other header', { others: { forwarded: 'for=1.1.1.1', 'x-real-ip': '1.1.1.1' } }, '10.0.0.1'],
  ]
  for (const [name, given, address] of CASES) {
    it(name, () => assert.equal(client(given).address, address))
  }

  it('nobody is trusted unless the operator says so', () => {
    const socket = { remoteAddress: '127.0.0.1' }
    const headers = { 'x-forwarded-for': '1.1.1.1', 'x-forwarded-proto': 'https' }
    assert.deepEqual(createClientReader([])({ headers, socket }), { address: '127.0.0.1', scheme: 'http' })
  })
})

describe('the scheme of a client', () => {
  const CASES: [name: string, given: Given, scheme: string][] = [
    ['a TLS socket', { near: '203.0.113.5', tls: true }, 'https'],
    ['of somebody else is not believed', { near: '203.0.113.5', proto: 'https' }, 'http'],
    ['of a trusted proxy', { for: '198.51.100.9', proto: 'HTTPS' }, 'https'],
    ['http before a TLS socket', { for: '198.51.100.9', proto: 'http', tls: true }, 'http'],
    ['what the client wrote is not read', { for: '1.1.1.1, 198.51.100.9', proto: 'https, http' }, 'http'],
    ['through two proxies', { for: '198.51.100.9, 10.9.9.9', proto: 'ftp, https, http' }, 'https'],
    ['none of ours', { for: '198.51.100.9', proto: 'gopher' }, 'http'],
  ]
  for (const [name, given, scheme] of CASES) {
    it(name, () => assert.equal(client(given).scheme, scheme))
  }
})

it('a client is counted by its address, or its /64 of IPv6', () => {
  assert.equal(clientBlock('203.0.113.5'), '203.0.113.5')
  assert.equal(clientBlock('2001:db8:1:2:ffff:ffff:ffff:ffff'), '2001:db8:1:2::/64')
  assert.equal(clientBlock('::1'), '0:0:0:0::/64')
  assert.equal(clientBlock(''), '')
})

it('PREPAINT_TRUSTED_PROXIES is refused where it is none, and says so', () => {
  for (const wrong of ['localhost', '10.0.0.0/33', '10.0.0.1:80', '10.1/8']) {
    const message = `PREPAINT_TRUSTED_PROXIES takes addresses or CIDR, got "${wrong}"`
    assert.throws(() => proxiesOf(`127.0.0.1, ${wrong}`), new ConfigError(message), wrong)
  }
})

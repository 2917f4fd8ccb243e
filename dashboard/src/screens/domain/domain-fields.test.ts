import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parseDomainName } from '@prepaint/contract/settings/domain-name.ts'
import { crawlerCommand, recordsFor } from './dns-records.ts'
import {
  asciiName,
  domainProblem,
  originCheck,
  originProblem,
  pastedName,
  pastedPath,
} from './domain-fields.ts'

it('a domain name is refused while typing only if the server refuses it too, and normalised like there', () => {
  const names = ['www.example.com', 'EXAMPLE.com', 'bücher.example', 'example.com.', ' shop.example.com ']
  for (const name of names) {
    assert.equal(domainProblem(name), null, name)
    const stored = parseDomainName(name)
    assert.equal(asciiName(name), stored.ok ? stored.name : 'refused')
  }
  for (const name of ['', 'shop', 'https://a.com', 'a.com/path', 'a.com:80', '10.0.0.1', 'a b.com']) {
    assert.notEqual(domainProblem(name), null, name)
    assert.equal(parseDomainName(name).ok, false, name)
  }
})

it('the URL of an origin is scheme, host and port, and not the domain itself', () => {
  const problem = (origin: string) => originProblem(origin, 'Shop.example.com') ?? ''
  assert.equal(problem('https://origin.example.com'), '')
  assert.equal(problem('http://origin.example.com:8080/'), '')
  assert.match(problem(''), /^Enter/)
  assert.match(problem('origin.example.com'), /^Begin with/)
  for (const url of ['https://o.example.com/shop', 'https://me@o.example.com'])
    assert.match(problem(url), /only scheme, host and port, without a path/)
  assert.match(problem('https://'), /not a URL/)
  assert.match(problem('https://shop.example.com'), /domain itself/)
})

it('a server that does not answer well is described, and does not keep the site from being added', () => {
  const check = (found: { problem?: string; warning?: string; status?: number }) => {
    const origin_url = { url: 'https://o.example', problem: null, status: null, warning: null, ...found }
    return originCheck({ custom_domain: null, origin_url, target: null })
  }
  assert.deepEqual(check({ status: 399 }), { isGood: true, text: 'The server responds with status 399.' })
  assert.deepEqual(check({ status: 400 }), {
    isGood: false,
    text: 'The server responds with status 400. You can add the site anyway.',
  })
  assert.deepEqual(check({ warning: 'does not accept connections' }), {
    isGood: false,
    text: 'The server does not accept connections. You can add the site anyway.',
  })
  assert.deepEqual(check({ problem: 'must name a host' }), {
    isGood: false,
    text: 'The URL must name a host',
  })
  assert.equal(originCheck({ custom_domain: null, origin_url: null, target: null }), null)
})

const to = (host: string | null, addresses: string[] = []) => ({ host, addresses })

it('DNS records for the target that the operator configured, else for the host of the dashboard', () => {
  const records = (target: ReturnType<typeof to> | null, here = 'x', domain = 'www.a.example') =>
    recordsFor(domain, target, here)
      .records.map(({ type, value }) => `${type} ${value}`)
      .join()
  assert.equal(records(to('edge.b.example')), 'CNAME edge.b.example.')
  assert.equal(records(to('edge.b.example'), 'x', 'a.example'), 'ALIAS edge.b.example.')
  assert.equal(records(to(null, ['203.0.113.5', '2001:db8::5'])), 'A 203.0.113.5,AAAA 2001:db8::5')
  assert.equal(records(null, 'prepaint.b.example'), 'CNAME prepaint.b.example.')
  assert.equal(records(null, '[2001:db8::5]'), 'AAAA 2001:db8::5')
  assert.equal(records(null, 'localhost'), 'A <address of this machine>')
})

it('a request as a crawler: to the port of this edge, or to the target', () => {
  const command = (target: ReturnType<typeof to> | null, edge_port: number | null) =>
    crawlerCommand('www.a.example', { target, edge_port }, '127.0.0.1').split(' ')[5]
  assert.equal(command(null, 8080), 'www.a.example:80:127.0.0.1:8080')
  assert.equal(command(to('edge.b.example'), 8080), 'www.a.example:80:edge.b.example:80')
  assert.equal(command(to(null, ['2001:db8::5']), 8080), 'www.a.example:80:[2001:db8::5]:80')
})

it('a pasted address becomes the name of the site', () => {
  for (const pasted of [
    'https://www.X.com/',
    'x.com/',
    'WWW.x.com',
    ' http://www.x.com:8080/shop?a=1#b ',
    'x.com.',
  ]) {
    assert.match(pastedName(pasted), /^(www\.)?x\.com$/, pasted)
  }
  assert.equal(pastedName('https://müller.example/'), 'xn--mller-kva.example')
  assert.deepEqual(['not a name', 'a@b.com', ''].map(pastedName), ['not a name', 'a@b.com', ''])
})

it('what a pasted address has after its name is said to be left out', () => {
  assert.equal(pastedPath('https://www.x.com/de'), '/de')
  assert.equal(pastedPath('x.com/shop?a=1#b'), '/shop?a=1#b')
  for (const text of ['https://www.x.com/', 'x.com', '', 'a@b.com/x', 'not a name/x']) {
    assert.equal(pastedPath(text), null, text)
  }
})

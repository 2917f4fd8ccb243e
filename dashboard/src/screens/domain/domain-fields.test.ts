import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseDomainName } from '../../../../src/sites/domain-name.ts'
import { crawlerCommand, dnsText, recordsFor } from './dns-records.ts'
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

const to = (host: string | null, addresses: string[] = []) => ({ host, addresses })

it('records for the target that the operator configured', () => {
  assert.deepEqual(recordsFor('www.a.example', to('edge.b.example'), 'x'), {
    records: [{ type: 'CNAME', value: 'edge.b.example.' }],
    note: null,
  })
  assert.equal(recordsFor('a.example', to('edge.b.example'), 'x').records[0]!.type, 'ALIAS')
  assert.deepEqual(recordsFor('a.example', to(null, ['203.0.113.5', '2001:db8::5']), 'x'), {
    records: [
      { type: 'A', value: '203.0.113.5' },
      { type: 'AAAA', value: '2001:db8::5' },
    ],
    note: null,
  })
})

it('without a target: the host of the dashboard, with a note', () => {
  const first = (here: string) => recordsFor('www.a.example', null, here).records[0]
  assert.deepEqual(first('prepaint.b.example'), { type: 'CNAME', value: 'prepaint.b.example.' })
  assert.deepEqual(first('203.0.113.5'), { type: 'A', value: '203.0.113.5' })
  assert.deepEqual(first('[2001:db8::5]'), { type: 'AAAA', value: '2001:db8::5' })
  assert.equal(first('localhost')!.value, '<address of this machine>')
  assert.match(recordsFor('www.a.example', null, 'b.example').note ?? '', /address of the dashboard/)
})

it('a request as a crawler: to the port of this edge, or to the target', () => {
  const command = (...[target, edge_port]: [Parameters<typeof recordsFor>[1], number | null]) =>
    crawlerCommand('www.a.example', { target, edge_port }, '127.0.0.1').split(' ')[5]
  assert.equal(command(null, 8080), 'www.a.example:80:127.0.0.1:8080')
  assert.equal(command(null, null), 'www.a.example:80:127.0.0.1:80')
  assert.equal(command(to('edge.b.example'), 8080), 'www.a.example:80:edge.b.example:80')
  assert.equal(command(to(null, ['2001:db8::5']), 8080), 'www.a.example:80:[2001:db8::5]:80')
  assert.match(
    crawlerCommand('www.a.example', undefined, 'b.example'),
    /:b\.example:80 http:\/\/www\.a\.example\/$/,
  )
})

it('where a name points, as text', () => {
  const say = (state: Parameters<typeof dnsText>[0]['state'], addresses: string[] = []) =>
    dnsText({ state, addresses, aliases: [] })
  assert.equal(say('reaches-us', ['203.0.113.5']), 'The name points here, through 203.0.113.5.')
  assert.match(say('elsewhere', ['203.0.113.5']), /points to 203\.0\.113\.5/)
  assert.match(say('elsewhere'), /not public/)
  assert.match(say('no-record'), /no address/)
  assert.match(say('not-checked'), /repeated automatically/)
})

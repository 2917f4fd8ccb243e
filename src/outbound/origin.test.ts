import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hostInUrl, parseAuthority, parseHost } from './origin.ts'

describe('host names', () => {
  const READ: [raw: string, kind: 'name' | 'address', text: string][] = [
    ['WWW.Example.COM.', 'name', 'www.example.com'],
    ['_dmarc.a-b.example', 'name', '_dmarc.a-b.example'],
    ['1.2.3.4.example', 'name', '1.2.3.4.example'],
    ['8.8.8.8', 'address', '8.8.8.8'],
    ['[::FFFF:1.2.3.4]', 'address', '::ffff:1.2.3.4'],
  ]
  for (const [raw, kind, text] of READ)
    it(`reads ${raw}`, () => assert.deepEqual(parseHost(raw), { kind, text }))

  it('refuses all else', () => {
    const blanks = ['', 'a b.example', 'a\0.example', 'a\n.example', `${'a.'.repeat(127)}example`]
    const others = `. .. a..b .example example.. -a.example a-.example a/b a@b a:80 a%2e.example bücher.example
      １２７.0.0.1 127。0。0。1 127.1 127.0.0.1. 2130706433 0177.0.0.1 0x7f.1 0x7f000001 example.0x7f example.0x
      example.1 1.2.3.4.5 2606:4700::1111 [2606:4700::1111 [fe80::1%eth0] [127.0.0.1] []`
    for (const raw of [...blanks, ...others.split(/\s+/)])
      assert.equal(parseHost(raw), null, JSON.stringify(raw))
  })

  it('takes 63 characters in a label, 253 in all, and no more', () => {
    const label = (length: number) => parseHost(`${'a'.repeat(length)}.example`)
    assert.deepEqual([label(63) === null, label(64)], [false, null])
    const whole = (last: number) => `${`${'a'.repeat(62)}.`.repeat(3)}${'b'.repeat(60)}.${'c'.repeat(last)}`
    assert.equal(whole(3).length, 253)
    assert.deepEqual([parseHost(whole(3)) === null, parseHost(whole(4))], [false, null])
  })
})

describe('authorities', () => {
  const READ: [raw: string, written: string][] = [
    ['example.com', 'example.com:443'],
    ['example.com:65535', 'example.com:65535'],
    ['[2606:4700::1111]:80', '[2606:4700::1111]:80'],
  ]
  for (const [raw, written] of READ) {
    it(`reads ${raw}`, () => {
      const { host, port } = parseAuthority(raw, 443)!
      assert.equal(`${hostInUrl(host)}:${port}`, written)
    })
  }
  it('refuses all else, and needs a port where there is no default', () => {
    for (const raw of [...':80 a: a:0 a:65536 a:-1 a:80:80 u@a:80 a:80/ a:8O'.split(' '), '', 'a: 80'])
      assert.equal(parseAuthority(raw, 443), null, raw)
    assert.equal(parseAuthority('example.com', null), null)
  })
})

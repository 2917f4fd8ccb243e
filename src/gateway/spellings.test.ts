/** A small fuzzer: an address is refused whichever way it is spelt, and a public one is not. */
import assert from 'node:assert/strict'
import { it } from 'node:test'

import { pick, seededRandom } from '../../test/chaos/seeded-random.ts'
import { createAddressGuard } from '../outbound/address-guard.ts'
import { vettedOptions } from '../outbound/guarded-connect.ts'
import { checkOriginUrl } from '../outbound/origin-url.ts'
import { connectTarget, readSite } from './target.ts'

const ROUNDS = 400
const guard = createAddressGuard([])
const lookup = async () => []
const site = readSite('shop.example', 'https://origin.example.com')

const random = seededRandom(20261121)
const byte = () => Math.floor(random() * 256)

const NETWORKS = '127 10 192.168 172.16 169.254 0 100.64 198.18 224 255.255.255.255'
for (const network of NETWORKS.split(' ')) {
  it(`no spelling of ${network}... gets through`, async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const octets = [...network.split('.').map(Number), byte(), byte(), byte()].slice(0, 4)
      await refused(pick(random, SPELLINGS)(octets), octets)
    }
  })
}

it('a public address gets through in its plain spelling', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const address = [8, byte(), byte(), byte()].join('.')
    assert.equal(guard.permits(address, 443), true)
    assert.equal((await checkOriginUrl(`http://${address}`, guard, { lookup, timeoutMs: 100 })).ok, true)
    assert.equal(vettedOptions({ host: address, port: 443, guard, lookup }).host, address)
    assert.equal(connectTarget(`${address}:443`, site).kind, 'other')
  }
})

async function refused(spelling: string, octets: readonly number[]): Promise<void> {
  const note = `${spelling} for ${octets.join('.')}`
  assert.equal(guard.permits(spelling, 443), false, note)
  assert.equal(guard.permits(spelling.replace(/^\[|\]$/g, ''), 443), false, note)
  const checked = await checkOriginUrl(`http://${spelling}`, guard, { lookup, timeoutMs: 100 })
  assert.equal(checked.ok, false, `${note} as origin`)
  const target = connectTarget(`${spelling}:443`, site)
  if (target.kind === 'refused') return
  assert(target.kind === 'other', note)
  assert.throws(() => vettedOptions({ host: target.origin.hostname, port: 443, guard, lookup }), note)
}

type Spelling = (octets: readonly number[]) => string

const SPELLINGS: readonly Spelling[] = [
  (o) => o.join('.'),
  (o) => `${o.join('.')}.`,
  (o) => o.map(part).join('.'),
  (o) => [part(o[0]!), part(o[1]!), part(o[2]! * 256 + o[3]!)].join('.'),
  (o) => [part(o[0]!), part((o[1]! * 256 + o[2]!) * 256 + o[3]!)].join('.'),
  (o) => part(whole(o)),
  (o) => `${part(whole(o))}.`,
  (o) => o.map((n) => String(n).padStart(3, '0')).join('.'),
  (o) => full(o.join('.')),
  (o) => o.join('。'),
  (o) => o.join('%2e'),
  (o) => o.map((n) => [...String(n)].map((digit) => `%3${digit}`).join('')).join('.'),
  (o) => `[::ffff:${o.join('.')}]`,
  (o) => `[::ffff:${hex(o)}]`,
  (o) => `[0:0:0:0:0:FFFF:${hex(o).toUpperCase()}]`,
  (o) => `[0000:0000:0000:0000:0000:ffff:${hex(o)}]`,
  (o) => `[::${o.join('.')}]`,
  (o) => `[::${hex(o)}]`,
  (o) => `[::ffff:0:${hex(o)}]`,
  (o) => `[64:ff9b::${hex(o)}]`,
  (o) => `[64:ff9b::${o.join('.')}]`,
  (o) => `[64:ff9b:1::${hex(o)}]`,
  (o) => `[2002:${hex(o)}::${byte().toString(16)}]`,
  (o) => `[2001:0:${hex(o)}::${byte().toString(16)}]`,
  (o) => `[::ffff:${hex(o)}%25eth0]`,
  (o) => `[::ffff:${o.join('.')}%lo]`,
]

function whole(octets: readonly number[]): number {
  return octets.reduce((sum, octet) => sum * 256 + octet, 0)
}

/** A number as inet_aton reads it: decimal, octal or hexadecimal, with as many zeroes as one likes. */
function part(value: number): string {
  const zeroes = '0'.repeat(Math.floor(random() * 3))
  return pick(random, [
    String(value),
    `0${zeroes}${value.toString(8)}`,
    `0x${zeroes}${value.toString(16)}`,
    `0X${value.toString(16).toUpperCase()}`,
  ])
}

function hex(octets: readonly number[]): string {
  const [a = 0, b = 0, c = 0, d = 0] = octets
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}

function full(text: string): string {
  return text.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)))
}

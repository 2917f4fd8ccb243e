import assert from 'node:assert/strict'
import { it } from 'node:test'

import { parseEmail } from './email.ts'

it('one spelling for one mailbox', () => {
  assert.equal(parseEmail(' Ann.Lee+shop@Example.COM '), 'ann.lee+shop@example.com')
})

for (const wrong of [
  '',
  'ann',
  'ann@',
  '@example.com',
  'ann@example',
  'a b@example.com',
  'ann@example.com\0',
]) {
  it(`${JSON.stringify(wrong)} is no address`, () => assert.equal(parseEmail(wrong), null))
}

it('254 characters are an address, 255 are none', () => {
  const domain = `${'d'.repeat(63)}.${'e'.repeat(63)}.${'f'.repeat(55)}.com`
  const local = 'l'.repeat(254 - 1 - domain.length)
  assert.equal(parseEmail(`${local}@${domain}`)?.length, 254)
  assert.equal(parseEmail(`${local}l@${domain}`), null)
})

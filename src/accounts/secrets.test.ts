import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { it } from 'node:test'

import { says } from '../../test/support/public-error.ts'
import { createSecret, hashSecret, parseSecretName } from './secrets.ts'

for (const prefix of ['pp_live_', 'pp_wh_'] as const) {
  // Proves interface 2/16, interface 2/24, decided "Name, prefixes"
  it(`${prefix}: at least 190 random bits, stored as SHA-256, shown as a hint of a few characters`, () => {
    const made = createSecret(prefix)
    assert.match(made.raw, new RegExp(`^${prefix}[A-Za-z0-9_-]{32,}$`))
    assert((made.raw.length - prefix.length) * Math.log2(64) >= 190)
    assert.deepEqual(made.hash, createHash('sha256').update(made.raw).digest())
    assert.deepEqual(hashSecret(made.raw), made.hash)
    assert(made.raw.startsWith(made.hint) && made.hint.length === prefix.length + 4)
    assert.notEqual(createSecret(prefix).raw, made.raw)
  })
}

it('100 characters are a name, 101 are none', () => {
  assert.equal(parseSecretName('🔑'.repeat(100)).length, 200)
  assert.throws(() => parseSecretName('k'.repeat(101)), says('name must have at most 100 characters'))
})

it('blanks around it go, nothing else may be missing', () => {
  assert.equal(parseSecretName('  deploy bot '), 'deploy bot')
  assert.throws(() => parseSecretName('  '), says('name is required'))
})

for (const wrong of ['a\0b', 'a\nb', 'a\x7f', 'a\ud800']) {
  it(`${JSON.stringify(wrong)} is no name`, () => {
    assert.throws(() => parseSecretName(wrong), says('name must not contain control characters'))
  })
}

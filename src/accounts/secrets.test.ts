import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { it } from 'node:test'

import { createSecret, hashSecret } from './secrets.ts'

for (const prefix of ['pp_live_', 'pp_wh_'] as const) {
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

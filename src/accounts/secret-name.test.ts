import assert from 'node:assert/strict'
import { it } from 'node:test'

import { AppError, publicError } from '../errors.ts'
import { parseSecretName } from './secrets.ts'

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
    assert.throws(() => parseSecretName(wrong), says('name must not hold control characters'))
  })
}

function says(text: string) {
  return (error: unknown) => error instanceof AppError && publicError(error).body.error === text
}

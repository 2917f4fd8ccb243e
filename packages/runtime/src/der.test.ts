import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { der, octetString, readDer, sequence } from './der.ts'

describe('DER', () => {
  it('writes lengths in as few bytes as they take, and reads them back', () => {
    for (const [length, head] of [
      [127, '047f'],
      [128, '048180'],
      [256, '04820100'],
      [65_536, '0483010000'],
    ] as const) {
      const bytes = octetString(Buffer.alloc(length, 7))
      assert.equal(bytes.subarray(0, head.length / 2).toString('hex'), head)
      const [value, ...others] = readDer(bytes)
      assert.equal(value?.content.length, length)
      assert.deepEqual(value?.whole, bytes)
      assert.equal(others.length, 0)
    }
  })

  it('refuses to read past the end', () => {
    const whole = sequence(der(0x02, Buffer.of(1)), der(0x02, Buffer.of(2)))
    for (let length = 1; length < whole.length; length++) {
      assert.throws(() => readDer(whole.subarray(0, length)), RangeError)
    }
    assert.throws(() => readDer(Buffer.from('30890102030405060708', 'hex')), RangeError)
  })
})

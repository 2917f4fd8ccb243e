import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { der, objectId, octetString, readDer, sequence, utcTime } from './der.ts'

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

  it('writes object ids and times', () => {
    assert.equal(objectId('1.2.840.10045.4.3.2').toString('hex'), '06082a8648ce3d040302')
    assert.equal(objectId('1.3.6.1.5.5.7.1.31').toString('hex'), '06082b0601050507011f')
    assert.equal(
      utcTime(Date.UTC(2026, 10, 21, 1, 2, 3, 456))
        .subarray(2)
        .toString(),
      '261121010203Z',
    )
  })

  it('refuses to read past the end', () => {
    const whole = sequence(der(0x02, Buffer.of(1)), der(0x02, Buffer.of(2)))
    for (let length = 1; length < whole.length; length++) {
      assert.throws(() => readDer(whole.subarray(0, length)), RangeError)
    }
    assert.throws(() => readDer(Buffer.from('30890102030405060708', 'hex')), RangeError)
  })
})

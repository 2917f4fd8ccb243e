import assert from 'node:assert/strict'
import { it } from 'node:test'
import { bytes, duration, milliseconds, stepName } from './format.ts'
import { domainPath, nextPath, signInPath } from './route-map.ts'

it('response times, durations and sizes', () => {
  const said = (of: (value: number) => string, ...values: number[]) => values.map(of).join(', ')
  assert.equal(milliseconds(null), '–')
  assert.equal(
    said(milliseconds, 0.0712, 1, 9.94, 9.96, 12.34, 999, 999.6, 2_440, 9_999, 92_000),
    '0.071 ms, 1 ms, 9.9 ms, 10 ms, 12 ms, 999 ms, 1.0 s, 2.4 s, 10 s, 92 s',
  )
  assert.equal(
    said(duration, 0, 0.44, 9.96, 12.4, 119, 120, 7_199, 7_200, 172_800),
    '0 s, 0.4 s, 10 s, 12 s, 119 s, 2 min, 120 min, 2 h, 2 days',
  )
  assert.equal(
    said(bytes, 0, 1, 1_023, 1_024, 34_240, 231_000, 512 * 1024 ** 2, 1.5 * 1024 ** 3, 2 ** 60),
    '0 bytes, 1 bytes, 1023 bytes, 1.0 KiB, 33.4 KiB, 226 KiB, 512 MiB, 1.5 GiB, 1048576 TiB',
  )
})

it('days are UTC, and say so; the address of a domain encodes its name', () => {
  assert.match(stepName('2026-11-15T00:00:00.000Z', 'day'), /15.*\(UTC\)$/)
  assert.equal(domainPath('domainCache', 'a/b'), '/domains/a%2Fb/cache')
  assert.doesNotMatch(stepName('2026-11-15T00:00:00.000Z', 'hour'), /UTC/)
})

it('signing in returns to the screen that was left', () => {
  for (const path of ['/keys', '/domains/shop.example.com/cache', '/operator/accounts']) {
    assert.equal(nextPath(signInPath(path).replace('/sign-in', '')), path)
  }
  assert.equal(signInPath('/domains'), '/sign-in')
  assert.equal(nextPath(''), '/domains')
})

it('a link cannot lead elsewhere after signing in', () => {
  const others =
    'https://evil.example/keys //evil.example/keys /\\evil.example javascript:alert(1) /domains//evil.example'
  for (const next of [...others.split(' '), '/sign-in', '/welcome', '/docs', '/keys?x', '/keys#x']) {
    assert.equal(nextPath(`?next=${encodeURIComponent(next)}`), '/domains', next)
  }
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ago, bytes, duration, exactDuration, milliseconds, stepName, visitedAgo } from './format.ts'
import { domainPath, nextPath, pagePath, settingsPath, signInPath } from './route-map.ts'

function written(write: (value: number) => string, ...values: number[]): string {
  return values.map(write).join(', ')
}

it('a response time has at most two digits that count, and seconds from 999.5 ms on', () => {
  assert.equal(milliseconds(null), '–')
  assert.equal(
    written(milliseconds, 0.0712, 1, 9.94, 9.96, 12.34, 999, 999.6, 2_440, 9_999, 92_000),
    '0.071 ms, 1 ms, 9.9 ms, 10 ms, 12 ms, 999 ms, 1.0 s, 2.4 s, 10 s, 92 s',
  )
})

it('a duration is told in the unit in which it is at least 2', () => {
  assert.equal(
    written(duration, 0, 0.44, 9.96, 12.4, 119, 120, 7_199, 7_200, 172_800),
    '0 s, 0.4 s, 10 s, 12 s, 119 s, 2 min, 120 min, 2 h, 2 days',
  )
})

it('a duration that somebody set is told without rounding, in days from two on', () => {
  assert.equal(
    written(exactDuration, 0, 25, 90, 600, 5_400, 3_600, 86_400, 90_000, 172_800, 604_800, 316_224_000),
    '0 s, 25 s, 90 s, 10 min, 90 min, 1 h, 24 h, 25 h, 2 days, 7 days, 3,660 days',
  )
})

it('a size is told in the largest unit in which it is at least 1, and one byte in the singular', () => {
  assert.equal(
    written(bytes, 0, 1, 2, 1_023, 1_024, 34_240, 231_000, 512 * 1024 ** 2, 1.5 * 1024 ** 3, 2 ** 60),
    '0 bytes, 1 byte, 2 bytes, 1023 bytes, 1.0 KiB, 33.4 KiB, 226 KiB, 512 MiB, 1.5 GiB, 1048576 TiB',
  )
})

it('a time is told by how long ago it was, and by its date after 45 days', () => {
  const nowMs = Date.parse('2026-11-15T12:00:00Z')
  const told = (seconds: number) => ago(new Date(nowMs + seconds * 1_000).toISOString(), nowMs)
  assert.deepEqual([-59, -60, -3_600, -86_400, 2 * 86_400].map(told), [
    'just now',
    '1 minute ago',
    '1 hour ago',
    'yesterday',
    'in 2 days',
  ])
  assert.equal(told(-45 * 86_400), '45 days ago')
  assert.match(told(-45 * 86_400 - 1), /2026/)
})

it('a visit is told as within the last hour up to an hour, and then as any time', () => {
  const nowMs = Date.parse('2026-11-15T12:00:00Z')
  const told = (seconds: number) => visitedAgo(new Date(nowMs - seconds * 1_000).toISOString(), nowMs)
  assert.deepEqual([0, 3_599, 3_600].map(told), [
    'within the last hour',
    'within the last hour',
    '1 hour ago',
  ])
})

it('a day is a UTC day and says so, an hour is one of the viewer', () => {
  assert.match(stepName('2026-11-15T00:00:00.000Z', 'day'), /15.*\(UTC\)$/)
  assert.doesNotMatch(stepName('2026-11-15T00:00:00.000Z', 'hour'), /UTC/)
})

it('an address encodes the names in it, and leaves out what is the default', () => {
  assert.equal(domainPath('domainPages', 'a/b'), '/domains/a%2Fb/pages')
  assert.equal(settingsPath('a/b', 'paths'), '/domains/a%2Fb/settings/paths')
  assert.equal(settingsPath('a', 'site', 'way'), '/domains/a/settings/site#way')
  assert.equal(pagePath('a/b', '/x?y=1'), '/domains/a%2Fb/pages?path=%2Fx%3Fy%3D1')
  assert.equal(
    pagePath('a', '/', { view: 'facts', variant: 'mobile' }),
    '/domains/a/pages?path=%2F&view=facts&variant=mobile',
  )
})

it('signing in returns to the screen that was left', () => {
  for (const path of ['/keys', '/domains/shop.example.com/settings/paths', '/operator/accounts']) {
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

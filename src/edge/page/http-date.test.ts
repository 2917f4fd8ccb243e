import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { httpDateMs } from './send-page.ts'

const NOW = Date.UTC(2026, 0, 15)
const at = Date.UTC(1994, 10, 6, 8, 49, 37)

describe('a date of HTTP', () => {
  const rows: [text: string, ms: number][] = [
    ['Sun, 06 Nov 1994 08:49:37 GMT', at],
    ['Sunday, 06-Nov-94 08:49:37 GMT', at],
    ['Sun Nov  6 08:49:37 1994', at],
    ['Wed Nov 16 08:49:37 1994', at + 10 * 86_400_000],
    ['Thursday, 15-Jan-76 00:00:00 GMT', Date.UTC(2076, 0, 15)],
    ['Saturday, 15-Jan-77 00:00:00 GMT', Date.UTC(1977, 0, 15)],
    ['Sat, 31 Dec 2016 23:59:60 GMT', Date.UTC(2017, 0, 1)],
  ]
  for (const [text, ms] of rows) it(text, () => assert.equal(httpDateMs(text, NOW), ms))

  const none = [
    '',
    '2031',
    'tomorrow',
    '1994-11-06T08:49:37Z',
    'Sun, 06 Nov 1994 08:49:37 UTC',
    'Sun, 06 Nov 1994 08:49:37 +0000',
    'Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT',
    'sun, 06 nov 1994 08:49:37 gmt',
    'Sun, 6 Nov 1994 08:49:37 GMT',
    'Sun, 06 Now 1994 08:49:37 GMT',
    'Sun, 00 Nov 1994 08:49:37 GMT',
    'Sun, 32 Nov 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 24:49:37 GMT',
    'Sun, 06 Nov 1994 08:60:37 GMT',
    '784111777',
  ]
  for (const text of none) it(`not: ${text}`, () => assert.equal(httpDateMs(text, NOW), Number.NaN))
})

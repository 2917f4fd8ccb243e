/** What a page's text is on its way out of Chromium. That whole pages come out of it as they are, snapshot.test.ts says. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { runInNewContext } from 'node:vm'

import { AS_ASCII, type AsciiText, readAscii } from './snapshot.ts'

/** As in a Chromium that has `toBase64`, or in an older one. */
function write(text: string, hasBase64 = true): AsciiText {
  class Bytes extends Uint8Array {
    declare toBase64?: () => string
  }
  if (hasBase64)
    Bytes.prototype.toBase64 = function () {
      return Buffer.from(this).toString('base64')
    }
  return runInNewContext(`${AS_ASCII}; asAscii(text)`, { text, TextEncoder, Uint8Array: Bytes })
}

const LATIN = 'nothing but words. '.repeat(40)
const cases: Record<string, { text: string; form: AsciiText['form']; older?: AsciiText['form'] }> = {
  'nothing foreign': { text: `${LATIN}\x7f\0"\\`, form: 'plain' },
  'a sign here and there': { text: `${LATIN}“ü”…${LATIN}\u{1f600}`, form: 'escaped' },
  'half a pair': { text: `${LATIN}\ud83d`, form: 'escaped' },
  'what escapes begin with is there itself': { text: `${LATIN}\x7f00e4 ä`, form: 'base64', older: 'plain' },
  'another script': { text: '你好世界, привет'.repeat(20), form: 'base64', older: 'plain' },
}

for (const [name, { text, form, older = form }] of Object.entries(cases)) {
  it(`${name}: ${form}, and the same again`, () => {
    for (const [hasBase64, expected] of [
      [true, form],
      [false, older],
    ] as const) {
      const written = write(text, hasBase64)
      assert.equal(written.form, expected)
      if (expected !== 'plain') assert.match(written.text, /^[\0-\x7f]*$/)
      assert.equal(readAscii(written), text)
    }
  })
}

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readableLine } from '@prepaint/runtime/log.ts'

const line = (fields: object) =>
  readableLine(JSON.stringify({ time: '2026-11-15T12:30:07.123Z', level: 30, ...fields }))

it('is words and fields, with a level only where it is not the usual one', () => {
  assert.equal(line({ msg: 'ending', reason: 'SIGTERM' }), '12:30:07 ending (reason SIGTERM)\n')
  assert.equal(
    line({ level: 40, msg: 'odd', port: 1, of: ['a'] }),
    '12:30:07 warning: odd (port 1, of ["a"])\n',
  )
})

it('says what went wrong, and where for a fault', () => {
  assert.equal(line({ level: 40, msg: 'lost', err: 'gone' }), '12:30:07 warning: lost: gone\n')
  const err = { type: 'Error', message: 'gone', stack: 'Error: gone\n    at here' }
  assert.equal(line({ level: 40, msg: 'lost', err }), '12:30:07 warning: lost: gone\n')
  assert.equal(
    line({ level: 50, msg: 'lost', err }),
    '12:30:07 error: lost: gone\nError: gone\n    at here\n',
  )
})

it('lets no text of strangers steer the terminal', () => {
  const steering = 'a\u001b[2Jb\u0007\r\nc\u009b'
  for (const fields of [
    { msg: steering },
    { msg: '', page: steering },
    { level: 50, msg: '', err: { message: '', stack: steering } },
  ]) {
    assert.doesNotMatch(line(fields).replaceAll('\n', ''), /\p{Cc}/u)
  }
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { misspeltFields } from './misspelt-fields.ts'

it('a misspelt field is named with its line and what was meant', () => {
  assert.deepEqual(misspeltFields('User-agent: *\nDisalow: /cart\n  useragent : x'), [
    { line: 2, written: 'Disalow', meant: 'Disallow' },
    { line: 3, written: 'useragent', meant: 'User-agent' },
  ])
})

it('fields in any case, comments, blank lines and unknown fields are no mistakes', () => {
  const text =
    '# Disalow: /\n\nUSER-AGENT: *\ndisallow: /a\nContent-Signal: search=yes\nX-Own: 1\nDisallow /b'
  assert.deepEqual(misspeltFields(text), [])
})

it('a word with two wrong letters is a misspelt field, one with three is not', () => {
  assert.deepEqual(
    misspeltFields('Sitemaap: x\nSitxmxp: x\nSxtxmxp: x').map(({ line }) => line),
    [1, 2],
  )
})

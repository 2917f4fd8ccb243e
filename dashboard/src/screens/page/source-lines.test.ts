import assert from 'node:assert/strict'
import { it } from 'node:test'

import { sourceLines } from './source-lines.ts'

it('loses no text, and makes no line too long', () => {
  const sources = [
    '',
    'a\n\nb',
    `<p>${'x'.repeat(1_000)}</p>`,
    '<i></i>'.repeat(500),
    'x'.repeat(140),
    'x'.repeat(141),
  ]
  for (const source of sources) {
    const lines = sourceLines(source)
    assert.equal(
      lines.map(({ number, text }, at) => (number === null || at === 0 ? '' : '\n') + text).join(''),
      source,
    )
    assert(lines.every(({ text }) => text.length <= 140))
  }
})

it('breaks a line before a tag if one is near', () => {
  const [first] = sourceLines(`<p>${'x'.repeat(100)}</p><p>${'y'.repeat(100)}</p>`)
  assert.equal(first?.text, `<p>${'x'.repeat(100)}</p>`)
})

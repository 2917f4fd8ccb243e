/**
 * The contract is in docs/interface.md and docs/decided.md; docs/conformance.md
 * says of each of their statements which test proves it. Here: that it leaves
 * none out, and that what it names exists.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'

import { cellsOf, statementsOf } from './statements.ts'

const root = path.resolve(import.meta.dirname, '..', '..')
const read = (file: string) => readFileSync(path.join(root, file), 'utf8')

type Row = { statement: string; proofs: string[] }

const sections = Object.fromEntries(
  read('docs/conformance.md')
    .split(/^## /m)
    .slice(1)
    .map((section) => [/^`([^`]+)`/.exec(section)?.[1] ?? '', rowsOf(section)]),
)

describe('docs/conformance.md', () => {
  for (const document of ['docs/interface.md', 'docs/decided.md']) {
    it(`has every statement of ${document}, in its order and its words`, () => {
      const statements = statementsOf(read(document))
      assert(statements.length > 20)
      assert.deepEqual(
        sections[document]?.map(({ statement }) => statement),
        statements,
      )
    })
  }

  it('names tests that exist, or says why there is nothing to prove', () => {
    const unproved = Object.values(sections)
      .flat()
      .filter(
        ({ proofs }) =>
          !proofs.every((proof) => isTest(proof) || /^(nothing to prove|not yet): ./.test(proof)),
      )
    assert.deepEqual(unproved, [])
  })

  it('proves nearly everything', () => {
    const rows = Object.values(sections).flat()
    const without = rows.filter(({ proofs }) => !proofs.some(isTest))
    // About the document itself, or that there is nothing. One more needs a look.
    assert(without.length <= 8, without.map(({ statement }) => statement).join('\n'))
  })
})

it('statements: rows without their head, sentences of prose and lists; no headings, no introductions', () => {
  const text = [
    '# Title',
    'One. Two `a.b`. "Three" here.',
    'Rules:',
    '',
    '- four, e.g. this;',
    '12. Five. Six: seven.',
    '| head | head |',
    '|---|---|',
    '| a | `x \\| y` |',
  ].join('\n')
  assert.deepEqual(statementsOf(text), [
    'One.',
    'Two `a.b`.',
    '"Three" here.',
    'four, e.g. this;',
    'Five.',
    'Six: seven.',
    'a · `x | y`',
  ])
})

/** `` `file` "title of a test" ``, where the file has that title as a literal, or as the beginning of one. */
function isTest(proof: string): boolean {
  const [, file, title] = /^`([\w./-]+\.test\.ts)` "(.+)"$/.exec(proof) ?? []
  if (file === undefined || title === undefined || !existsSync(path.join(root, file))) return false
  const text = read(file)
  return [`'${title}'`, `"${title}"`, `\`${title}`].some((literal) => text.includes(literal))
}

function rowsOf(section: string): Row[] {
  return section
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| statement |'))
    .map(cellsOf)
    .map(([statement = '', proofs = '']) => ({ statement, proofs: proofs.split('<br>') }))
}

/**
 * The contract is in docs/interface.md and docs/decided.md. Tests say which of its statements they prove, in a comment
 * above them; `node test/conformance/table.ts` prints the table. Here: every statement has a test.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { contractOf, proofsIn, readProofs, statementsOf } from './statements.ts'

/** About the documents themselves, or that there is nothing. */
const NOTHING_TO_PROVE = [
  'interface "It is a single document."',
  'interface "The base address is `{base_url}`."',
  'interface 6/1',
  'interface 6/2',
  'interface 7/16',
  'interface 9/1',
  'decided "`docs/interface.md` is the contract of the HTTP interface."',
  'decided "Where it says nothing, this holds."',
]

describe('the contract', () => {
  const proofs = readProofs()
  const proved = new Set(proofs.map(({ document, id }) => `${document} ${id}`))

  for (const document of ['interface', 'decided']) {
    const statements = contractOf(document)

    it(`docs/${document}.md: every statement has a test`, () => {
      assert(statements.length > 20)
      assert.equal(new Set(statements.map(({ id }) => id)).size, statements.length)
      const unproved = statements.filter(({ id }) => !proved.has(`${document} ${id}`))
      assert.deepEqual(
        unproved.map(({ id }) => `${document} ${id}`).filter((id) => !NOTHING_TO_PROVE.includes(id)),
        [],
      )
    })

    it(`docs/${document}.md: no test proves a statement that does not exist`, () => {
      const ids = new Set(statements.map(({ id }) => id))
      const lost = proofs.filter((proof) => proof.document === document && !ids.has(proof.id))
      assert.deepEqual(lost, [])
    })
  }

  it('each comment stands above a test with a title', () => {
    assert(proofs.length > 300)
    assert.deepEqual(
      proofs.filter(({ title }) => title === ''),
      [],
    )
  })
})

it('statements: rows without their head, sentences of prose and lists; no headings, no introductions', () => {
  const text = [
    '# Title',
    '## 2. Section',
    'One. Two `a.b`. "Three" here.',
    'Rules:',
    '',
    '- four, e.g. this;',
    '12. Five. Six: seven.',
    '### 2.1 Part',
    '| head | head |',
    '|---|---|',
    '| a | `x \\| y` |',
  ].join('\n')
  assert.deepEqual(
    statementsOf(text).map(({ id, text }) => `${id} ${text}`),
    [
      '2/1 One.',
      '2/2 Two `a.b`.',
      '2/3 "Three" here.',
      '2/4 four, e.g. this;',
      '2/5 Five.',
      '2/6 Six: seven.',
      '2.1/1 a · `x | y`',
    ],
  )
  assert.equal(statementsOf('| question | decision |\n|---|---|\n| Names | lower case |')[0]?.id, '"Names"')
})

it('proofs: the comment above a test, with the title of that test', () => {
  const text = [
    '  // Proves interface 4.1/3, interface 7/2',
    '  // Proves decided "Domain names"',
    "  it('201: it is there', () => {",
  ].join('\n')
  assert.deepEqual(
    proofsIn('a.test.ts', text).map(({ document, id, title }) => `${document} ${id} ${title}`),
    [
      'interface 4.1/3 201: it is there',
      'interface 7/2 201: it is there',
      'decided "Domain names" 201: it is there',
    ],
  )
})

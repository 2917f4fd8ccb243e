/**
 * The contract is in docs/interface.md and docs/decided.md. Tests say which of its statements they prove, in a comment
 * above them; `node test/conformance/table.ts` prints the table. Here: every statement has a test.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { contractOf, readProofs } from './statements.ts'

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

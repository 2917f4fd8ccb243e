/**
 * The contract is in docs/interface.md and docs/decided.md. Tests say which of its statements they prove, in a comment
 * above them; `node test/conformance/statements.ts` prints the table. Here: every statement has a test.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'

import { contractOf, DOCUMENTS, readProofs } from './statements.ts'

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

const proofs = readProofs()

for (const document of DOCUMENTS) {
  it(`docs/${document}.md: every statement has a test, and no test proves one that does not exist`, () => {
    const ids = contractOf(document).map(({ id }) => `${document} ${id}`)
    assert(ids.length > 20)
    assert.equal(new Set(ids).size, ids.length)
    const own = proofs.filter((proof) => proof.document === document)
    const proved = own.map(({ id }) => `${document} ${id}`)
    const unproved = ids.filter((id) => !proved.includes(id) && !NOTHING_TO_PROVE.includes(id))
    assert.deepEqual(unproved, [])
    const lost = proved.filter((id) => !ids.includes(id))
    assert.deepEqual(lost, [])
  })
}

it('each comment stands above a test with a title', () => {
  assert(proofs.length > 300)
  const untitled = proofs.filter(({ title }) => title === '')
  assert.deepEqual(untitled, [])
})

/** Prints each statement of the contract with the tests that prove it, as Markdown. */
import { contractOf, readProofs } from './statements.ts'

const proofs = readProofs()
for (const document of ['interface', 'decided']) {
  console.log(`## \`docs/${document}.md\`\n\n| statement | tests |\n|---|---|`)
  for (const { id, text } of contractOf(document)) {
    const own = proofs.filter((proof) => proof.document === document && proof.id === id)
    const tests = own.map(({ file, title }) => `\`${file}\` "${title}"`).join('<br>')
    console.log(`| ${text.replaceAll('|', '\\|')} | ${tests || 'nothing to prove'} |`)
  }
  console.log()
}

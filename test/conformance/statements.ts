/** The statements of the contract and the tests that prove them. As a program: the table of both, as Markdown. */
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** A sentence of prose or of a list, or a row of a table. */
export type Statement = {
  /** Section and number in it (`4.1/3`), or the first cell of its row in a document without numbers. */
  id: string
  text: string
}

/** A test says so in the comment above it: `// Proves interface 4.1/3, interface 7/2`. */
export type Proof = { document: string; id: string; file: string; title: string }

const root = path.resolve(import.meta.dirname, '../..')
export const DOCUMENTS = ['interface', 'decided']

/** The statements of docs/<document>.md. Headings, and sentences that only introduce what follows, promise nothing. */
export function contractOf(document: string): Statement[] {
  const lines = readFileSync(path.join(root, 'docs', `${document}.md`), 'utf8').split('\n')
  let section: string | undefined
  let count = 0
  return lines.flatMap((line, index) => {
    const heading = /^#+ ([\d.]*\d)?/.exec(line)
    if (heading?.[1] !== undefined) [section, count] = [heading[1], 0]
    const isHead = line.startsWith('|---') || lines[index + 1]?.startsWith('|---')
    if (line.trim() === '' || heading !== null || isHead) return []
    // A bar that belongs to a cell is `\|`.
    const cells = line.split(/ *(?<!\\)\| */).map((cell) => cell.replaceAll('\\|', '|'))
    const row = { name: cells[1]!, text: cells.slice(1, -1).join(' · ') }
    const sentences = line.replace(/^(?:- |\d+\. )/, '').split(/(?<=[.])\s+(?=[A-Z`{"])/)
    const promises = sentences.filter((text) => !text.endsWith(':')).map((text) => ({ name: text, text }))
    return (line.startsWith('|') ? [row] : promises).map(({ name, text }) => {
      count++
      return { id: section === undefined ? `"${name}"` : `${section}/${count}`, text }
    })
  })
}

const PROVES = /^\s*\/\/ Proves (.+)$/

/** All proofs in the tests of the project. */
export function readProofs(): Proof[] {
  const files = globSync('{src,bin,test,examples}/**/*.test.ts', { cwd: root })
  return files.sort().flatMap((file) => {
    const lines = readFileSync(path.join(root, file), 'utf8').split('\n')
    return lines.flatMap((line, index) => {
      const rest = lines.slice(index + 1).filter((next) => !PROVES.test(next))
      const said = PROVES.exec(line)?.[1] ?? ''
      return [...said.matchAll(/(interface|decided) ([\d.]+\/\d+|"[^"]+")/g)].map(([, document, id]) => ({
        ...{ document: document!, id: id!, file },
        title: /(['"`])((?:(?!\1).|\\.)+)\1/.exec(rest.join('\n'))?.[2] ?? '',
      }))
    })
  })
}

if (import.meta.main) {
  const proofs = readProofs()
  for (const document of DOCUMENTS) {
    console.log(`## \`docs/${document}.md\`\n\n| statement | tests |\n|---|---|`)
    for (const { id, text } of contractOf(document)) {
      const own = proofs.filter((proof) => proof.document === document && proof.id === id)
      const tests = own.map(({ file, title }) => `\`${file}\` "${title}"`).join('<br>')
      console.log(`| ${text.replaceAll('|', '\\|')} | ${tests || 'nothing to prove'} |`)
    }
  }
}

import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** One thing that a document promises: a sentence of prose or of a list, or a row of a table. */
export type Statement = {
  /** Where it stands: section and number in it (`4.1/3`), or the first cell of its row in a document without numbers. */
  id: string
  text: string
}

/**
 * Takes a Markdown document apart. Of a table, each row but the head is one statement, its cells joined by ` · `; of
 * everything else, each sentence. Headings, and sentences that only introduce what follows, promise nothing.
 */
export function statementsOf(markdown: string): Statement[] {
  const lines = markdown.split('\n')
  let section: string | null = null
  let count = 0
  return lines.flatMap((line, index) => {
    const heading = /^#+ ([\d.]*\d)?/.exec(line)
    if (heading) {
      if (heading[1] !== undefined) {
        section = heading[1]
        count = 0
      }
    }
    if (line.trim() === '' || heading) return []
    if (!line.startsWith('|'))
      return sentencesOf(line.replace(/^(?:- |\d+\. )/, '')).map((text) => numbered(text))
    const isHead = lines[index + 1]?.startsWith('|---') === true || line.startsWith('|---')
    if (isHead) return []
    const cells = cellsOf(line)
    return [numbered(cells.join(' · '), cells[0])]
  })

  function numbered(text: string, name?: string): Statement {
    count++
    return { id: section === null ? `"${name ?? text}"` : `${section}/${count}`, text }
  }
}

/** Cells of a row, without the bars and the blanks around them. A bar that belongs to a cell is `\|`. */
function cellsOf(row: string): string[] {
  return row
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'))
}

function sentencesOf(text: string): string[] {
  const sentences = text.trim().split(/(?<=[.])\s+(?=[A-Z`{"])/)
  return sentences.filter((sentence) => !sentence.endsWith(':'))
}

/** A test that proves statements. It says so in the comment above it: `// Proves interface 4.1/3, interface 7/2`. */
export type Proof = { document: string; id: string; file: string; title: string }

const PROVES = /^\s*\/\/ Proves (.+)$/

/** The proofs in the text of one test file. */
export function proofsIn(file: string, text: string): Proof[] {
  const lines = text.split('\n')
  return lines.flatMap((line, index) => {
    const said = PROVES.exec(line)?.[1]
    if (said === undefined) return []
    const rest = lines.slice(index + 1).filter((next) => !PROVES.test(next))
    const title = /(['"`])((?:(?!\1).|\\.)+)\1/.exec(rest.join('\n'))?.[2] ?? ''
    return [...said.matchAll(/(interface|decided) ([\d.]+\/\d+|"[^"]+")/g)].map(([, document, id]) => ({
      document: document!,
      id: id!,
      file,
      title,
    }))
  })
}

const root = path.resolve(import.meta.dirname, '../..')

/** All proofs in the tests of the project. */
export function readProofs(): Proof[] {
  const files = globSync(
    ['src/**/*.test.ts', 'bin/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
    { cwd: root },
  )
  return files
    .filter((file) => !file.startsWith('test/conformance/'))
    .sort()
    .flatMap((file) => proofsIn(file, readFileSync(path.join(root, file), 'utf8')))
}

/** The statements of docs/<document>.md. */
export function contractOf(document: string): Statement[] {
  return statementsOf(readFileSync(path.join(root, 'docs', `${document}.md`), 'utf8'))
}

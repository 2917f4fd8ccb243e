/**
 * Every statement of the contract has a test: docs/interface.md and docs/decided.md, and comments like
 * `// Proves interface 4.1/3, interface 7/2` above tests. With `--table`, a program that prints both, as Markdown.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'

const root = path.resolve(import.meta.dirname, '../..')
const DOCUMENTS = ['interface', 'decided']

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

/**
 * The statements of docs/<document>.md: sentences, and rows of tables. `id`: section and number in it (`4.1/3`), or the
 * first cell or sentence where there are no numbers. Headings, and sentences that end with a colon, promise nothing.
 */
function contractOf(document: string) {
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

function readProofs() {
  const files = globSync('{packages,bin,test,examples}/**/*.test.ts', { cwd: root })
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

if (process.argv.includes('--table')) {
  for (const document of DOCUMENTS) {
    console.log(`## \`docs/${document}.md\`\n\n| statement | tests |\n|---|---|`)
    for (const { id, text } of contractOf(document)) {
      const own = proofs.filter((proof) => proof.document === document && proof.id === id)
      const tests = own.map(({ file, title }) => `\`${file}\` "${title}"`).join('<br>')
      console.log(`| ${text.replaceAll('|', '\\|')} | ${tests || 'nothing to prove'} |`)
    }
  }
}

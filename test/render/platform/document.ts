import { FEATURES } from './features.ts'

/** What was measured, by the column of docs/platform.md and the name of the feature. */
export type Measured = Readonly<Record<Column, Readonly<Record<string, string>>>>
export type Column = (typeof COLUMNS)[number]

export const COLUMNS = ['packaged shell', 'Debian’s shell', 'Debian’s Chromium', 'a render'] as const

const INTRODUCTION = `# What a page finds, feature by feature

A page asks its browser what it can do, and shows another page where something is missing. This table has what such questions are answered: by the packaged headless shell, by
Debian's headless shell and Debian's Chromium (both headless, by themselves), by Chrome on a person's desktop before the person has clicked or decided anything, and by a render, which
answers the same with each of the three. "Dismissed" is a prompt that the person closes. An error is given by its name.

A render answers as a person's browser does, unless the last column says why not. The probe page of the corpus asks all of it (\`test/render/platform/\`), and a test compares. Beside
this, [rendering](rendering.md#what-a-page-finds) says what became of pictures, films, fonts and workers. Phones differ where people's do: they touch, and have no viewer of PDF.

\`node tools/platform-table.ts --debian-shell PATH --debian-chromium PATH\` measures anew.
`

/** The whole document. Answers that were not measured are empty. */
export function documentOf(measured: Measured): string {
  const groups = Object.entries(FEATURES).map(([title, features]) => {
    const rows = Object.entries(features).map(([name, { person, why = '' }]) => {
      const [packaged, shell, chromium, render] = COLUMNS.map((column) => measured[column][name] ?? '')
      return row([name, packaged, shell, chromium, person, render, why])
    })
    const head = [
      'asked',
      'packaged shell',
      'Debian’s shell',
      'Debian’s Chromium',
      'a person',
      'a render',
      'why',
    ]
    return [`\n## ${title}\n`, row(head), `${'|---'.repeat(head.length)}|`, ...rows, ''].join('\n')
  })
  return INTRODUCTION + groups.join('')
}

/** Reads the answers of a document that `documentOf` has written. */
export function measuredIn(document: string): Measured {
  const measured = Object.fromEntries(COLUMNS.map((column) => [column, {} as Record<string, string>]))
  for (const line of document
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| asked |'))) {
    const [name = '', packaged = '', shell = '', chromium = '', _person, render = ''] = line
      .slice(2, -2)
      .split(' | ')
      .map((cell) => cell.replaceAll('\\|', '|'))
    for (const [at, answer] of [packaged, shell, chromium, render].entries()) {
      const column = measured[COLUMNS[at]!]
      if (column !== undefined) column[name] = answer
    }
  }
  return measured as Measured
}

function row(cells: readonly (string | undefined)[]): string {
  return `| ${cells.map((cell = '') => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

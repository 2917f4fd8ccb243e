/** `node tools/configuration-doc.ts` writes the tables of the environment in docs/configuration.md anew, from bin/settings/table.ts. */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { SETTINGS, type Setting } from '../bin/settings/table.ts'

const FILE = path.resolve(import.meta.dirname, '../docs/configuration.md')
const HEADINGS = '| setting | default | meaning |\n|---|---|---|\n'

/** Replaces the table of each section that the settings name. Throws if the document lacks a section or its table. */
export function withTables(document: string): string {
  const sections = new Map<string, string[]>()
  for (const [name, setting] of Object.entries<Setting>(SETTINGS)) {
    const row = `| \`${name}\` | ${shownDefault(setting)} | ${setting.meaning} |\n`
    sections.set(setting.section, [...(sections.get(setting.section) ?? []), row])
  }
  let text = document
  for (const [title, rows] of sections) {
    const start = text.indexOf(`## ${title}\n`)
    const end = text.indexOf('\n## ', start)
    const table = text.indexOf(HEADINGS, start)
    if (start === -1 || table === -1 || table > end)
      throw new Error(`docs/configuration.md has no table in "${title}"`)
    const after = text.slice(table + HEADINGS.length).replace(/^(?:\|.*\n)*/, '')
    text = text.slice(0, table) + HEADINGS + rows.join('') + after
  }
  return text
}

function shownDefault({ default: value, defaultShown, unit }: Setting): string {
  if (defaultShown !== undefined) return defaultShown
  if (value === null) return 'not set'
  return unit === undefined ? `\`${value}\`` : `\`${value}\` ${unit}`
}

if (import.meta.main) writeFileSync(FILE, withTables(readFileSync(FILE, 'utf8')))

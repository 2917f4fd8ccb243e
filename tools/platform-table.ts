/**
 * `node tools/platform-table.ts [--debian-shell PATH] [--debian-chromium PATH]` measures what browsers and renders answer to
 * the questions of test/render/platform/features.ts, and writes docs/platform.md anew. Columns of browsers that are not
 * given stay as they are.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { findBrowser } from '@prepaint/engine/browser-binary'
import { type Column, documentOf, measuredIn } from '../test/render/platform/document.ts'
import { plainAnswers } from '../test/render/platform/plain-answers.ts'
import { renderAnswers } from '../test/render/platform/render-answers.ts'
import { makeDataDir, removeDir } from '../test/support/data-dir.ts'
import { startTestRenderer } from '../test/support/renderer.ts'

const FILE = path.resolve(import.meta.dirname, '../docs/platform.md')

const { values } = parseArgs({
  options: { 'debian-shell': { type: 'string' }, 'debian-chromium': { type: 'string' } },
})
const measured: Record<Column, Readonly<Record<string, string>>> = {
  ...measuredIn(existsSync(FILE) ? readFileSync(FILE, 'utf8') : ''),
}
const dataDir = makeDataDir()
const packaged = await findBrowser({ chromium: null, dataDir, systemDirs: [] })
measured['packaged shell'] = await plainAnswers(packaged)
for (const [column, executable] of [
  ['Debian’s shell', values['debian-shell']],
  ['Debian’s Chromium', values['debian-chromium']],
] as const) {
  if (executable === undefined) continue
  measured[column] = await plainAnswers({ ...packaged, executable, libraryDir: null, fontsDir: null })
}
const renderer = await startTestRenderer({ chromium: packaged.executable, dataDir })
measured['a render'] = await renderAnswers(renderer)
await renderer.close()
removeDir(dataDir)
writeFileSync(FILE, documentOf(measured))

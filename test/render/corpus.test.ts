/** The first pages of each subject; corpus.long.test.ts has them all. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'
import { CORPUS } from './corpus.ts'
import { folderOf } from './corpus-page.ts'
import { testCorpus } from './corpus-run.ts'

const themes = Object.entries(CORPUS).map(([theme, pages]) => [theme, Object.entries(pages)] as const)
await testCorpus(
  Object.fromEntries(themes.map(([theme, pages]) => [theme, Object.fromEntries(pages.slice(0, 2))])),
)

const pages = themes.flatMap(([, pages]) => pages)

it('no two pages of the corpus are in one folder', () =>
  assert.equal(new Set(pages.map(([name]) => folderOf(name))).size, pages.length))

it('docs/rendering.md names every page of the corpus that is a limit, and no other', () => {
  const document = readFileSync(path.join(import.meta.dirname, '..', '..', 'docs', 'rendering.md'), 'utf8')
  const named = [...document.matchAll(/`corpus: (.+?)`/g)].map(([, name]) => name)
  const limits = pages.filter(([, { limit }]) => limit === true).map(([name]) => name)
  assert.deepEqual(named.sort(), limits.sort())
})

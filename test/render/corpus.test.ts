/** The first pages of each subject; corpus.long.test.ts has them all. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { CORPUS } from './corpus.ts'
import { folderOf } from './corpus-page.ts'
import { testCorpus } from './corpus-run.ts'

await testCorpus(
  Object.fromEntries(
    Object.entries(CORPUS).map(([theme, pages]) => [
      theme,
      Object.fromEntries(Object.entries(pages).slice(0, 2)),
    ]),
  ),
)

describe('the corpus itself', () => {
  const pages = Object.values(CORPUS).flatMap((theme) => Object.entries(theme))

  it('has no two pages in one folder', () =>
    assert.equal(new Set(pages.map(([name]) => folderOf(name))).size, pages.length))

  it('names in docs/rendering.md every page that is a limit, and no other', () => {
    const document = readFileSync(path.join(import.meta.dirname, '..', '..', 'docs', 'rendering.md'), 'utf8')
    const named = [...document.matchAll(/`corpus: (.+?)`/g)].map(([, name]) => name)
    const limits = pages.filter(([, { limit }]) => limit === true).map(([name]) => name)
    assert.deepEqual(named.sort(), limits.sort())
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RenderOutcome } from '@prepaint/contract/outcome/outcome.ts'
import { openRenderer } from '../support/renderer.ts'
import { type CorpusPage, folderOf, placePages, type Theme } from './corpus-page.ts'
import { judge, readableText } from './judge.ts'

/** Pages at once: more than cores, for many of them wait. */
const AT_ONCE = 4

/** Each page comes out as it has to, through a real browser and the real gateway; its snapshot, rendered again, reads the same. */
export async function testCorpus(themes: Readonly<Record<string, Theme>>): Promise<void> {
  const renderer = await openRenderer({ slots: AT_ONCE, timeoutMs: 15_000 })
  placePages(Object.values(themes).flatMap(Object.entries<CorpusPage>), renderer.routes, renderer.origin)

  /** What failed because of the browser or of a machine that is too busy is rendered once more. */
  async function rendered(path: string, domain: string, expected = 'rendered'): Promise<RenderOutcome> {
    const outcome = await renderer.page(path, { domain })
    const isFault = outcome.kind === 'crashed' || (outcome.kind === 'timed-out' && expected !== 'timed-out')
    return isFault ? renderer.page(path, { domain }) : outcome
  }

  async function testVisit(folder: string, { at = '', expect }: CorpusPage, domain: string): Promise<void> {
    const outcome = await rendered(folder + at, domain, expect.outcome)
    judge(outcome, expect)
    if (outcome.kind !== 'rendered') return
    renderer.routes.set(`${folder}its-snapshot`, outcome.html)
    const again = await rendered(`${folder}its-snapshot`, domain)
    assert(again.kind === 'rendered', `the snapshot, rendered: ${JSON.stringify(again).slice(0, 2_000)}`)
    assert.equal(readableText(again.html), readableText(outcome.html))
  }

  describe('corpus', { concurrency: AT_ONCE }, () => {
    for (const [theme, pages] of Object.entries(themes)) {
      for (const [name, page] of Object.entries(pages)) {
        it(`${theme}: ${name}`, async () => {
          const folder = folderOf(name)
          const domain = `${page.visits === undefined ? theme : folder.slice(1, -1)}.example`
          for (let visit = 0; visit < (page.visits ?? 1); visit++) await testVisit(folder, page, domain)
        })
      }
    }
  })
}

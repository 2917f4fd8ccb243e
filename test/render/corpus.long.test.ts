/**
 * Pages that are hard to render, each with what has to come of it, through a
 * real browser and the real gateway. test/render/corpus/ has them by subject.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { after, describe, it } from 'node:test'

import type { RenderOutcome } from '../../src/render/outcome.ts'
import { readableText } from '../apps/snapshot-text.ts'
import { startTestRenderer } from '../support/renderer.ts'
import { CORPUS } from './corpus.ts'
import { type CorpusPage, slugOf } from './corpus-page.ts'
import { judge } from './judge.ts'
import { speakWebSocket } from './web-socket.ts'

/** Pages at once: more than cores, for many of them wait. */
const AT_ONCE = 4

const renderer = await startTestRenderer({ slots: AT_ONCE, timeoutMs: 15_000 })
after(() => renderer.close())

const sockets = new Map<string, NonNullable<CorpusPage['sockets']>[string]>()
renderer.origin.on('upgrade', (request, socket) => {
  const speak = sockets.get(request.url ?? '')
  if (speak === undefined) socket.destroy()
  else speakWebSocket(request, socket, speak)
})

describe('corpus', { concurrency: AT_ONCE }, () => {
  for (const { theme, page } of CORPUS.flatMap((theme) => theme.pages.map((page) => ({ theme, page })))) {
    it(`${theme.name}: ${page.name}`, async () => {
      const folder = `/${slugOf(page)}/`
      const domain = `${page.visits === undefined ? theme.name : slugOf(page)}.example`
      for (const [name, answer] of Object.entries(page.routes)) renderer.routes.set(folder + name, answer)
      for (const [name, speak] of Object.entries(page.sockets ?? {})) sockets.set(folder + name, speak)

      for (let visit = 0; visit < (page.visits ?? 1); visit++) {
        const outcome = await rendered(folder + (page.at ?? ''), domain)
        judge(outcome, page.expect, `https://${domain}${folder}`)
        if (outcome.kind !== 'rendered') continue
        await rendersAlike(outcome, folder, domain)
      }
    })
  }
})

describe('the corpus itself', () => {
  const pages = CORPUS.flatMap((theme) => theme.pages)

  it('has no two pages in one folder', () => {
    const slugs = pages.map(slugOf)
    assert.deepEqual(
      slugs.filter((slug, at) => slugs.indexOf(slug) !== at),
      [],
    )
  })

  it('names in docs/rendering.md every page that is a limit, and no other', () => {
    const document = readFileSync(path.join(import.meta.dirname, '..', '..', 'docs', 'rendering.md'), 'utf8')
    const named = [...document.matchAll(/`corpus: (.+?)`/g)].map(([, name]) => name)
    const limits = pages.filter(({ limit }) => limit === true).map(({ name }) => name)
    assert.deepEqual(named.sort(), limits.sort())
  })
})

/** As the queue does it: what failed for the browser's own sake is rendered once more. */
async function rendered(path: string, domain: string): Promise<RenderOutcome> {
  const outcome = await renderer.page(path, { domain })
  return outcome.kind === 'crashed' ? renderer.page(path, { domain }) : outcome
}

/** A snapshot is a page like any other: rendered again, it reads the same. */
async function rendersAlike(
  { html }: Extract<RenderOutcome, { kind: 'rendered' }>,
  folder: string,
  domain: string,
): Promise<void> {
  renderer.routes.set(`${folder}its-snapshot`, html)
  const again = await rendered(`${folder}its-snapshot`, domain)
  assert.equal(again.kind, 'rendered', `the snapshot, rendered: ${JSON.stringify(again).slice(0, 2_000)}`)
  if (again.kind === 'rendered') assert.equal(readableText(again.html), readableText(html))
}

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'

import type { RenderOutcome } from '../../src/render/outcome.ts'
import { readableText } from '../apps/snapshot-text.ts'
import { startTestRenderer, type TestRenderer } from '../support/renderer.ts'
import { type CorpusPage, slugOf, type Theme } from './corpus-page.ts'
import { judge } from './judge.ts'
import { speakWebSocket } from './web-socket.ts'

/** Pages at once: more than cores, for many of them wait. */
const AT_ONCE = 4

/**
 * Each page comes out as it has to, through a real browser and the real gateway; its snapshot, rendered again, reads the
 * same.
 */
export async function testCorpus(themes: readonly Theme[]): Promise<void> {
  const renderer = await startTestRenderer({ slots: AT_ONCE, timeoutMs: 15_000 })
  after(() => renderer.close())

  const sockets = new Map<string, NonNullable<CorpusPage['sockets']>[string]>()
  renderer.origin.on('upgrade', (request, socket) => {
    const speak = sockets.get(request.url ?? '')
    if (speak === undefined) socket.destroy()
    else speakWebSocket(request, socket, speak)
  })

  describe('corpus', { concurrency: AT_ONCE }, () => {
    for (const { theme, page } of themes.flatMap((theme) => theme.pages.map((page) => ({ theme, page })))) {
      it(`${theme.name}: ${page.name}`, async () => {
        const folder = `/${slugOf(page)}/`
        const domain = `${page.visits === undefined ? theme.name : slugOf(page)}.example`
        for (const [name, answer] of Object.entries(page.routes)) renderer.routes.set(folder + name, answer)
        for (const [name, speak] of Object.entries(page.sockets ?? {})) sockets.set(folder + name, speak)

        for (let visit = 0; visit < (page.visits ?? 1); visit++) {
          const outcome = await rendered(renderer, folder + (page.at ?? ''), domain)
          judge(outcome, page.expect, `https://${domain}${folder}`)
          if (outcome.kind !== 'rendered') continue
          await rendersAlike(renderer, outcome, folder, domain)
        }
      })
    }
  })
}

/** As the queue does it: what failed for the browser's own sake is rendered once more. */
async function rendered(renderer: TestRenderer, path: string, domain: string): Promise<RenderOutcome> {
  const outcome = await renderer.page(path, { domain })
  return outcome.kind === 'crashed' ? renderer.page(path, { domain }) : outcome
}

/** A snapshot is a page like any other: rendered again, it reads the same. */
async function rendersAlike(
  renderer: TestRenderer,
  { html }: Extract<RenderOutcome, { kind: 'rendered' }>,
  folder: string,
  domain: string,
): Promise<void> {
  renderer.routes.set(`${folder}its-snapshot`, html)
  const again = await rendered(renderer, `${folder}its-snapshot`, domain)
  assert.equal(again.kind, 'rendered', `the snapshot, rendered: ${JSON.stringify(again).slice(0, 2_000)}`)
  if (again.kind === 'rendered') assert.equal(readableText(again.html), readableText(html))
}

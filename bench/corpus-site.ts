import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CORPUS } from '../test/render/corpus.ts'
import { type CorpusPage, folderOf, placePages } from '../test/render/corpus-page.ts'
import type { Answer } from '../test/support/renderer.ts'

/** The corpus of test/render/ as one site: its pages that must have text, by path. */
export async function openCorpus(): Promise<{
  originUrl: string
  pages: { path: string; page: CorpusPage }[]
  close(): Promise<void>
}> {
  const routes = new Map<string, Answer>()
  const pages = Object.values(CORPUS).flatMap(Object.entries<CorpusPage>)
  const origin = createServer((request, response) => {
    const url = request.url ?? ''
    const answer = routes.get(url) ?? routes.get(url.split('?')[0] ?? '')
    if (answer === undefined) response.writeHead(404).end()
    else if (typeof answer === 'function') answer(request, response)
    else response.setHeader('content-type', 'text/html; charset=utf-8').end(answer)
  })
  placePages(pages, routes, origin)
  origin.listen(0, '127.0.0.1')
  await once(origin, 'listening')
  return {
    originUrl: `http://127.0.0.1:${(origin.address() as AddressInfo).port}`,
    pages: pages
      .filter(([, { expect }]) => (expect.outcome ?? 'rendered') === 'rendered')
      .map(([name, page]) => ({ path: folderOf(name) + (page.at ?? ''), page })),
    async close() {
      const closed = once(origin, 'close')
      origin.close()
      origin.closeAllConnections()
      await closed
    },
  }
}

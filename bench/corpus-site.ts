import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CORPUS } from '../test/render/corpus.ts'
import { type CorpusPage, slugOf } from '../test/render/corpus-page.ts'
import { speakWebSocket } from '../test/render/web-socket.ts'
import type { Answer } from '../test/support/renderer.ts'

/** The corpus of test/render/ as one site: its pages that must have text, by path. */
export async function openCorpus(): Promise<{
  originUrl: string
  pages: { path: string; page: CorpusPage }[]
  close(): Promise<void>
}> {
  const routes = new Map<string, Answer>()
  const sockets = new Map<string, NonNullable<CorpusPage['sockets']>[string]>()
  const pages = CORPUS.flatMap((theme) => theme.pages)
  for (const page of pages) {
    const folder = `/${slugOf(page)}/`
    for (const [name, answer] of Object.entries(page.routes)) routes.set(folder + name, answer)
    for (const [name, speak] of Object.entries(page.sockets ?? {})) sockets.set(folder + name, speak)
  }
  const origin = createServer((request, response) => {
    const url = request.url ?? ''
    const answer = routes.get(url) ?? routes.get(url.split('?')[0] ?? '')
    if (answer === undefined) response.writeHead(404).end()
    else if (typeof answer === 'function') answer(request, response)
    else response.setHeader('content-type', 'text/html; charset=utf-8').end(answer)
  })
  origin.on('upgrade', (request, socket) => {
    const speak = sockets.get(request.url ?? '')
    if (speak === undefined) socket.destroy()
    else speakWebSocket(request, socket, speak)
  })
  origin.listen(0, '127.0.0.1')
  await once(origin, 'listening')
  return {
    originUrl: `http://127.0.0.1:${(origin.address() as AddressInfo).port}`,
    pages: pages
      .filter(({ expect }) => (expect.outcome ?? 'rendered') === 'rendered')
      .map((page) => ({ path: `/${slugOf(page)}/${page.at ?? ''}`, page })),
    async close() {
      const closed = once(origin, 'close')
      origin.close()
      origin.closeAllConnections()
      await closed
    },
  }
}

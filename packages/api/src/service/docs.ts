import type { ApiApp } from '../http/app.ts'
import { docsPage, pageStyle, type ReadableDocument } from './docs-page.ts'

/** Public: contains no more than the source code. */
export function docs(app: ApiApp): void {
  const { style, policy } = pageStyle()
  let page: string | undefined

  app.route({
    method: 'GET',
    url: '/docs',
    config: { access: 'open' },
    schema: { hide: true },
    handler: async (_request, reply) => {
      page ??= docsPage(app.swagger() as ReadableDocument, style)
      return reply.type('text/html; charset=utf-8').header('Content-Security-Policy', policy).send(page)
    },
  })

  app.route({
    method: 'GET',
    url: '/openapi.json',
    config: { access: 'open' },
    schema: { hide: true },
    handler: async (_request, reply) => reply.type('application/json; charset=utf-8').send(app.swagger()),
  })
}

import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { ApiApp } from '../http/app.ts'
import { pagePolicy } from '../pages/source.ts'
import { docsPage, type ReadableDocument } from './docs-page.ts'

const STYLE_FILE = path.join(import.meta.dirname, 'docs-page.css')

/**
 * A page to read the OpenAPI document: made here, without script and without
 * anything from elsewhere; the policy names the one style sheet by its hash.
 */
export function docs(app: ApiApp): void {
  const style = readFileSync(STYLE_FILE, 'utf8')
  const policy = pagePolicy(style)
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
}

/** The OpenAPI document of all routes. It needs no key: it holds nothing that the source does not. */
export function openApiDocument(app: ApiApp): void {
  app.route({
    method: 'GET',
    url: '/openapi.json',
    config: { access: 'open' },
    schema: { hide: true },
    handler: async (_request, reply) => reply.type('application/json; charset=utf-8').send(app.swagger()),
  })
}

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'

import type { ApiApp } from '../app.ts'
import { docsPage, type ReadableDocument } from '../docs-page.ts'

const STYLE_FILE = path.join(import.meta.dirname, '..', 'docs-page.css')

/**
 * A page to read the OpenAPI document: made here, without script and without
 * anything from elsewhere; the policy names the one style sheet by its hash.
 */
export function docs(app: ApiApp): void {
  const style = readFileSync(STYLE_FILE, 'utf8')
  const hash = createHash('sha256').update(style).digest('base64')
  let page: string | undefined

  app.route({
    method: 'GET',
    url: '/docs',
    config: { access: 'open' },
    schema: { hide: true },
    handler: async (_request, reply) => {
      page ??= docsPage(app.swagger() as ReadableDocument, style)
      return reply
        .type('text/html; charset=utf-8')
        .header(
          'Content-Security-Policy',
          `default-src 'none'; style-src 'sha256-${hash}'; frame-ancestors 'none'`,
        )
        .send(page)
    },
  })
}

import { readFileSync } from 'node:fs'
import path from 'node:path'

import type { ApiApp } from '../app.ts'
import { botPage } from '../bot-page.ts'
import { pagePolicy } from '../page-policy.ts'

const STYLE_FILE = path.join(import.meta.dirname, '..', 'docs-page.css')

/** The page that the user agent of renders points at. */
export function bot(app: ApiApp, about: { version: string; contact: string | null }): void {
  const style = readFileSync(STYLE_FILE, 'utf8')
  const page = botPage(about, style)
  const policy = pagePolicy(style)

  app.route({
    method: 'GET',
    url: '/bot',
    config: { access: 'open' },
    schema: { hide: true },
    handler: async (_request, reply) =>
      reply.type('text/html; charset=utf-8').header('Content-Security-Policy', policy).send(page),
  })
}

import path from 'node:path'

import type { FastifyReply, FastifyRequest } from 'fastify'

import { chooseEncoding } from '../../http/accept-encoding.ts'
import type { ApiApp } from '../app.ts'
import { type DashboardFile, readDashboard } from '../dashboard-files.ts'

/** Where `npm run build` puts the dashboard. */
export const DASHBOARD_DIR = path.join(import.meta.dirname, '..', '..', '..', 'dashboard', 'dist')

/** Its pages: each is the same document, whose script shows what the address names. Those of the dashboard's route map. */
export const DASHBOARD_PAGES = [
  '/welcome',
  '/sign-in',
  '/domains',
  '/domains/:domain',
  '/domains/:domain/cache',
  '/domains/:domain/pages',
  '/domains/:domain/renders',
  '/domains/:domain/settings',
  '/domains/:domain/tokens',
  '/domains/:domain/traffic',
  '/traffic',
  '/keys',
  '/plan',
  '/account',
  '/forgotten-password',
  '/operator/accounts',
  '/operator/nodes',
  '/operator/queue',
  '/operator/failures',
] as const

/**
 * Nothing but what we serve ourselves: no inline script or style, no `eval`, no
 * other host, no frame, no form that a browser sends by itself.
 */
export const DASHBOARD_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const NOT_BUILT = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>The dashboard has not been built</title>
<h1>The dashboard has not been built</h1>
<p>Run <code>npm run build</code> where Prepaint is installed, then start it again. Everything else works meanwhile:
<a href="/docs">the HTTP interface</a>, the command line, and the edge.</p>
</html>
`

/** The dashboard: `/` leads to it. Each file is a route of its own, so there is no path to get out by. */
export function dashboard(app: ApiApp, options: { dashboardDir?: string | undefined }): void {
  const built = readDashboard(options.dashboardDir ?? DASHBOARD_DIR)

  for (const file of built?.others ?? []) {
    app.route({ ...OPEN, url: file.url, handler: (request, reply) => sendFile(request, reply, file) })
  }
  for (const url of DASHBOARD_PAGES) {
    app.route({
      ...OPEN,
      url,
      handler: (request, reply) => {
        if (built !== null) return sendFile(request, reply, built.index)
        return reply.code(503).type('text/html; charset=utf-8').send(NOT_BUILT)
      },
    })
  }
  app.route({ ...OPEN, url: '/', handler: (_request, reply) => reply.redirect('/domains') })
}

const OPEN = { method: 'GET', config: { access: 'open' }, schema: { hide: true } } as const

function sendFile(request: FastifyRequest, reply: FastifyReply, file: DashboardFile): FastifyReply {
  const encoding = chooseEncoding(request.headers['accept-encoding'], [...file.forms.keys()])
  const { body, etag } = file.forms.get(encoding)!
  reply.headers({
    'Content-Security-Policy': DASHBOARD_POLICY,
    // A name with a hash is never given to other content; of the rest a browser asks each time.
    'Cache-Control': file.isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
    Vary: 'Accept-Encoding',
    ETag: etag,
  })
  if (isKnown(request.headers['if-none-match'], etag)) return reply.code(304).send()
  if (encoding !== 'identity') reply.header('Content-Encoding', encoding)
  return reply.type(file.type).send(body)
}

/** RFC 9110, 13.1.2: compared weakly; no entry of ours holds a comma. */
function isKnown(header: string | undefined, etag: string): boolean {
  return (header ?? '').split(',').some((each) => [etag, `W/${etag}`, '*'].includes(each.trim()))
}

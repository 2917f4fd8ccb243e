import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'
import { mediaTypeWeight, parseAccept } from '@prepaint/runtime/http/accept.ts'
import { chooseEncoding, type Encoding } from '@prepaint/runtime/http/accept-encoding.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ApiApp } from '../http/app.ts'
import type { MissingPage } from '../http/errors.ts'

export const DASHBOARD_DIR = path.resolve(import.meta.dirname, '../../../../dashboard/dist')

/** All serve the same document. Must match the dashboard's route map. */
export const DASHBOARD_PAGES = [
  '/welcome',
  '/sign-in',
  '/sign-in/confirmed',
  '/domains',
  '/domains/add',
  '/domains/:domain',
  '/domains/:domain/pages',
  '/domains/:domain/renders',
  '/domains/:domain/settings',
  '/domains/:domain/settings/:page',
  '/domains/:domain/traffic',
  '/domains/:domain/cache',
  '/domains/:domain/crawlers',
  '/domains/:domain/site-files',
  '/domains/:domain/tokens',
  '/traffic',
  '/incidents',
  '/notifications',
  '/report',
  '/reports',
  '/reports/:month',
  '/confirm',
  '/keys',
  '/members',
  '/share-links',
  '/shared',
  '/audit-log',
  '/plan',
  '/account',
  '/account/security',
  '/forgotten-password',
  '/operator/accounts',
  '/operator/nodes',
  '/operator/queue',
  '/operator/failures',
] as const

const PAGE_PATTERNS = DASHBOARD_PAGES.map((page) => new RegExp(`^${page.replaceAll(/:\w+/g, '[\\w.-]+')}$`))

/** Whether it is the path of a page of the dashboard, and nothing else. */
export function isDashboardPage(path: string): boolean {
  return PAGE_PATTERNS.some((pattern) => pattern.test(path))
}

/** Allows only our own files: no inline code, `eval`, other hosts, frames or form submissions. */
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

/** The policy of the API reference, whose viewer has icons in its style sheet. */
export const API_REFERENCE_POLICY = DASHBOARD_POLICY.replace("img-src 'self'", "img-src 'self' data:")

const NOT_BUILT = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>The dashboard has not been built</title>
<h1>The dashboard has not been built</h1>
<p>Run <code>npm run build</code> in the checkout, then start it again. Everything else works meanwhile:
<a href="/openapi.json">the HTTP interface</a>, the command line, and the edge.</p>
</html>
`

/** Each file is a separate route, so path traversal is impossible. `built` is null if the dashboard has not been built. */
export function dashboard(app: ApiApp, built: Dashboard | null): void {
  for (const file of built?.others ?? []) {
    app.route({
      ...OPEN,
      url: file.url,
      handler: (request, reply) => sendFile(request, reply, file, DASHBOARD_POLICY),
    })
  }
  for (const url of DASHBOARD_PAGES) {
    app.route({
      ...OPEN,
      url,
      handler: (request, reply) => {
        // What a link shows is for those who have it. The document says so, too.
        if (url === '/shared') reply.header('X-Robots-Tag', 'noindex')
        if (built !== null) return sendFile(request, reply, built.index, DASHBOARD_POLICY)
        return reply.code(503).type('text/html; charset=utf-8').send(NOT_BUILT)
      },
    })
  }
  app.route({
    ...OPEN,
    url: '/docs',
    handler: (request, reply) => {
      if (built === null) return reply.redirect('/openapi.json')
      return sendFile(request, reply, built.apiReference, API_REFERENCE_POLICY)
    },
  })
  app.route({ ...OPEN, url: '/', handler: (_request, reply) => reply.redirect('/domains') })
}

/**
 * A browser that asks for an address that does not exist gets the dashboard with 404, which says so. Programs get JSON,
 * and so does every client below `/api`.
 */
export function missingPageOf(built: Dashboard | null): MissingPage {
  return (request, reply) => {
    if (built === null || !isForPeople(request)) return null
    reply.code(404)
    return sendFile(request, reply, built.index, DASHBOARD_POLICY)
  }
}

const NO_PAGES = /^\/(?:api|assets)(?:[/?]|$)/

/** Programs accept anything, or name no type. */
function isForPeople({ method, url, headers }: FastifyRequest): boolean {
  if ((method !== 'GET' && method !== 'HEAD') || NO_PAGES.test(url)) return false
  const accepted = parseAccept(headers.accept ?? '')
  return mediaTypeWeight(accepted, 'text/html') > mediaTypeWeight(accepted, 'application/json')
}

const OPEN = { method: 'GET', config: { access: 'open' }, schema: { hide: true } } as const

function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: DashboardFile,
  policy: string,
): FastifyReply {
  const forms = file.forms()
  const encoding = chooseEncoding(request.headers['accept-encoding'], [...forms.keys()])
  const { body, etag } = forms.get(encoding)!
  reply.headers({
    'Content-Security-Policy': policy,
    // Content of hashed names never changes; browsers revalidate the others.
    'Cache-Control': file.isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
    Vary: 'Accept-Encoding',
    ETag: etag,
  })
  const isSuccess = reply.statusCode === 200
  if (isSuccess && isKnown(request.headers['if-none-match'], etag)) return reply.code(304).send()
  if (encoding !== 'identity') reply.header('Content-Encoding', encoding)
  return reply.type(file.type).send(body)
}

/** Weak comparison (RFC 9110, section 13.1.2). Our ETags contain no comma. */
function isKnown(header: string | undefined, etag: string): boolean {
  return (header ?? '').split(',').some((each) => [etag, `W/${etag}`, '*'].includes(each.trim()))
}

class DashboardFile {
  readonly url: string
  readonly type: string
  /** The name changes with the content. */
  readonly isHashed: boolean
  readonly #file: string
  #forms: ReadonlyMap<Encoding, DashboardForm> | null = null

  /** Throws for an unknown file type. */
  constructor(dir: string, file: string) {
    const type = TYPES[path.extname(file)]
    if (type === undefined) throw new Error(`${file} is no file of a dashboard`)
    this.url = `/${path.relative(dir, file).split(path.sep).join('/')}`
    this.type = type
    this.isHashed = this.url.startsWith('/assets/')
    this.#file = file
  }

  /** Preferred first. Reads the file at the first call, so that no start waits for it. */
  forms(): ReadonlyMap<Encoding, DashboardForm> {
    this.#forms ??= readForms(this.#file)
    return this.#forms
  }
}

/** `etag` is strong: each encoding has its own (RFC 9110, section 8.8.3). */
type DashboardForm = { body: Buffer; etag: string }

export type Dashboard = {
  index: DashboardFile
  apiReference: DashboardFile
  others: readonly DashboardFile[]
}

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const COMPRESSED = { '.br': 'br', '.gz': 'gzip' } as const satisfies Record<string, Encoding>

/** Returns null if it is not built. Throws for an unknown file type. */
export function findDashboard(dir: string): Dashboard | null {
  if (!existsSync(dir)) return null
  const files = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .map((file) => (path.extname(file) in COMPRESSED ? file.slice(0, -3) : file))
  const all = [...new Set(files)].map((file) => new DashboardFile(dir, file))
  const index = all.find(({ url }) => url === '/index.html')
  const apiReference = all.find(({ url }) => url === '/api-reference.html')
  if (index === undefined || apiReference === undefined) return null
  return { index, apiReference, others: all.filter((file) => file !== index && file !== apiReference) }
}

function readForms(file: string): ReadonlyMap<Encoding, DashboardForm> {
  const forms = new Map<Encoding, DashboardForm>()
  for (const [ending, encoding] of Object.entries(COMPRESSED)) {
    if (existsSync(file + ending)) forms.set(encoding, formOf(readFileSync(file + ending)))
  }
  // The npm package leaves out what it has as gzip.
  forms.set(
    'identity',
    formOf(existsSync(file) ? readFileSync(file) : gunzipSync(readFileSync(`${file}.gz`))),
  )
  return forms
}

function formOf(body: Buffer): DashboardForm {
  return { body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` }
}

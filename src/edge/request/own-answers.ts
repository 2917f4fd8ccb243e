import { createHash } from 'node:crypto'
import { pipeline } from 'node:stream/promises'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import type { Clock } from '../../clock.ts'
import type { Queryable } from '../../db/transaction.ts'
import { requestIdOf } from '../../http/request-id.ts'
import type { Log } from '../../log.ts'
import { byName } from '../../outbound/headers.ts'
import { judgeCrawler } from '../../site-files/judge-crawler.ts'
import { isRobots, type OriginRobots } from '../../site-files/origin-robots.ts'
import type { RedirectUses } from '../../site-files/redirect-uses.ts'
import { type CompiledRedirect, locationOf } from '../../site-files/redirects.ts'
import { isServedByUs, type RobotsFiles } from '../../site-files/robots-files.ts'
import {
  countListed,
  type SitemapSite,
  sitemapFile,
  sitemapIndex,
  URLS_A_FILE,
} from '../../site-files/sitemap.ts'
import { useName } from '../../site-files/stored-redirects.ts'
import { ROBOTS_LIMIT_BYTES } from '../../sitemaps/robots.ts'
import type { PassWatch } from '../origin/pass.ts'
import { sendPlainPage } from '../page/plain-page.ts'
import { isNotModified } from '../page/send-page.ts'
import type { EdgeRequest, EdgeResponse } from '../server/exchange.ts'
import type { EdgeDomain } from './domain.ts'
import type { OwnAnswer } from './target.ts'
import type { Verdict } from './verdict.ts'

type OwnAnswersParts = {
  clock: Clock
  log: Log
  redirectUses: Pick<RedirectUses, 'note'>
  robots: RobotsFiles
  db: Queryable
}

/** The owner's redirects and site files, for people and crawlers. */
export class OwnAnswers {
  readonly #parts: OwnAnswersParts

  constructor(parts: OwnAnswersParts) {
    this.#parts = parts
  }

  /** A watch: nothing was sent, and the request is passed on with it. null: nothing to do here. Never rejects. */
  async send(
    req: EdgeRequest,
    res: EdgeResponse,
    domain: EdgeDomain,
    own: OwnAnswer,
  ): Promise<Verdict | PassWatch | null> {
    const { clock, redirectUses } = this.#parts
    if (own.kind === 'redirect') {
      // Refused by the pass with 405.
      if (req.method === 'TRACE' || req.method === 'CONNECT') return null
      redirectUses.note(domain.id, useName(own.redirect), clock.nowMs())
      sendRedirect(req, res, own.redirect)
      return 'redirect'
    }
    if (req.method !== 'GET' && req.method !== 'HEAD') return null
    if (own.kind === 'robots') return this.#robots(req, res, domain)
    if (own.kind === 'sitemap') return this.#sitemap(req, res, domain, own.file)
    sendText(req, res, domain.indexNowKey ?? '')
    return 'site-file'
  }

  async #sitemap(
    req: EdgeRequest,
    res: EdgeResponse,
    domain: EdgeDomain,
    file: number | null,
  ): Promise<Verdict | null> {
    const { robots, db, clock, log } = this.#parts
    const { id, name, redirects, lifetimes } = domain
    const rules = await robots.rules(domain).catch(() => null)
    const lists = (path: string) =>
      redirects?.find(path.split('?', 1)[0]!) == null &&
      (rules === null || judgeCrawler(rules, 'Googlebot', path).allowed)
    const site = { id, name, sinceMs: clock.nowMs() - lifetimes.keepMs, lists }
    try {
      return await sendSitemap(db, { req, res, site, file })
    } catch (error) {
      log.error({ err: error, domain: name }, 'a sitemap could not be generated')
      sendPlainPage(res, 'unavailable', 'site-file')
      return 'site-file'
    }
  }

  async #robots(req: EdgeRequest, res: EdgeResponse, domain: EdgeDomain): Promise<Verdict | PassWatch> {
    const { robots, log } = this.#parts
    if (!isServedByUs(domain.files)) {
      return watchRobots(req, res, domain, robots.origin, await robots.origin.kept(domain))
    }
    const text = await robots.served(domain).catch((error: Error) => {
      log.error({ err: error, domain: domain.name }, 'robots.txt could not be read')
      return null
    })
    // Crawlers ask again; a 404 would allow them everything.
    if (text === null) sendPlainPage(res, 'unavailable', 'site-file')
    else sendText(req, res, text)
    return 'site-file'
  }
}

/** null: the request goes to the origin, which may have a file of this name. */
async function sendSitemap(
  db: Queryable,
  { req, res, site, file }: { req: EdgeRequest; res: EdgeResponse; site: SitemapSite; file: number | null },
): Promise<Verdict | null> {
  const headers = ['Content-Type', 'application/xml; charset=utf-8', 'Cache-Control', 'no-cache']
  headers.push(
    'X-Content-Type-Options',
    'nosniff',
    'X-Prepaint',
    'site-file',
    'X-Request-Id',
    requestIdOf(req),
  )
  const pages = await countListed(db, site)
  const files = Math.ceil(pages / URLS_A_FILE)
  if (file !== null && (files < 2 || file >= files)) return null
  if (file === null && files > 1) {
    const index = sitemapIndex(site, files)
    sendShort(req, res, 200, [...headers, 'Content-Length', `${Buffer.byteLength(index)}`], index)
    return 'site-file'
  }
  const pieces = sitemapFile(db, site, file ?? 0)
  const first = await pieces.next()
  if (first.done === true) {
    sendPlainPage(res, 'not-found', 'site-file')
    return 'site-file'
  }
  res.writeHead(200, headers)
  if (req.method === 'HEAD') res.end()
  else await pipeline(followed(first.value, pieces), res).catch(() => res.destroy())
  return 'site-file'
}

async function* followed(first: string, others: AsyncIterable<string>): AsyncGenerator<string> {
  yield first
  yield* others
}

/** Remembers a good robots.txt as it passes. While the origin fails, the last good one is sent. */
function watchRobots(
  req: EdgeRequest,
  res: EdgeResponse,
  domain: EdgeDomain,
  origin: OriginRobots,
  kept: string | null,
): PassWatch {
  const parts: Buffer[] = []
  let bytes = 0
  let headers: ReturnType<typeof byName> | null = null
  let status = 0
  return {
    takes(head) {
      status = head.statusCode
      if (status >= 500 || status === 429) return kept === null
      if (req.method === 'GET' && (status === 200 || status >= 400)) headers = byName(head.rawHeaders)
      return true
    },
    data(part) {
      bytes += part.length
      if (headers !== null && bytes <= ROBOTS_LIMIT_BYTES) parts.push(part)
    },
    end() {
      if (headers === null || status >= 500 || status === 429) return
      const isWhole = bytes <= ROBOTS_LIMIT_BYTES
      const text = status === 200 && isWhole ? decoded(Buffer.concat(parts), headers['content-encoding']) : ''
      const isRead = text !== null && isRobots({ text, isWhole, contentType: headers['content-type'] ?? '' })
      void origin.remember(domain, isRead ? text.replaceAll('\0', '') : '')
    },
    instead() {
      if (kept === null || res.headersSent) return false
      sendText(req, res, kept)
      return true
    },
  }
}

const DECODERS: Readonly<Record<string, (body: Buffer, options: { maxOutputLength: number }) => Buffer>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  br: brotliDecompressSync,
  deflate: inflateSync,
}

/** null: not readable, or longer than the limit. */
function decoded(body: Buffer, encoding = 'identity'): string | null {
  if (/^identity$|^$/i.test(encoding)) return String(body)
  try {
    return String(DECODERS[encoding.toLowerCase()]!(body, { maxOutputLength: ROBOTS_LIMIT_BYTES }))
  } catch {
    return null
  }
}

function sendText(req: EdgeRequest, res: EdgeResponse, text: string): void {
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
  const headers = ['Cache-Control', 'no-cache', 'ETag', etag, 'X-Content-Type-Options', 'nosniff']
  headers.push('X-Prepaint', 'site-file', 'X-Request-Id', requestIdOf(req))
  if (isNotModified(req.headers, etag, Number.POSITIVE_INFINITY)) {
    res.writeHead(304, headers)
    res.end()
    return
  }
  headers.push('Content-Type', 'text/plain; charset=utf-8', 'Content-Length', `${Buffer.byteLength(text)}`)
  sendShort(req, res, 200, headers, text)
}

/** Permanent ones are cached for minutes only, because the owner may change them. */
const LASTING: ReadonlySet<number> = new Set([301, 308, 410])

function sendRedirect(req: EdgeRequest, res: EdgeResponse, redirect: CompiledRedirect): void {
  const location = locationOf(redirect, req.url ?? '/')
  const words = location === null ? 'This page is gone.\n' : `This page is now at ${location}\n`
  const cached = LASTING.has(redirect.status) ? 'max-age=300' : 'no-cache'
  const headers = [
    'Content-Type',
    'text/plain; charset=utf-8',
    'Content-Length',
    `${Buffer.byteLength(words)}`,
  ]
  headers.push('Cache-Control', cached, 'X-Content-Type-Options', 'nosniff', 'X-Prepaint', 'redirect')
  headers.push('X-Request-Id', requestIdOf(req))
  if (location !== null) headers.push('Location', location)
  sendShort(req, res, redirect.status, headers, words)
}

function sendShort(
  req: EdgeRequest,
  res: EdgeResponse,
  status: number,
  headers: string[],
  body: string,
): void {
  // An unread body would be parsed as the next request.
  if (!req.complete && req.method !== 'GET' && req.method !== 'HEAD') res.shouldKeepAlive = false
  res.writeHead(status, headers)
  res.end(req.method === 'HEAD' ? undefined : body)
}

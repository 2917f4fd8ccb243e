import { brotliDecompressSync, unzipSync } from 'node:zlib'
import type { Verdict } from '@prepaint/contract/outcome/verdict.ts'
import { type CompiledRedirect, locationOf } from '@prepaint/contract/site-files/redirects.ts'
import { isServedByUs } from '@prepaint/contract/site-files/robots-text.ts'
import { byName } from '@prepaint/outbound/headers'
import { isFailing, ROBOTS_LIMIT_BYTES, servableRobots } from '@prepaint/outbound/sitemaps'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { etagOf } from '@prepaint/runtime/http/etag.ts'
import { requestIdOf } from '@prepaint/runtime/http/request-id.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { EdgeBackend } from '../backend.ts'
import type { PassWatch } from '../origin/pass.ts'
import { sendPlainPage, sendText } from '../page/plain-page.ts'
import { isNotModified } from '../page/send-page.ts'
import { sendPieces } from '../page/send-pieces.ts'
import type { EdgeRequest, EdgeResponse } from '../server/exchange.ts'
import type { EdgeDomain } from './domain.ts'
import type { OwnAnswer } from './target.ts'

/** The answer is in the database, which is away: the origin may have one. */
export const NO_DATABASE = Symbol('no database')

/** Sends the owner's redirects and site files to people and crawlers. */
export class OwnAnswers {
  readonly #backend: EdgeBackend
  readonly #clock: Clock
  readonly #log: Log

  constructor(backend: EdgeBackend, clock: Clock, log: Log) {
    this.#backend = backend
    this.#clock = clock
    this.#log = log
  }

  /**
   * Returns a verdict if it has answered. A watch means that nothing was sent, and that the request must be passed on with
   * it. With NO_DATABASE it is passed on, too. Null means that there is nothing to do here. Never rejects.
   */
  async send(
    req: EdgeRequest,
    res: EdgeResponse,
    domain: EdgeDomain,
    own: OwnAnswer,
  ): Promise<Verdict | PassWatch | typeof NO_DATABASE | null> {
    if (own.kind === 'redirect') {
      // Refused by the pass with 405.
      if (req.method === 'TRACE' || req.method === 'CONNECT') return null
      this.#backend.noteRedirect(domain.id, own.redirect.name, this.#clock.nowMs())
      return sendRedirect(req, res, own.redirect)
    }
    if (req.method !== 'GET' && req.method !== 'HEAD') return null
    if (own.kind === 'robots') return this.#robots(req, res, domain)
    if (own.kind === 'sitemap') return this.#sitemap(req, res, domain, own.file)
    return sendFile(req, res, domain.indexNowKey ?? '')
  }

  /** Returns null if the request shall go to the origin, which may have a file of this name. */
  async #sitemap(
    req: EdgeRequest,
    res: EdgeResponse,
    domain: EdgeDomain,
    file: number | null,
  ): Promise<Verdict | typeof NO_DATABASE | null> {
    try {
      const pieces = await this.#backend.siteFiles.sitemap(domain, file)
      if (pieces === null) return null
      const first = await pieces.next()
      if (first.done === true) sendPlainPage(res, 'not-found', 'site-file')
      else {
        const headers = ['Content-Type', 'application/xml; charset=utf-8', 'Cache-Control', 'no-cache']
        headers.push('X-Content-Type-Options', 'nosniff', 'X-Prepaint', 'site-file')
        headers.push('X-Request-Id', requestIdOf(req))
        res.writeHead(200, headers)
        if (req.method === 'HEAD') res.end()
        else await sendPieces(followed(first.value, pieces), res)
      }
    } catch (error) {
      this.#log.error({ err: error, domain: domain.name }, 'a sitemap could not be generated')
      if (this.#backend.isAwayError(error) && !res.headersSent) return NO_DATABASE
      sendPlainPage(res, 'unavailable', 'site-file')
    }
    return 'site-file'
  }

  async #robots(
    req: EdgeRequest,
    res: EdgeResponse,
    domain: EdgeDomain,
  ): Promise<Verdict | PassWatch | typeof NO_DATABASE> {
    const { siteFiles } = this.#backend
    if (!isServedByUs(domain.files)) {
      const kept = await siteFiles.keptRobots(domain)
      const sendKept = kept === null ? null : () => sendFile(req, res, kept)
      return watchRobots(req, res, sendKept, (text) => siteFiles.rememberRobots(domain, text))
    }
    const { text, isAway } = await siteFiles.servedRobots(domain)
    if (text !== null) return sendFile(req, res, text)
    if (isAway) return NO_DATABASE
    // Crawlers ask again; a 404 would allow them everything.
    sendPlainPage(res, 'unavailable', 'site-file')
    return 'site-file'
  }
}

async function* followed(first: string, others: AsyncIterable<string>): AsyncGenerator<string> {
  yield first
  yield* others
}

/** Remembers a good robots.txt as it passes. While the origin fails, `sendKept` sends the last good one. */
function watchRobots(
  req: EdgeRequest,
  res: EdgeResponse,
  sendKept: (() => void) | null,
  remember: (text: string) => Promise<unknown>,
): PassWatch {
  const parts: Buffer[] = []
  let bytes = 0
  /** The head of an answer that is remembered. */
  let good: { status: number; headers: ReturnType<typeof byName> } | null = null
  return {
    takes({ statusCode: status, rawHeaders }) {
      if (isFailing(status)) return sendKept === null
      if (req.method === 'GET' && (status === 200 || status >= 400))
        good = { status, headers: byName(rawHeaders) }
      return true
    },
    data(part) {
      bytes += part.length
      if (good !== null && bytes <= ROBOTS_LIMIT_BYTES) parts.push(part)
    },
    end() {
      if (good === null) return
      const { status, headers } = good
      const isWhole = bytes <= ROBOTS_LIMIT_BYTES
      const text = status === 200 ? decoded(Buffer.concat(parts), headers['content-encoding']) : ''
      void remember(servableRobots({ text, isWhole, contentType: headers['content-type'] }))
    },
    instead() {
      if (sendKept === null || res.headersSent) return false
      sendKept()
      return true
    },
  }
}

/** Returns an empty text if the body cannot be read, or is longer than the limit. */
function decoded(body: Buffer, encoding = ''): string {
  const limit = { maxOutputLength: ROBOTS_LIMIT_BYTES }
  try {
    if (/^(?:identity)?$/i.test(encoding)) return String(body)
    return String(/^br$/i.test(encoding) ? brotliDecompressSync(body, limit) : unzipSync(body, limit))
  } catch {
    return ''
  }
}

function sendFile(req: EdgeRequest, res: EdgeResponse, text: string): Verdict {
  const etag = `"${etagOf(text)}"`
  const answer = { verdict: 'site-file', headers: ['Cache-Control', 'no-cache', 'ETag', etag] } as const
  return isNotModified(req.headers, etag, null)
    ? sendText(req, res, { ...answer, status: 304 })
    : sendText(req, res, { ...answer, status: 200, body: text })
}

/** Permanent redirects are cached for minutes only, because the owner may change them. */
const LASTING: ReadonlySet<number> = new Set([301, 308, 410])

function sendRedirect(req: EdgeRequest, res: EdgeResponse, redirect: CompiledRedirect): Verdict {
  const { status } = redirect
  const location = locationOf(redirect, req.url ?? '/')
  const headers = ['Cache-Control', LASTING.has(status) ? 'max-age=300' : 'no-cache']
  if (location !== null) headers.push('Location', location)
  const body = location === null ? 'This page is gone.\n' : `This page is now at ${location}\n`
  return sendText(req, res, { status, verdict: 'redirect', headers, body })
}

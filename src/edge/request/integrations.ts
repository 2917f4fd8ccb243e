import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Front } from '../../outbound/headers.ts'
import type { PageUrl } from '../../store/path.ts'
import { createPass, type FrontOf, type PassOptions } from '../origin/pass.ts'
import { EdgeHandler, type Entrance, type HandlerParts } from './handler.ts'

/** What a site's own front asks for. The caller has found the domain's owner, and that the front may ask. */
export type FrontRequest = {
  url: PageUrl
  /** Of the visitor; null: a crawler, and nothing else is known. */
  userAgent: string | null
}

/**
 * For sites that keep their own front: requests that come through it are answered by the edge's handler, from the same
 * pages and the same queue. Both methods take over `req` and `res`; of the headers of `req`, `offer` uses only the
 * accepted encodings.
 */
export type Integrations = {
  /** Answers as the edge answers a crawler: with the page, else with the origin's answer. */
  answer(req: IncomingMessage, res: ServerResponse, asked: FrontRequest): void
  /** 200 with the page or sitemap, its own status in `X-Prepaint-Status`; 204 where the front has to ask the origin. */
  offer(req: IncomingMessage, res: ServerResponse, asked: FrontRequest): void
}

const PAGE_STATUS = 'X-Prepaint-Status'

/** Tells the middleware of a site's own front not to send the request back to us. */
const NOT_AGAIN = 'X-Prerender'

/** Our own renderer, where a front sends it back to us all the same. */
const OUR_RENDERER = /\bPrepaint\/\d/

/** Between the front and us; the origin must not see them, least of all the key. */
const FRONT_ONLY = new Set(['x-prerender-token', 'x-prerender-int-type', 'x-prerender', 'x-api-key'])

export function createIntegrations(
  parts: HandlerParts,
  edge: Entrance,
  passOptions: PassOptions,
): Integrations {
  const schemes = new WeakMap<object, Front['scheme']>()
  const frontOf: FrontOf = (req, domain) => {
    const front = edge.frontOf(req, domain)
    return { ...front, scheme: schemes.get(req) ?? front.scheme }
  }
  // The client whose address is known here is the front: it is not verified as a crawler, and not limited as one client.
  const entrance = { isForged: () => false, isInsecure: () => false, frontOf }
  const answering = new EdgeHandler(parts, {
    ...entrance,
    // The front decided that it is a crawler: only its category is looked up, and whether the owner removed it.
    categoryOf(userAgent, own) {
      const isRemoved = userAgent !== undefined && own?.categoryOf(userAgent) === null
      return isRemoved ? null : (edge.categoryOf(userAgent, own) ?? 'other')
    },
    pass: createPass({ ...passOptions, frontOf }),
  })
  const offering = new EdgeHandler(parts, {
    ...entrance,
    categoryOf: (userAgent, own) => (userAgent === undefined ? 'other' : edge.categoryOf(userAgent, own)),
    pass(_req, res, _domain, verdict) {
      if (res instanceof ServerResponse) leaveToOrigin(res, verdict)
    },
  })

  return {
    answer(req, res, { url, userAgent }) {
      schemes.set(req, url.scheme)
      const rawHeaders = req.rawHeaders.filter(
        (_, at) => !FRONT_ONLY.has(req.rawHeaders[at - (at % 2)]!.toLowerCase()),
      )
      rawHeaders.push(NOT_AGAIN, '1')
      becomePageRequest(req, url, { ...req.headers, ...agentHeaders(userAgent) }, rawHeaders)
      answering.handle(req, res)
    },
    offer(req, res, { url, userAgent }) {
      const encodings = req.headers['accept-encoding']
      const headers = encodings === undefined ? {} : { 'accept-encoding': encodings }
      req.method = 'GET'
      schemes.set(req, url.scheme)
      becomePageRequest(req, url, { ...headers, ...agentHeaders(userAgent) }, [])
      statusInHeader(res)
      offering.handle(req, res)
    },
  }
}

/** Makes `req` the request for the page itself. */
function becomePageRequest(req: IncomingMessage, url: PageUrl, headers: object, rawHeaders: string[]): void {
  req.url = url.path
  req.headers = { ...headers, host: url.host }
  req.rawHeaders = rawHeaders
}

function agentHeaders(userAgent: string | null): { 'user-agent'?: string; via?: string } {
  if (userAgent === null) return {}
  // As the renderer's gateway sends it; few fronts pass it on.
  return OUR_RENDERER.test(userAgent)
    ? { 'user-agent': userAgent, via: '1.1 prepaint' }
    : { 'user-agent': userAgent }
}

/** Sends a page's status in a header of a 200, and 204 where there is no page. */
function statusInHeader(res: ServerResponse): void {
  const writeHead = (status: number, headers: string[]): ServerResponse => {
    const verdict = headers[headers.indexOf('X-Prepaint') + 1] ?? ''
    if (verdict.startsWith('none')) return head(res, 204, ['X-Prepaint', 'pass; unavailable'])
    head(res, 200, [...headers, PAGE_STATUS, `${status}`])
    // The head is sent: from here on this is for the report.
    res.statusCode = status
    return res
  }
  res.writeHead = writeHead as typeof res.writeHead
}

function leaveToOrigin(res: ServerResponse, verdict: string): void {
  head(res, 204, ['X-Prepaint', verdict])
  res.end()
}

function head(res: ServerResponse, status: number, headers: string[]): ServerResponse {
  return ServerResponse.prototype.writeHead.call(res, status, headers)
}

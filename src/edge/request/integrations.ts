import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Front } from '../../outbound/headers.ts'
import type { PageUrl } from '../../store/path.ts'
import { createPass, type FrontOf, type PassOptions } from '../origin/pass.ts'
import { createEdgeHandler, type EdgeDeps } from './handler.ts'

/** What a site's own front asks for. Whose the domain is, and whether he may ask, has been found out before. */
export type Asked = {
  url: PageUrl
  /** Of whom the page is for; null: of a crawler, and that is all that is known. */
  userAgent: string | null
}

/**
 * Two doors for sites that keep their own front: live requests that come by
 * way of it, answered by the edge's own handler, from the same pages and the
 * same queue. Both take over `req` and `res`; of `req` nothing but the
 * encodings that are accepted says anything about the page any more.
 */
export type Doors = {
  /** Answers as the edge answers a crawler: with the page, else with the origin's answer. */
  answer(req: IncomingMessage, res: ServerResponse, asked: Asked): void
  /** 200 with the page (or a sitemap, as the edge gives it), its own status in `X-Prepaint-Status`; 204 where the front is to ask the origin itself. */
  offer(req: IncomingMessage, res: ServerResponse, asked: Asked): void
}

const PAGE_STATUS = 'X-Prepaint-Status'

/** Says to the middlewares of a site's own front that they must not send a request back to us. */
const NOT_AGAIN = 'X-Prerender'

/** Our own renderer, where a front sends it back to us all the same. */
const OUR_RENDERER = /\bPrepaint\/\d/

/** Between the site's front and us: they are nobody else's, least of all the key. */
const BETWEEN_US = new Set(['x-prerender-token', 'x-prerender-int-type', 'x-prerender', 'x-api-key'])

export function createDoors(deps: EdgeDeps, pass: PassOptions, options: { liveWaitMs: number }): Doors {
  const fronts = new WeakMap<object, Front['scheme']>()
  // The front has decided that it is a crawler; only which kind is to be known, and whether the owner wants it to be one.
  const crawlerOf: EdgeDeps['crawlerOf'] = (userAgent, own) => {
    const isRemoved = userAgent !== undefined && own?.categoryOf(userAgent) === null
    return isRemoved ? null : (deps.crawlerOf(userAgent, own) ?? 'other')
  }
  const frontOf: FrontOf = (req, domain) => {
    const front = deps.frontOf(req, domain)
    return { ...front, scheme: fronts.get(req) ?? front.scheme }
  }
  const toOrigin = createPass({ ...pass, frontOf })
  const answering = createEdgeHandler({ ...deps, crawlerOf, pass: toOrigin, frontOf }, options)
  const offering = createEdgeHandler(
    {
      ...deps,
      frontOf,
      crawlerOf: (...asked) => (asked[0] === undefined ? 'other' : deps.crawlerOf(...asked)),
      pass: (_req, res, _domain, verdict) => {
        if (res instanceof ServerResponse) leaveToOrigin(res, verdict)
      },
    },
    options,
  )

  return {
    answer(req, res, { url, userAgent }) {
      fronts.set(req, url.scheme)
      const rawHeaders = req.rawHeaders.filter(
        (_, at) => !BETWEEN_US.has(req.rawHeaders[at - (at % 2)]!.toLowerCase()),
      )
      rawHeaders.push(NOT_AGAIN, '1')
      present(req, url, { ...req.headers, ...agentOf(userAgent) }, rawHeaders)
      answering(req, res)
    },
    offer(req, res, { url, userAgent }) {
      const encodings = req.headers['accept-encoding']
      const headers = encodings === undefined ? {} : { 'accept-encoding': encodings }
      req.method = 'GET'
      fronts.set(req, url.scheme)
      present(req, url, { ...headers, ...agentOf(userAgent) }, [])
      statusInHeader(res)
      offering(req, res)
    },
  }
}

/** Makes `req` the request for the page itself. */
function present(req: IncomingMessage, url: PageUrl, headers: object, rawHeaders: string[]): void {
  req.url = url.path
  req.headers = { ...headers, host: url.host }
  req.rawHeaders = rawHeaders
}

function agentOf(userAgent: string | null): { 'user-agent'?: string; via?: string } {
  if (userAgent === null) return {}
  // What the renderer's gateway says; few fronts hand it on.
  return OUR_RENDERER.test(userAgent)
    ? { 'user-agent': userAgent, via: '1.1 prepaint' }
    : { 'user-agent': userAgent }
}

/** What is written as the page's status is sent as 200 and that header; what is no page, as 204. */
function statusInHeader(res: ServerResponse): void {
  const writeHead = (status: number, headers: string[]): ServerResponse => {
    const verdict = headers[headers.indexOf('X-Prepaint') + 1] ?? ''
    if (verdict.startsWith('none')) return head(res, 204, ['X-Prepaint', 'pass; unavailable'])
    head(res, 200, [...headers, PAGE_STATUS, `${status}`])
    // The head is written: from here on this is for whoever counts it.
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

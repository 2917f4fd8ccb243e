import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { PageUrl } from '@prepaint/contract/page/path.ts'
import type { Front } from '@prepaint/outbound/headers'
import {
  type FrontRefusal,
  frontRequestId,
  isOfFront,
  sendFrontRefusal,
} from '@prepaint/runtime/http/front-form.ts'
import { createPass, type FrontOf, type PassOptions, type SendOwn } from '../origin/pass.ts'
import { type PlainPage, sendPlainPage } from '../page/plain-page.ts'
import { EdgeHandler, type Entrance, type HandlerParts } from './handler.ts'
import { OfferedResponse } from './offered-response.ts'

/** The caller has checked that the front may request this domain. */
type FrontRequest = {
  url: PageUrl
  /** The user agent of the visitor, or null for some crawler. */
  userAgent: string | null
  /** The visitor's `Accept`, which only `offer` reads. */
  accept?: string | undefined
}

/**
 * Answers sites with their own front: the edge's handler answers from the same pages and queue. Both methods take over
 * `req` and `res`; `offer` reads only the accepted encodings from `req`.
 */
export type Integrations = {
  answer(req: IncomingMessage, res: ServerResponse, page: FrontRequest): void
  /** Answers 200 with the page or sitemap and its status in `X-Prepaint-Status`, or 204: the front asks the origin. */
  offer(req: IncomingMessage, res: ServerResponse, page: FrontRequest): void
}

/** This header tells the site's middleware not to send the request back to us. */
const NOT_AGAIN = 'X-Prerender'

/** Finds our renderer, in case a front sends its requests back anyway. */
const OUR_RENDERER = /\bPrepaint\/\d/

/** These headers, and those of `isOfFront`, are hidden from the origin, above all the key. */
const FRONT_ONLY = new Set(['x-prerender', 'x-api-key'])

export function createIntegrations(
  edgeParts: HandlerParts,
  edge: Entrance,
  passOptions: PassOptions,
): Integrations {
  const installationChecks = edgeParts.installationChecks.of('middleware')
  const parts = { ...edgeParts, report: edgeParts.report.of('middleware'), installationChecks }
  const schemes = new WeakMap<object, Front['scheme']>()
  const frontOf: FrontOf = (req, domain) => {
    const front = edge.frontOf(req, domain)
    return { ...front, scheme: schemes.get(req) ?? front.scheme }
  }
  // The known address is the front's, so crawlers are not verified and the front is not limited.
  const entrance = {
    isForged: () => false,
    isInsecure: () => false,
    frontOf,
    servesOwnAnswers: false,
    budgets: null,
  }
  const answering = new EdgeHandler(parts, {
    ...entrance,
    // The front chose a crawler: only look up its category, and whether the owner removed it.
    categoryOf(userAgent, own) {
      const isRemoved = userAgent !== undefined && own?.categoryOf(userAgent) === null
      return isRemoved ? null : (edge.categoryOf(userAgent, own) ?? 'other')
    },
    automaticOf: () => null,
    pass: createPass({ ...passOptions, frontOf, sendOwn: sendAsRefusal }),
    sendOwn: sendAsRefusal,
  })
  const offering = new EdgeHandler(parts, {
    ...entrance,
    categoryOf: (userAgent, own) => (userAgent === undefined ? 'other' : edge.categoryOf(userAgent, own)),
    automaticOf: (userAgent, own) => edge.automaticOf(userAgent, own),
    sendOwn: sendPlainPage,
    pass(_req, res, _domain, verdict) {
      if (res instanceof OfferedResponse) res.leaveToOrigin(verdict)
    },
  })

  return {
    answer(req, res, { url, userAgent }) {
      schemes.set(req, url.scheme)
      const rawHeaders = req.rawHeaders.filter(
        (_, at) => !isForFrontOnly(req.rawHeaders[at - (at % 2)]!.toLowerCase()),
      )
      rawHeaders.push(NOT_AGAIN, '1')
      becomePageRequest(req, url, { ...req.headers, ...agentHeaders(userAgent) }, rawHeaders)
      answering.handle(req, res)
    },
    offer(req, res, { url, userAgent, accept }) {
      const headers: IncomingHttpHeaders = agentHeaders(userAgent)
      const frontId = frontRequestId(req.headers)
      if (frontId !== null) headers['x-prerender-request-id'] = frontId
      for (const name of ['x-prerender-int-type', 'x-prerender-int-version'])
        headers[name] = req.headers[name]
      const encodings = req.headers['accept-encoding']
      if (encodings !== undefined) headers['accept-encoding'] = encodings
      if (accept !== undefined) headers.accept = accept
      req.method = 'GET'
      schemes.set(req, url.scheme)
      becomePageRequest(req, url, headers, [])
      offering.handle(req, new OfferedResponse(res))
    },
  }
}

/** What the front gets instead of a page of our own. An answer of ours without a site is never the site's. */
const REFUSED_PAGES: Readonly<Partial<Record<PlainPage, FrontRefusal>>> = {
  'unknown-host': 'domain',
  'bad-request': 'url',
  'bad-gateway': 'unreachable-origin',
  loop: 'unreachable-origin',
  'gateway-timeout': 'silent-origin',
  'refused-origin': 'refused-origin',
}

const sendAsRefusal: SendOwn = (res, page) => sendFrontRefusal(res, REFUSED_PAGES[page] ?? 'unavailable')

function isForFrontOnly(name: string): boolean {
  return FRONT_ONLY.has(name) || isOfFront(name)
}

function becomePageRequest(req: IncomingMessage, url: PageUrl, headers: object, rawHeaders: string[]): void {
  req.url = url.path
  req.headers = { ...headers, host: url.host }
  req.rawHeaders = rawHeaders
}

function agentHeaders(userAgent: string | null): { 'user-agent'?: string; via?: string } {
  if (userAgent === null) return {}
  // Set by the renderer's gateway; few fronts pass it on.
  return OUR_RENDERER.test(userAgent)
    ? { 'user-agent': userAgent, via: '1.1 prepaint' }
    : { 'user-agent': userAgent }
}

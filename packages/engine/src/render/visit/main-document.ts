import type { OutgoingHttpHeaders } from 'node:http'
import type { RedirectStatus, RenderOutcome } from '@prepaint/contract/outcome/outcome.ts'
import { normalisePath } from '@prepaint/contract/page/path.ts'
import { readLinks } from '@prepaint/contract/reading/link-header.ts'

import { GATEWAY_HEADER, headerOfText, ORIGIN_CACHE_CONTROL, textOfHeader } from '@prepaint/outbound/headers'
import type { Protocol } from 'devtools-protocol'
import type { CdpListeners } from '../browser/cdp.ts'
import { challengerOf } from './bad-page.ts'
import type { Recorder } from './recorder.ts'

export type ResponseHeader = { name: string; value: string }

/** A site that sets cookie after cookie never shows a page. */
const GATES_LIMIT = 5

export type SiteAddress = { customDomain: string; originUrl: string }

/**
 * Judges each main-frame response. The gateway holds the first one until then. Chromium's `Fetch` domain is slower
 * and fails cross-origin requests whose preflight has a body (docs/decisions/0015-render-speed.md).
 */
export class MainDocument {
  status = 200
  headers: readonly ResponseHeader[] = []
  readonly arrived: Promise<void>
  readonly listeners: CdpListeners
  readonly #site: SiteAddress & { path: string }
  readonly #recorder: Pick<Recorder, 'reached'>
  readonly #end: (outcome: RenderOutcome) => void
  #requestId = ''
  #url: string | null = null
  #gates = 0
  /** Gates whose redirect the browser has not followed yet. */
  #openGates = 0

  constructor(
    frameId: string,
    site: SiteAddress & { path: string },
    recorder: Pick<Recorder, 'reached'>,
    end: (outcome: RenderOutcome) => void,
  ) {
    this.#site = site
    this.#recorder = recorder
    this.#end = end
    const { promise, resolve: arrive } = Promise.withResolvers<void>()
    this.arrived = promise
    this.listeners = {
      'Page.frameNavigated': ({ frame }) => {
        if (frame.id === frameId) arrive()
      },
      'Network.requestWillBeSent': (event) => {
        if (event.type === 'Document' && event.frameId === frameId) this.#requested(event)
      },
      'Network.responseReceived': ({ requestId, response }) => {
        if (requestId === this.#requestId) this.#judge(response.url, response.status, listOf(response))
      },
      'Network.loadingFailed': ({ requestId, errorText, canceled = false }) => {
        // Half a document looks complete.
        if (requestId === this.#requestId && !canceled && this.headers.length > 0)
          end(outcomeOfFailure(errorText))
      },
    }
  }

  /** Called by the gateway. Returns whether the browser gets the response. */
  judgeFirst(status: number, headers: OutgoingHttpHeaders): boolean {
    this.#recorder.reached('firstResponse')
    const { customDomain, path } = this.#site
    return this.#judge(`https://${customDomain}${path}`, status, listOfOutgoing(headers))
  }

  /**
   * Called by the gateway before `judgeFirst`. Returns the path that the browser should follow to if the response is a
   * gate: it sets a cookie and redirects to the page itself. The gateway judges the next response, too.
   */
  passGate(status: number, headers: OutgoingHttpHeaders): string | null {
    const { customDomain, path } = this.#site
    const location = headers['location']
    if (!isRedirectStatus(status) || headers['set-cookie'] === undefined || location === undefined)
      return null
    if (this.#gates === GATES_LIMIT) return null
    const target = pathOfSamePage(textOfHeader(String(location)), { customDomain, path })
    if (target === null) return null
    this.#gates++
    this.#openGates++
    return target
  }

  #requested({ requestId, request, redirectResponse: redirect }: Protocol.Network.RequestWillBeSentEvent) {
    this.#requestId = requestId
    if (redirect !== undefined && this.#openGates > 0) {
      this.#openGates--
      return
    }
    if (redirect !== undefined) {
      this.#judge(redirect.url, redirect.status, listOf(redirect))
      return
    }
    // Other schemes open other programs, such as a mail program.
    if (!/^https?:/.test(request.url)) return
    this.#url ??= request.url
    // Back to an earlier render's page, which in-page/history.js should prevent.
    if (request.url !== this.#url) this.#end({ kind: 'timed-out', afterMs: 0 })
  }

  #judge(url: string, status: number, headers: readonly ResponseHeader[]): boolean {
    this.status = status
    this.headers = headers
    const outcome = judgeMainResponse(url, status, headers, this.#site)
    if (outcome !== null) this.#end(outcome)
    return outcome === null
  }
}

/** The path of an address that names the page itself, in whatever spelling; null: another page. */
export function pathOfSamePage(
  location: string,
  { customDomain, path }: { customDomain: string; path: string },
): string | null {
  const url = URL.parse(location, `https://${customDomain}${path}`)
  if (url === null || url.hostname !== customDomain || url.port !== '') return null
  const target = url.pathname + url.search
  return normalisePath(target) === normalisePath(path) ? target : null
}

export function outcomeOfFailure(errorText: string): RenderOutcome {
  // Chromium shows its own page for an error status without a body.
  if (errorText === 'net::ERR_HTTP_RESPONSE_CODE_FAILURE') return { kind: 'blank' }
  return { kind: 'origin-unreachable', reason: errorText }
}

export function listOfOutgoing(headers: OutgoingHttpHeaders): ResponseHeader[] {
  return Object.entries(headers).flatMap(([name, value = '']) =>
    [value].flat().map((line) => ({ name, value: textOfHeader(String(line)) })),
  )
}

/** Chromium joins headers of one name, a line each. */
function listOf({ headers }: Protocol.Network.Response): ResponseHeader[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    String(value)
      .split('\n')
      .map((line) => ({ name, value: textOfHeader(line) })),
  )
}

/** RFC 9110: these have no body, whatever their headers say. */
export const BODILESS = new Set([204, 205, 304])

/** Returns null for HTML that is neither a redirect nor a server error. */
export function judgeMainResponse(
  url: string,
  status: number,
  headers: readonly ResponseHeader[],
  site: SiteAddress,
): RenderOutcome | null {
  const unreachable = headerOf(headers, GATEWAY_HEADER)
  if (unreachable !== null) return { kind: 'origin-unreachable', reason: unreachable }

  const location = headerOf(headers, 'location')
  if (isRedirectStatus(status) && location !== null) {
    const absolute = publicUrl(location, url, site)
    if (absolute !== null) return { kind: 'redirect', status, location: absolute, ...cacheControlOf(headers) }
    return { kind: 'not-html', contentType: `redirect to ${location.slice(0, 200)}` }
  }
  const challenger = challengerOf(headers)
  if (challenger !== null) return { kind: 'challenge', mark: challenger }
  // Only with its `WWW-Authenticate` does a client know how to answer: it gets the origin's own response.
  if (isTemporaryError(status) || status === 401) return { kind: 'origin-error', status }

  const contentType = headerOf(headers, 'content-type') ?? ''
  const isAttachment = /^\s*attachment\b/i.test(headerOf(headers, 'content-disposition') ?? '')
  const type = typeOf(contentType)
  const isHtml = type === 'text/html' || type === 'application/xhtml+xml'
  // Without a type Chromium examines the bytes; the snapshot shows what it found.
  if (isAttachment || BODILESS.has(status) || !(isHtml || isExamined(type))) {
    return { kind: 'not-html', contentType }
  }
  return null
}

/** As Chromium reads it (`ParseContentTypeHeaderValue`): to the first space, parameter, comment or further type. */
function typeOf(contentType: string): string {
  return (/^\s*([^\s;(,]*)/.exec(contentType)?.[1] ?? '').toLowerCase()
}

/** Types that say nothing (MIME Sniffing, section 7), and what is no type. */
function isExamined(type: string): boolean {
  return !type.includes('/') || ['*/*', 'unknown/unknown', 'application/unknown'].includes(type)
}

/** What the origin says; `Cache-Control` itself is the gateway's. */
function cacheControlOf(headers: readonly ResponseHeader[]): { cacheControl?: string } {
  const found = headers.filter(({ name }) => name.toLowerCase() === ORIGIN_CACHE_CONTROL)
  return found.length === 0 ? {} : { cacheControl: found.map(({ value }) => value).join(', ') }
}

const KEPT_HEADERS = ['content-language', 'content-signal', 'content-usage', 'link', 'x-robots-tag']

export function keptHeaders(headers: readonly ResponseHeader[]): [name: string, value: string][] {
  return headers.flatMap(({ name, value }): [string, string][] => {
    const lower = name.toLowerCase()
    // Decides whether the page may be stored.
    if (lower === ORIGIN_CACHE_CONTROL) return [['cache-control', value]]
    const kept = lower === 'link' ? documentLinks(value) : value
    return KEPT_HEADERS.includes(lower) && kept !== '' ? [[lower, headerOfText(kept)]] : []
  })
}

/** Replaces the origin's host with the custom domain; null unless it is an absolute http address. */
export function publicUrl(location: string, base: string, site: SiteAddress): string | null {
  if (!URL.canParse(location, base)) return null
  const url = new URL(location, base)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null
  const origin = new URL(site.originUrl)
  if (url.host === origin.host && url.protocol === origin.protocol) {
    return `https://${site.customDomain}${url.pathname}${url.search}${url.hash}`
  }
  return url.href
}

/** The server fails or limits the rate, which says nothing about the page. */
export function isTemporaryError(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || status === 429
}

export function isRedirectStatus(status: number): status is RedirectStatus {
  return [301, 302, 303, 307, 308].includes(status)
}

function headerOf(headers: readonly ResponseHeader[], name: string): string | null {
  return headers.find((header) => header.name.toLowerCase() === name)?.value ?? null
}

const DOCUMENT_RELATIONS = new Set([
  ...['alternate', 'amphtml', 'author', 'canonical', 'describedby', 'hub', 'license', 'next', 'prev'],
  ...['self', 'shortlink'],
])

/** Values of `Link` (RFC 8288, section 3) that relate documents; empty if none. */
export function documentLinks(value: string): string {
  return readLinks(value)
    .filter(({ rels }) => rels.some((relation) => DOCUMENT_RELATIONS.has(relation)))
    .map(({ text }) => text)
    .join(', ')
}

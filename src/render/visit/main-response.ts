import { GATEWAY_HEADER, ORIGIN_CACHE_CONTROL } from '../../outbound/headers.ts'
import type { RedirectStatus, RenderOutcome } from '../outcome.ts'
import { challengerOf } from './bad-page.ts'

export type ResponseHeader = { name: string; value: string }

/** Where a site is to the world, and where it really comes from. */
export type SiteAddress = { customDomain: string; originUrl: string }

/** Told to crawlers with the page; all else of the origin's headers is about its own bytes. */
const KEPT_HEADERS = ['content-language', 'link', 'x-robots-tag']

/** RFC 9110: no body comes with these, whatever their headers say. */
export const BODILESS = new Set([204, 205, 304])

function storing(headers: readonly ResponseHeader[]): { cacheControl?: string } {
  const said = headers.filter(({ name }) => name.toLowerCase() === 'cache-control')
  return said.length === 0 ? {} : { cacheControl: said.map(({ value }) => value).join(', ') }
}

/**
 * The end of a render that the main response decides by itself, or null when
 * there is a page to go on with: only HTML that is neither an error of the
 * server nor a redirect.
 */
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
    if (absolute !== null) return { kind: 'redirect', status, location: absolute, ...storing(headers) }
    return { kind: 'not-html', contentType: `redirect to ${location.slice(0, 200)}` }
  }
  const challenger = challengerOf(headers)
  if (challenger !== null) return { kind: 'challenge', mark: challenger }
  if (isErrorOfTheMoment(status)) return { kind: 'origin-error', status }

  const contentType = headerOf(headers, 'content-type') ?? ''
  const isAttachment = /^\s*attachment\b/i.test(headerOf(headers, 'content-disposition') ?? '')
  const isHtml = /^\s*(text\/html|application\/xhtml\+xml)\s*(;|$)/i.test(contentType)
  // Without a type Chromium looks at the bytes; what comes of it is judged after that.
  if (isAttachment || BODILESS.has(status) || (contentType !== '' && !isHtml)) {
    return { kind: 'not-html', contentType }
  }
  return null
}

/** The origin's headers that stay with the page. */
export function keptHeaders(headers: readonly ResponseHeader[]): [name: string, value: string][] {
  return headers.flatMap(({ name, value }): [string, string][] => {
    const lower = name.toLowerCase()
    // Not told to anybody: whether the page may be stored is read from it. What Chromium was told is the gateway's.
    if (lower === ORIGIN_CACHE_CONTROL) return [['cache-control', value]]
    const kept = lower === 'link' ? documentLinks(value) : value
    return KEPT_HEADERS.includes(lower) && kept !== '' ? [[lower, kept]] : []
  })
}

/**
 * Absolute, as the world sees it: what points at the origin's own host points
 * at the custom domain. null for what is no http address at all.
 */
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

/** Says nothing about the page: the server fails, or asks whoever comes so often to come later. */
export function isErrorOfTheMoment(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || status === 429
}

export function isRedirectStatus(status: number): status is RedirectStatus {
  return [301, 302, 303, 307, 308].includes(status)
}

function headerOf(headers: readonly ResponseHeader[], name: string): string | null {
  return headers.find((header) => header.name.toLowerCase() === name)?.value ?? null
}

/** Relations between documents, which crawlers act on. All others are for a browser that is about to load the page. */
const DOCUMENT_RELATIONS = new Set([
  'alternate',
  'amphtml',
  'author',
  'canonical',
  'describedby',
  'hub',
  'license',
  'next',
  'prev',
  'self',
  'shortlink',
])

/** The values of a header `Link` (RFC 8288, section 3) that tell of documents; empty when none does. */
export function documentLinks(value: string): string {
  const links = value.match(/(?:<[^>]*>?|"(?:\\.|[^"\\])*"?|[^,<"])+/g) ?? []
  return links
    .map((link) => link.trim())
    .filter((link) => relationsOf(link).some((relation) => DOCUMENT_RELATIONS.has(relation)))
    .join(', ')
}

/** Of the first `rel`, which alone counts. */
function relationsOf(link: string): string[] {
  const parameters = link.replace(/^<[^>]*>/, '')
  const [, quoted, plain] = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters) ?? []
  return (quoted ?? plain ?? '').toLowerCase().split(/\s+/)
}

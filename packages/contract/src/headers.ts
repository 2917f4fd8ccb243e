/**
 * Headers of stored answers that an owner may not set: neither a page (`prerender-header`) nor a rule (`change.headers`).
 * A cache, a proxy, a server in front or the next visitor would act on them, or the edge sets them for each response.
 *
 * Pages and rules had lists of their own that had drifted apart. What either refused is refused to both:
 * - `content-location` and all other `content-*` that are not in CONTENT: caches take the answer for another resource
 *   (RFC 9110, section 8.7), and the others describe bytes that only the edge knows.
 * - `repr-digest`, `digest`, `want-*-digest`: the edge encodes and changes the bytes.
 * - `report-to`, `nel`, `reporting-endpoints`, `origin-agent-cluster`: browsers remember them for the whole site.
 * - `no-vary-search`: caches would give the page of one path to others.
 * - `cookie`, `x-request-id`, `x-prerender-*`: they belong to the request, or are the edge's own words.
 *
 * One difference stays: see `pageMaySet`.
 */
const DENIED: ReadonlySet<string> = new Set([
  // The message and its connection (RFC 9110, section 7.6.1; RFC 9112).
  'connection',
  'date',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'server',
  'te',
  'trailer',
  'trailers',
  'transfer-encoding',
  'upgrade',
  'via',
  // The bytes and their versions.
  'accept-ranges',
  'digest',
  'etag',
  'last-modified',
  'repr-digest',
  'want-content-digest',
  'want-repr-digest',
  // Caches must not serve a crawler's page to people.
  'age',
  'cache-control',
  'cache-status',
  'cdn-cache-control',
  'clear-site-data',
  'expires',
  'no-vary-search',
  'pragma',
  'vary',
  'warning',
  // What browsers remember for the whole site.
  'alt-svc',
  'authentication-info',
  'cookie',
  'nel',
  'origin-agent-cluster',
  'report-to',
  'reporting-endpoints',
  'server-timing',
  'service-worker-allowed',
  'set-cookie',
  'set-cookie2',
  'strict-transport-security',
  'www-authenticate',
  // Where the page is, and how it is answered.
  'location',
  'refresh',
  'status',
  'x-prerender-reject-reason',
  'x-prerender-requestid',
  'x-prerender-throttled',
  'x-prerender-user-id',
  'x-request-id',
  // A server in front would send one of its files.
  'x-lighttpd-send-file',
  'x-reproxy-url',
  'x-sendfile',
])

const DENIED_FAMILIES = [
  'access-control-',
  'cross-origin-',
  'proxy-',
  'public-key-pins',
  'sec-',
  'surrogate-',
  'x-accel-',
  'x-forwarded-',
  'x-litespeed-',
  'x-prepaint',
]

/** The only headers of the family `content-` that may be set. */
const CONTENT: ReadonlySet<string> = new Set([
  'content-disposition',
  'content-language',
  'content-security-policy',
  'content-security-policy-report-only',
  'content-signal',
  'content-usage',
])

// RFC 9110, section 5.1.
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$/

export function isHeaderName(name: string): boolean {
  return HEADER_NAME.test(name)
}

/** `name` in any case. */
export function ruleMaySet(name: string): boolean {
  const lower = name.toLowerCase()
  if (lower.startsWith('content-')) return CONTENT.has(lower)
  return !DENIED.has(lower) && !DENIED_FAMILIES.some((family) => lower.startsWith(family))
}

/**
 * As `ruleMaySet`, and `location`: a page says with its status (`prerender-status-code`) that it has moved. Without a status
 * that redirects, the renderer drops it. Owners have redirects instead of rules for this.
 */
export function pageMaySet(name: string): boolean {
  return name.toLowerCase() === 'location' || ruleMaySet(name)
}

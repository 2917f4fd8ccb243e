/** Headers that a page must not set, because a cache, a proxy or the next visitor would act on them. */
const DENIED = new Set([
  // The message and its connection (RFC 9110, section 7.6.1; RFC 9112).
  ...['connection', 'content-length', 'date', 'expect', 'host', 'http2-settings', 'keep-alive', 'server'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade', 'via'],
  ...['accept-ranges', 'content-digest', 'content-encoding', 'content-md5', 'content-range'],
  ...['content-type', 'digest', 'etag', 'last-modified', 'repr-digest', 'want-content-digest'],
  ...['want-repr-digest'],
  // Caches must not serve a crawler's page to people.
  ...['age', 'cache-control', 'cache-status', 'cdn-cache-control', 'clear-site-data', 'expires'],
  ...['no-vary-search', 'pragma', 'vary', 'warning'],
  ...['alt-svc', 'authentication-info', 'nel', 'origin-agent-cluster', 'public-key-pins'],
  ...['public-key-pins-report-only', 'report-to', 'reporting-endpoints', 'server-timing'],
  ...['service-worker-allowed', 'set-cookie', 'set-cookie2', 'strict-transport-security'],
  ...['www-authenticate'],
  ...['refresh', 'status'],
  // A server in front would send one of its files.
  ...['x-sendfile', 'x-lighttpd-send-file', 'x-reproxy-url'],
])
const DENIED_FAMILIES =
  /^(?:access-control-|cross-origin-|proxy-|sec-|surrogate-|x-accel-|x-forwarded-|x-litespeed-|x-prepaint|x-prerender-throttled$|:)/

// RFC 9110, section 5.1.
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]{1,100}$/
export const PAGE_HEADERS_LIMIT = 20
export const HEADER_VALUE_LIMIT_CHARS = 2_048
/** Names and values together; leaves room for headers of servers in front. */
export const PAGE_HEADERS_LIMIT_CHARS = 8_192

/** Parses `Name: value` texts; drops malformed, denied, repeated or excess ones. `location` needs a redirect status. */
export function pageHeaders(texts: readonly string[]): [name: string, value: string][] {
  const kept: [string, string][] = []
  let chars = 0
  for (const text of texts) {
    const at = text.indexOf(':')
    if (at < 1) continue
    const name = text.slice(0, at).trim().toLowerCase()
    const value = text.slice(at + 1).trim()
    if (!TOKEN.test(name) || DENIED.has(name) || DENIED_FAMILIES.test(name)) continue
    if (value === '' || value.length > HEADER_VALUE_LIMIT_CHARS || !/^[\x20-\x7e]*$/.test(value)) continue
    if (kept.some(([known]) => known === name)) continue
    chars += name.length + value.length
    if (kept.length === PAGE_HEADERS_LIMIT || chars > PAGE_HEADERS_LIMIT_CHARS) break
    kept.push([name, value])
  }
  return kept
}

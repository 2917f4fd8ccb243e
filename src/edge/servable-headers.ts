// What the origin said about its own answer and its own connection; the edge says these itself.
const NOT_STORED = new Set([
  'age',
  'accept-ranges',
  'alt-svc',
  'cache-control',
  'cache-status',
  'clear-site-data',
  'connection',
  'content-encoding',
  'content-length',
  'content-range',
  'date',
  'etag',
  'expires',
  'http2-settings',
  'keep-alive',
  'last-modified',
  'pragma',
  'proxy-authenticate',
  'proxy-connection',
  'server-timing',
  // One visitor's; a stored page is everybody's.
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'vary',
  'via',
  'www-authenticate',
  'x-prepaint',
  'x-request-id',
])

// RFC 9110, section 5.1 (token) and 5.5 (field-value: no control characters, so no line break).
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]{0,8000}$/

const LIMIT = 64

/**
 * Stored headers (from the origin and from the page's own `prerender-header`
 * metas) as a flat list that is safe to write: well-formed, none of the ones
 * that are ours to say, at most 64. The first `Content-Type` counts; the bytes
 * are UTF-8 whatever the origin once sent.
 */
export function servableHeaders(stored: readonly (readonly [name: string, value: string])[]): string[] {
  const wellFormed = stored.filter(([name, value]) => NAME.test(name) && VALUE.test(value))
  const type = wellFormed.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? 'text/html'
  const mediaType = type.split(';', 1)[0]!.trim()
  const flat = ['Content-Type', `${mediaType}; charset=utf-8`]
  for (const [name, value] of wellFormed) {
    const lower = name.toLowerCase()
    if (flat.length >= 2 * LIMIT) break
    if (lower !== 'content-type' && !NOT_STORED.has(lower)) flat.push(name, value)
  }
  return flat
}

/**
 * What Chromium may keep of the origin's answers from one render to the next.
 * A render has to see the site as it is now: a page is rendered again because
 * something has changed. So documents and data are never kept, whatever the
 * origin allows its visitors' browsers, and scripts and style sheets only as
 * long as the origin says so in so many words; without that Chromium would
 * guess from their age (RFC 9111, section 4.2.2), which for an old file means weeks.
 */
export function browserCacheControl(
  destination: string | string[] | undefined,
  received: { cacheControl: string | undefined; expires: string | undefined },
): string | undefined {
  if (!KEPT.has(String(destination))) return 'no-store'
  const isExplicit = /(?:^|[,\s])(?:max-age|no-cache|no-store|immutable)/i.test(received.cacheControl ?? '')
  if (isExplicit || received.expires !== undefined) return received.cacheControl
  return 'no-cache'
}

/** Values of `Sec-Fetch-Dest`. A module that a script imports has the destination of its importer. */
const KEPT = new Set([
  'audioworklet',
  'font',
  'image',
  'paintworklet',
  'script',
  'sharedworker',
  'style',
  'worker',
  'xslt',
])

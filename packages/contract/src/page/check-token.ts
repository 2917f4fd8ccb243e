/** The query parameter of a request that shows by which way crawlers come. It is never part of a stored path. */
export const CHECK_PARAMETER = 'prepaint_check'

/** The user agent of such a request also names a crawler, so that fronts send it to us. */
export const CHECK_AGENT =
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html) PrepaintCheck'

const IN_QUERY = new RegExp(`[?&]${CHECK_PARAMETER}=([^&#]*)`)

/** Returns the token that a URL carries, or null. Cheap for URLs without one. */
export function checkTokenOf(url: string): string | null {
  if (!url.includes(CHECK_PARAMETER)) return null
  return IN_QUERY.exec(url)?.[1] ?? null
}

/** Returns the URL with the token as its last parameter. */
export function withCheckToken(url: string, token: string): string {
  const [address = ''] = withoutCheckToken(url).split('#', 1)
  return `${address}${address.includes('?') ? '&' : '?'}${CHECK_PARAMETER}=${token}`
}

export function withoutCheckToken(url: string): string {
  if (!url.includes(CHECK_PARAMETER)) return url
  return url
    .replace(IN_QUERY, (found) => found[0]!)
    .replace(/\?&/, '?')
    .replace(/[?&](?=#|$)/, '')
    .replace(/&&/, '&')
}

/** A page by its URL, as those name it who do not know how we store it. */
export type PageUrl = {
  scheme: 'http' | 'https'
  /** As in a `Host` header: it may have a port. */
  host: string
  /** Path and query as they were spelt, beginning with `/`; ASCII. */
  path: string
}

/** Scheme, `://`, a host without user and password; then a path, a query, or nothing. */
const URL_FORM = /^(https?):\/\/([^/?#@\\\s]+)([/?][^#]*)?(?:#.*)?$/is

/** Left over from a scheme of 2009 by which crawlers asked for finished pages. */
const EMPTY_ESCAPED_FRAGMENT = /([?&])_escaped_fragment_(?:=(?:&|$)|&|$)/

/**
 * Takes `https://host/path?query` apart. The path stays as it is spelt, but for
 * what no request line can carry and an `_escaped_fragment_` that says nothing;
 * a fragment is cut off. null: not the http or https URL of a page.
 */
export function parsePageUrl(text: string): PageUrl | null {
  const [, scheme = '', host = '', rest = '/'] = URL_FORM.exec(text) ?? []
  if (host === '') return null
  const path = rest.startsWith('/') ? rest : `/${rest}`
  return { scheme: scheme.toLowerCase() as PageUrl['scheme'], host, path: ascii(withoutFlag(path)) }
}

function withoutFlag(path: string): string {
  const without = path.replace(EMPTY_ESCAPED_FRAGMENT, '$1')
  return without === path ? path : without.replace(/[?&]$/, '')
}

function ascii(path: string): string {
  return path.toWellFormed().replace(/[^\x21-\x7e]+/gu, encodeURIComponent)
}

import { agentToken } from '../../sitemaps/robots-rules.ts'
import { crawlerName, KNOWN_CRAWLERS, knownCrawlerIndex } from './known-crawlers.ts'

/** How a crawler looks for its group in robots.txt. */
export type RobotsTokens = { tokens: readonly string[]; obeysAll: boolean }

/**
 * Documented: whose group they obey without one of their own. developers.google.com/search/docs/crawling-indexing,
 * support.apple.com/119829.
 */
const ALSO: Readonly<Record<string, string>> = {
  'googlebot-image': 'googlebot',
  'googlebot-news': 'googlebot',
  'googlebot-video': 'googlebot',
  'google-inspectiontool': 'googlebot',
  applebot: 'googlebot',
}

/** Documented: they obey only groups that name them. */
const ONLY_NAMED: ReadonlySet<string> = new Set([
  'adsbot-google',
  'adsbot-google-mobile',
  'mediapartners-google',
])

/**
 * `crawler`: a token such as `Googlebot`, or a whole user agent. Tokens that no request carries (`Google-Extended`,
 * `Applebot-Extended`) are tokens like others.
 */
export function robotsTokens(crawler: string): RobotsTokens {
  const token = tokenOf(crawler.trim())
  const also = ALSO[token]
  return { tokens: also === undefined ? [token] : [token, also], obeysAll: !ONLY_NAMED.has(token) }
}

function tokenOf(crawler: string): string {
  if (/^[\w.-]+(?:\/[\w.-]*)?$/.test(crawler)) return agentToken(crawler)
  const known = KNOWN_CRAWLERS[knownCrawlerIndex(crawler)]
  return agentToken(known === undefined ? crawlerName(crawler) : known[1].replace('^', ''))
}

import { crawlerName, KNOWN_CRAWLERS, knownCrawlerIndex } from '../crawlers/known-crawlers.ts'
import { agentToken, judgePath, parseRobots, type RobotsText, type RobotsVerdict } from './robots-rules.ts'

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
export function judgeCrawler(robots: RobotsText | string, crawler: string, path: string): RobotsVerdict {
  const read = typeof robots === 'string' ? parseRobots(robots) : robots
  const token = tokenOf(crawler.trim())
  const tokens = [token, ALSO[token] ?? token, ...(ONLY_NAMED.has(token) ? [] : ['*'])]
  return judgePath(read, tokens, path)
}

function tokenOf(crawler: string): string {
  if (/^[\w.-]+(?:\/[\w.-]*)?$/.test(crawler)) return agentToken(crawler)
  const known = KNOWN_CRAWLERS[knownCrawlerIndex(crawler)]
  return agentToken(known === undefined ? crawlerName(crawler) : known[1].replace('^', ''))
}

/** Those of `crawlers` to which a robots.txt forbids the whole site. */
export function shutOut(text: string, crawlers: readonly string[]): string[] {
  const robots = parseRobots(text)
  return crawlers.filter((crawler) =>
    ['/', '/any/page'].every((path) => !judgeCrawler(robots, crawler, path).allowed),
  )
}

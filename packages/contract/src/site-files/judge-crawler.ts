import { crawlerName, knownCrawler } from '../crawlers/known-crawlers.ts'
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
  return judgePath(read, obeyedGroups(crawler), path)
}

/** Returns the names of the groups of robots.txt that a crawler obeys, the most specific first. */
export function obeyedGroups(crawler: string): string[] {
  const token = tokenOf(crawler.trim())
  const groups = [token, ALSO[token] ?? token]
  if (!ONLY_NAMED.has(token)) groups.push('*')
  return groups
}

function tokenOf(crawler: string): string {
  if (/^[\w.-]+(?:\/[\w.-]*)?$/.test(crawler)) return agentToken(crawler)
  const pattern = knownCrawler(crawler)?.pattern
  return agentToken(pattern === undefined ? crawlerName(crawler) : pattern.replace('^', ''))
}

/** Those of `crawlers` to which a robots.txt forbids the whole site. */
export function shutOut(text: string, crawlers: readonly string[]): string[] {
  const robots = parseRobots(text)
  return crawlers.filter((crawler) =>
    ['/', '/any/page'].every((path) => !judgeCrawler(robots, crawler, path).allowed),
  )
}

import { robotsTokens } from '../edge/crawlers/robots-tokens.ts'
import { judgePath, parseRobots, type RobotsText, type RobotsVerdict } from '../sitemaps/robots-rules.ts'

/** `crawler`: a token or a whole user agent. */
export function judgeCrawler(robots: RobotsText, crawler: string, path: string): RobotsVerdict {
  return judgePath(robots, robotsTokens(crawler), path)
}

/** The same of a text. */
export function judgeText(text: string, crawler: string, path: string): RobotsVerdict {
  return judgeCrawler(parseRobots(text), crawler, path)
}

/** Whose results people use to find a site. */
const SEARCH_ENGINES = ['Googlebot', 'Bingbot', 'DuckDuckBot', 'YandexBot', 'Baiduspider', 'Applebot']

/** The search engines to which a robots.txt forbids the whole site. */
export function forbiddenEngines(text: string): string[] {
  const robots = parseRobots(text)
  return SEARCH_ENGINES.filter((crawler) => {
    const rules = ['/', '/any/page'].map((path) => judgeCrawler(robots, crawler, path))
    return rules.every(({ allowed }) => !allowed)
  })
}

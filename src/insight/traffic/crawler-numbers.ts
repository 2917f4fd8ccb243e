import { KNOWN_CRAWLERS, knownCrawlerIndex } from '../../edge/crawlers/known-crawlers.ts'

/** Every name that traffic is counted under, by number. Only known crawlers: invented user agents are `other`. */
export const CRAWLER_NAMES: readonly string[] = [...KNOWN_CRAWLERS.map(([name]) => name), 'other']
export const OTHER_CRAWLER = CRAWLER_NAMES.length - 1

/** The number of a crawler's name in `CRAWLER_NAMES`. */
export function crawlerNumber(userAgent: string | undefined): number {
  const index = knownCrawlerIndex(userAgent ?? '')
  return index === -1 ? OTHER_CRAWLER : index
}

import { KNOWN_CRAWLERS, knownCrawlerIndex } from '@prepaint/contract/crawlers/known-crawlers.ts'

/** The index is the crawler's number. Unknown user agents are `other`, so invented ones create no names. */
export const CRAWLER_NAMES: readonly string[] = [...KNOWN_CRAWLERS.map(([name]) => name), 'other']
export const OTHER_CRAWLER = CRAWLER_NAMES.length - 1

export function crawlerNumber(userAgent: string | undefined): number {
  const index = knownCrawlerIndex(userAgent ?? '')
  return index === -1 ? OTHER_CRAWLER : index
}

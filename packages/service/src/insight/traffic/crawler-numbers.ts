import { KNOWN_CRAWLERS, knownCrawlerIndex, READ_CHARS } from '@prepaint/contract/crawlers/known-crawlers.ts'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'

/** The index is the crawler's number. Unknown user agents are `other`, so invented ones create no names. */
export const CRAWLER_NAMES: readonly string[] = [...new Set(KNOWN_CRAWLERS.map(({ name }) => name)), 'other']
export const OTHER_CRAWLER = CRAWLER_NAMES.length - 1

/** The number of each entry of the table, in which a crawler with several user agents has several. */
const NUMBERS = KNOWN_CRAWLERS.map(({ name }) => CRAWLER_NAMES.indexOf(name))

const REMEMBERED = 10_000

/** Every visit asks, and comparing all patterns takes microseconds. Longer user agents are not remembered. */
const remembered = new RecentMap<number>({ limit: REMEMBERED })

export function crawlerNumber(userAgent = ''): number {
  const known = remembered.get(userAgent)
  if (known !== undefined) return known
  const number = NUMBERS[knownCrawlerIndex(userAgent)] ?? OTHER_CRAWLER
  if (userAgent.length <= READ_CHARS) remembered.set(userAgent, number)
  return number
}

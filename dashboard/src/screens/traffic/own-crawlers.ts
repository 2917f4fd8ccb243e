import type { CrawlerCategory } from '@prepaint/contract/settings/domain-settings.ts'
import type { Settings } from '../../api/types.ts'

type Crawlers = Settings['crawlers']

/** The owner's lists, with clients of this pattern as crawlers of a category. */
export function withCrawler(crawlers: Crawlers, pattern: string, category: CrawlerCategory): Crawlers {
  const { add, remove } = withoutPattern(crawlers, pattern)
  return { add: [...add, { pattern, category }], remove }
}

/** The owner's lists, with clients of this pattern as people. */
export function withPerson(crawlers: Crawlers, pattern: string): Crawlers {
  const { add, remove } = withoutPattern(crawlers, pattern)
  return { add, remove: [...remove, pattern] }
}

/** A pattern in both lists would contradict itself. Patterns match in any case of letters. */
function withoutPattern({ add = [], remove = [] }: Crawlers, pattern: string): Required<Crawlers> {
  const isOther = (stored: string) => stored.toLowerCase() !== pattern.toLowerCase()
  return { add: add.filter((crawler) => isOther(crawler.pattern)), remove: remove.filter(isOther) }
}

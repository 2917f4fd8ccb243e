import { LRUCache } from 'lru-cache'

import type { CrawlerCategory, DomainSettings } from '../accounts/domain-settings.ts'
import { type Glob, matchesWithin, parseGlob } from './glob.ts'

/** What one domain says about a user agent: a category, `null` for no crawler, or `undefined` for nothing. */
export type OwnCrawlers = { categoryOf(userAgent: string): CrawlerCategory | null | undefined }

/** User agents remembered for one domain; patterns are tried once for each. */
const REMEMBERED = 100
/** Longer ones are cut, as everywhere. */
const READ_CHARS = 512

/** A domain's additions and removals; null: it has none. Who is removed is no crawler, even when added as well. */
export function ownCrawlers({ add = [], remove = [] }: DomainSettings['crawlers']): OwnCrawlers | null {
  if (add.length === 0 && remove.length === 0) return null
  const removed = remove.map(globOf)
  const added = add.map(({ pattern, category }) => [globOf(pattern), category] as const)
  const seen = new LRUCache<string, { said: CrawlerCategory | null | undefined }>({ max: REMEMBERED })

  function look(userAgent: string): CrawlerCategory | null | undefined {
    const text = userAgent.slice(0, READ_CHARS).toLowerCase()
    if (removed.some((glob) => matchesWithin(glob, text))) return null
    return added.find(([glob]) => matchesWithin(glob, text))?.[1]
  }

  return {
    categoryOf(userAgent) {
      const found = seen.get(userAgent)
      if (found !== undefined) return found.said
      const said = look(userAgent)
      if (userAgent.length <= READ_CHARS) seen.set(userAgent, { said })
      return said
    },
  }
}

function globOf(pattern: string): Glob {
  return parseGlob(pattern.toLowerCase())
}

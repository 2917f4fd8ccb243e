import { LRUCache } from 'lru-cache'

import { KNOWN_CRAWLERS } from './known-crawlers.ts'

/** As long as a name may be. */
export const CRAWLER_NAME_CHARS = 40

/** A word of a user agent that says what it is: `ExampleBot`, `some-crawler`. */
const SAYS_SO = /[a-z0-9._-]*(?:bot|crawl|spider|slurp|preview|archiv|fetcher|indexer)[a-z0-9._-]*/i
const READ_CHARS = 512

/**
 * What the crawler of a user agent calls itself, in a word or two: `Googlebot`,
 * `facebookexternalhit`. Printable ASCII; `unnamed` for one that has no name.
 * One that was seen before costs one look-up.
 */
export function createCrawlerNames(): (userAgent: string) => string {
  const seen = new LRUCache<string, string>({ max: 10_000 })
  return (userAgent) => {
    const known = seen.get(userAgent)
    if (known !== undefined) return known
    const name = nameIn(userAgent.slice(0, READ_CHARS))
    seen.set(userAgent.slice(0, 4_096), name)
    return name
  }
}

function nameIn(userAgent: string): string {
  const lower = userAgent.toLowerCase()
  for (const [holds] of KNOWN_CRAWLERS) {
    const isFirst = holds.startsWith('^')
    const word = isFirst ? holds.slice(1) : holds
    const at = isFirst ? (lower.startsWith(word) ? 0 : -1) : lower.indexOf(word)
    // As it spells itself, without what leads to its version.
    if (at !== -1) return spelt(userAgent.slice(at, at + word.length))
  }
  const said = SAYS_SO.exec(userAgent)?.[0] ?? userAgent.split(/[\s/;(]/, 1)[0] ?? ''
  return spelt(said)
}

function spelt(name: string): string {
  const plain = name
    .replace(/[^\x20-\x7e]+/g, '')
    .replace(/[/.\s-][\d/.\s-]*$/, '')
    .trim()
  return plain.slice(0, CRAWLER_NAME_CHARS) || 'unnamed'
}

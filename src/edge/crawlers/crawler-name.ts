/** As long as a name may be. */
export const CRAWLER_NAME_CHARS = 40

/** A word of a user agent that says what it is: `ExampleBot`, `some-crawler`. */
const SAYS_SO = /[a-z0-9._-]*(?:bot|crawl|spider|slurp|preview|archiv|fetcher|indexer)[a-z0-9._-]*/i
const READ_CHARS = 512

/**
 * What a crawler that no list names calls itself, in a word: `ExampleBot`.
 * Printable ASCII; `unnamed` for one that has no name. Addresses in a user agent
 * name pages about crawlers.
 */
export function crawlerNameIn(userAgent: string): string {
  const words = userAgent.slice(0, READ_CHARS).replace(/\+?https?:\S*/gi, '')
  const said = SAYS_SO.exec(words)?.[0] ?? words.trim().split(/[\s/;(]/, 1)[0] ?? ''
  const name = said
    .replace(/[^\x20-\x7e]+/g, '')
    .replace(/[/.\s-][\d/.\s-]*$/, '')
    .trim()
  return name.slice(0, CRAWLER_NAME_CHARS) || 'unnamed'
}

import { isKnownBrowser, withoutDevice } from '@prepaint/contract/crawlers/known-browsers.ts'
import { CRAWLER_NAME_CHARS, knownCrawler, READ_CHARS } from '@prepaint/contract/crawlers/known-crawlers.ts'
import { type Glob, matchesWithin, parseGlob } from '@prepaint/contract/glob.ts'
import type { AutomaticClient } from '@prepaint/contract/outcome/verdict.ts'
import type { CrawlerCategory, DomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import crawlerUserAgents from 'crawler-user-agents'
import { isbot, isbotMatch } from 'isbot'
import { LRUCache } from 'lru-cache'

const CATEGORY_OF_TAG: readonly (readonly [tag: string, category: CrawlerCategory])[] = [
  ['search-engine', 'search'],
  ['ai-crawler', 'ai'],
  ['social-preview', 'social'],
  ['seo', 'seo'],
]

/** The tags of tools that run scripts, or measure what people get. */
const TOOL_TAGS = ['http-library', 'monitoring', 'browser-automation', 'scanner']

/** The tags of crawlers outside of the four categories. */
const OTHER_TAGS = ['advertising', 'feed-reader', 'archiver', 'academic']

/** Finds unlisted crawlers that name themselves. isbot alone also matches every `App/1.0`, which includes native apps. */
const SAYS_SO =
  /bot\b|bot[/_-]|crawl|spider|slurp|preview(?:bot|er|\/)|(?:link|page|site|ur[il]|web)[ -]?preview|archiv|fetcher|indexer|\+https?:/i

/** Finds a tool of the list that is a crawler by its own word, outside of addresses. */
const NAMES_ITSELF =
  /^(?:(?!https?:)\S*\s+)*?(?!https?:)[^\s/@]*(?:bot|crawler|crawl|spider)(?:[\s/;,)(_-]|$)/i

/** Finds tools that are missing in the list, or are listed under their platform's name. */
const TOOLS =
  /^(?:$|curl|libcurl|wget|node\b|undici|bun\/|deno\/|dart|java\/|ruby|python|php\b|perl|go-http|okhttp|axios|got\b|guzzle|faraday|reactornetty|postman|insomnia|httpie|k6\/|wrk\b|autocannon|apachebench|vegeta|hey\/)|lighthouse|headlesschrome|pagespeed|gtmetrix|pingdom|uptime|statuscake|site24x7|datadog|newrelic|check_http/i

/** User agents whose category is remembered. */
const REMEMBERED = 10_000
/** Limits the size of a key; longer user agents are not found again. */
const KEY_CHARS = 4_096

/** `automatic` is null for a crawler and for a person. */
type Judged = { category: CrawlerCategory | null; automatic: AutomaticClient | null }

const PERSON: Judged = { category: null, automatic: null }

/** Tells crawlers from people and tools by the user agent. */
export class CrawlerTest {
  readonly #tagged = CATEGORY_OF_TAG.map(([tag, category]) => ({ pattern: patternOf([tag]), category }))
  readonly #tools = patternOf(TOOL_TAGS)
  readonly #others = patternOf(OTHER_TAGS)
  readonly #seen = new LRUCache<string, Judged>({ max: REMEMBERED })

  /**
   * Returns null for a person or a tool. Asks in this order: the domain's lists, browsers of people, our table, isbot
   * with crawler-user-agents.
   */
  categoryOf(userAgent: string | undefined, own: OwnCrawlers | null = null): CrawlerCategory | null {
    if (userAgent === undefined || userAgent === '') return null
    const said = own?.categoryOf(userAgent)
    return said === undefined ? this.#judge(userAgent).category : said
  }

  /**
   * Returns what a client looks like that is neither a crawler nor a browser of a person. Returns null for those, and for
   * a client that the owner's lists name.
   */
  automaticOf(userAgent: string | undefined, own: OwnCrawlers | null = null): AutomaticClient | null {
    if (userAgent === undefined || userAgent === '') return NAMELESS
    return own?.categoryOf(userAgent) === undefined ? this.#judge(userAgent).automatic : null
  }

  #judge(userAgent: string): Judged {
    const found = this.#seen.get(userAgent)
    if (found !== undefined) return found
    const judged = this.#look(userAgent.slice(0, READ_CHARS))
    this.#seen.set(userAgent.slice(0, KEY_CHARS), judged)
    return judged
  }

  #look(userAgent: string): Judged {
    if (isKnownBrowser(userAgent)) return PERSON
    const known = knownCrawler(userAgent)
    if (known !== undefined) return { category: known.category, automatic: null }
    const words = withoutDevice(userAgent)
    if (!isbot(words)) return PERSON
    for (const { pattern, category } of this.#tagged) {
      if (pattern.test(words)) return { category, automatic: null }
    }
    const isTool = TOOLS.test(words) || (this.#tools.test(words) && !NAMES_ITSELF.test(words))
    if (isTool) return { category: null, automatic: { kind: 'tool', name: automaticName(words) } }
    if (SAYS_SO.test(words) || this.#others.test(words)) return { category: 'other', automatic: null }
    return { category: null, automatic: { kind: 'unknown', name: automaticName(words) } }
  }
}

const NAMELESS: AutomaticClient = { kind: 'unknown', name: 'no user agent' }

/** Returns the word because of which a user agent looks automatic, without its version, in ASCII. */
function automaticName(userAgent: string): string {
  const match = isbotMatch(userAgent) ?? ''
  const at = Math.max(0, userAgent.indexOf(match) + match.search(/[a-z0-9]/i))
  const before = /[a-z0-9._-]*$/i.exec(userAgent.slice(0, at))?.[0] ?? ''
  const after = /^[a-z0-9._-]*/i.exec(userAgent.slice(at))?.[0] ?? ''
  const name = `${before}${after}`.replace(/[._-]*\d[\d._-]*$/, '')
  return name.slice(0, CRAWLER_NAME_CHARS) || 'unnamed'
}

function patternOf(tags: readonly string[]): RegExp {
  // The package's types omit its tags.
  const list: readonly { pattern: string; tags?: readonly string[] }[] = crawlerUserAgents
  const entries = list.filter((entry) => entry.tags?.some((tag) => tags.includes(tag)))
  return new RegExp(entries.map(({ pattern }) => `(?:${pattern})`).join('|'))
}

/** User agents whose category is remembered for each domain. */
const REMEMBERED_OF_DOMAIN = 100

/** The lists of a domain that add crawlers and remove some. */
export class OwnCrawlers {
  readonly #removed: readonly Glob[]
  readonly #added: readonly { glob: Glob; category: CrawlerCategory }[]
  readonly #seen = new LRUCache<string, { said: CrawlerCategory | null | undefined }>({
    max: REMEMBERED_OF_DOMAIN,
  })

  constructor({ add = [], remove = [] }: DomainSettings['crawlers']) {
    this.#removed = remove.map(globOf)
    this.#added = add.map(({ pattern, category }) => ({ glob: globOf(pattern), category }))
  }

  /** Returns null if the owner says that it is no crawler, and undefined if no list names it. A removal wins. */
  categoryOf(userAgent: string): CrawlerCategory | null | undefined {
    const found = this.#seen.get(userAgent)
    if (found !== undefined) return found.said
    const said = this.#look(userAgent)
    if (userAgent.length <= READ_CHARS) this.#seen.set(userAgent, { said })
    return said
  }

  #look(userAgent: string): CrawlerCategory | null | undefined {
    const text = userAgent.slice(0, READ_CHARS).toLowerCase()
    if (this.#removed.some((glob) => matchesWithin(glob, text))) return null
    return this.#added.find(({ glob }) => matchesWithin(glob, text))?.category
  }
}

/** Returns null for a domain without lists of its own. */
export function ownCrawlers(lists: DomainSettings['crawlers']): OwnCrawlers | null {
  const { add = [], remove = [] } = lists
  return add.length === 0 && remove.length === 0 ? null : new OwnCrawlers(lists)
}

function globOf(pattern: string): Glob {
  return parseGlob(pattern.toLowerCase())
}

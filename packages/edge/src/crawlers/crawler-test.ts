import { isKnownBrowser, withoutDevice } from '@prepaint/contract/crawlers/known-browsers.ts'
import { knownCrawler, READ_CHARS } from '@prepaint/contract/crawlers/known-crawlers.ts'
import { type Glob, matchesWithin, parseGlob } from '@prepaint/contract/glob.ts'
import type { CrawlerCategory, DomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import crawlerUserAgents from 'crawler-user-agents'
import { isbot } from 'isbot'
import { LRUCache } from 'lru-cache'

const CATEGORY_OF_TAG: readonly (readonly [tag: string, category: CrawlerCategory])[] = [
  ['search-engine', 'search'],
  ['ai-crawler', 'ai'],
  ['social-preview', 'social'],
  ['seo', 'seo'],
]

/** Tools that run scripts, or measure what people get. */
const TOOL_TAGS = ['http-library', 'monitoring', 'browser-automation', 'scanner']

/** Crawlers outside of the four categories. */
const OTHER_TAGS = ['advertising', 'feed-reader', 'archiver', 'academic']

/** Unlisted crawlers that name themselves. isbot alone also matches every `App/1.0`, which includes native apps. */
const SAYS_SO = /bot\b|bot[/_-]|crawl|spider|slurp|preview|archiv|fetcher|indexer|\+https?:/i

/** A tool of the list that is a crawler by its own word, outside of addresses. */
const NAMES_ITSELF =
  /^(?:(?!https?:)\S*\s+)*?(?!https?:)[^\s/@]*(?:bot|crawler|crawl|spider)(?:[\s/;,)(_-]|$)/i

/** Missing in the list, or listed under their platform's name. */
const TOOLS =
  /^(?:$|curl|libcurl|wget|node\b|undici|bun\/|deno\/|dart|java\/|ruby|python|php\b|perl|go-http|okhttp|axios|got\b|guzzle|faraday|reactornetty|postman|insomnia|httpie|k6\/|wrk\b|autocannon|apachebench|vegeta|hey\/)|lighthouse|headlesschrome|pagespeed|gtmetrix|pingdom|uptime|statuscake|site24x7|datadog|newrelic|check_http/i

/** null: a person or tool. Order: the domain's lists, browsers of people, our table, isbot with crawler-user-agents. */
export function createCrawlerTest(): CrawlerTest {
  const tagged = CATEGORY_OF_TAG.map(([tag, category]) => [patternOf([tag]), category] as const)
  const tools = patternOf(TOOL_TAGS)
  const others = patternOf(OTHER_TAGS)
  const seen = new LRUCache<string, { category: CrawlerCategory | null }>({ max: 10_000 })

  function look(userAgent: string): CrawlerCategory | null {
    if (isKnownBrowser(userAgent)) return null
    const known = knownCrawler(userAgent)
    if (known !== undefined) return known.category
    const words = withoutDevice(userAgent)
    if (!isbot(words)) return null
    for (const [pattern, category] of tagged) if (pattern.test(words)) return category
    if (TOOLS.test(words) || (tools.test(words) && !NAMES_ITSELF.test(words))) return null
    return SAYS_SO.test(words) || others.test(words) ? 'other' : null
  }

  function categoryOf(userAgent: string): CrawlerCategory | null {
    const found = seen.get(userAgent)
    if (found !== undefined) return found.category
    const category = look(userAgent.slice(0, READ_CHARS))
    // Limits the key's size; longer user agents are not cached.
    seen.set(userAgent.slice(0, 4_096), { category })
    return category
  }

  return (userAgent, own = null) => {
    if (userAgent === undefined || userAgent === '') return null
    const said = own?.categoryOf(userAgent)
    return said === undefined ? categoryOf(userAgent) : said
  }
}

export type CrawlerTest = (userAgent: string | undefined, own?: OwnCrawlers | null) => CrawlerCategory | null

function patternOf(tags: readonly string[]): RegExp {
  // The package's types omit its tags.
  const list: readonly { pattern: string; tags?: readonly string[] }[] = crawlerUserAgents
  const entries = list.filter((entry) => entry.tags?.some((tag) => tags.includes(tag)))
  return new RegExp(entries.map(({ pattern }) => `(?:${pattern})`).join('|'))
}

/** `null`: not a crawler; `undefined`: no own rule. */
export type OwnCrawlers = { categoryOf(userAgent: string): CrawlerCategory | null | undefined }

const REMEMBERED = 100
/** null: no own lists. A removal wins over an addition. */
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

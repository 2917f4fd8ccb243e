/** What a page tells robots, as it is written: for all of them, and by the name of a crawler in lower case. */
export type RobotsRules = { all: string | null; byCrawler: Record<string, string> }

const CRAWLERS_LIMIT = 20
const RULES_CHARS = 2_000

/** Finds names of meta elements that address one crawler: `googlebot`, `googlebot-news`, `baiduspider`. */
const CRAWLER =
  /^(?!robots?$)(?:[a-z][a-z0-9-]{0,40}bot(?:-[a-z]{1,20}){0,2}|[a-z]{2,40}spider|slurp|yandex)$/

/** Adds a meta element, if it is for robots. Rules of elements with the same name add up, as Google reads them. */
export function addRobotsMeta(rules: RobotsRules, name: string, content: string): void {
  if (name === 'robots') rules.all = joined(rules.all, content)
  else if (CRAWLER.test(name)) {
    const { byCrawler } = rules
    const isRoom = Object.hasOwn(byCrawler, name) || Object.keys(byCrawler).length < CRAWLERS_LIMIT
    if (isRoom) byCrawler[name] = joined(byCrawler[name] ?? null, content)
  }
}

function joined(before: string | null, content: string): string {
  return before === null ? content.slice(0, RULES_CHARS) : `${before}, ${content}`.slice(0, RULES_CHARS)
}

/** The rules as the value of an `X-Robots-Tag` header: `index, googlebot: noindex`. null if the page has none. */
export function robotsText({ all, byCrawler }: RobotsRules): string | null {
  const named = Object.entries(byCrawler).map(([name, rules]) => `${name}: ${rules}`)
  const texts = all === null ? named : [all, ...named]
  return texts.length === 0 ? null : texts.join(', ')
}

type Headers = readonly (readonly [name: string, value: string])[]

/**
 * Whether Google may list a page: neither its rules for all robots nor those for Googlebot forbid it, in the page or in
 * its headers (developers.google.com/search/docs/crawling-indexing/robots-meta-tag: the most restrictive rule counts).
 */
export function mayBeIndexed({ all, byCrawler }: RobotsRules, headers: Headers): boolean {
  const metas = [all ?? '', byCrawler['googlebot'] ?? '']
  const tags = headers.filter(([name]) => name.toLowerCase() === 'x-robots-tag')
  return !metas.some(forbids) && !tags.some(([, value]) => headerForbids(value))
}

function forbids(rules: string): boolean {
  return rules.split(',').some((rule) => /^\s*(?:noindex|none)\s*$/i.test(rule))
}

/** `X-Robots-Tag: otherbot: noindex` is about that crawler alone, until another one is named. */
function headerForbids(value: string): boolean {
  let isMeant = true
  for (const part of value.split(',')) {
    const [, name = '', rules = ''] = /^\s*([a-z][\w-]*)\s*:(.*)$/i.exec(part) ?? []
    const isRule = /^(?:max-|unavailable_after$)/i.test(name)
    if (name !== '' && !isRule) isMeant = name.toLowerCase() === 'googlebot'
    if (isMeant && !isRule && forbids(name === '' ? part : rules)) return true
  }
  return false
}

import { createRequire } from 'node:module'

import type { PagePath } from '../ids.ts'
import { type GetOptions, getFromSite, readText } from '../outbound/get.ts'
import { pathOn, type Site } from './site.ts'

type ParseRobots = (
  url: string,
  text: string,
) => { isAllowed(url: string, token: string): boolean | undefined; getSitemaps(): string[] }

// CommonJS, although its types declare an ES module.
const robotsParser: ParseRobots = createRequire(import.meta.url)('robots-parser')

const ROBOTS_TOKEN = 'Prepaint'

/** Crawlers stop reading here too (RFC 9309, section 2.5). */
export const ROBOTS_LIMIT_BYTES = 500 * 1024
const TOTAL_MS = 15_000
const SITEMAPS_LIMIT = 1_000

/** Each rule is compared with each path; a rule with `*` costs its length times the path's. */
export const RULES_LIMIT = 2_000
export const WILDCARD_RULES_LIMIT = 100
export const RULE_LIMIT_CHARS = 300

export type Robots = {
  /** Whether we may request it on our own. */
  allows(path: PagePath): boolean
  sitemaps: readonly PagePath[]
}

/**
 * A site's robots.txt; empty if there is none, which allows everything (RFC 9309, section 2.3.1.3). Rejects when
 * unreachable, 5xx or 429, which forbids everything (section 2.3.1.4).
 */
export async function fetchRobots(options: GetOptions, site: Site, signal: AbortSignal): Promise<string> {
  const ends = AbortSignal.any([signal, AbortSignal.timeout(TOTAL_MS)])
  const { statusCode, body } = await getFromSite(
    { ...options, encoding: 'identity' },
    site,
    '/robots.txt',
    ends,
  )
  try {
    if (statusCode >= 500 || statusCode === 429) throw new Error(`the origin answered ${statusCode}`)
    if (statusCode !== 200) return ''
    const { text } = await readText(body, ROBOTS_LIMIT_BYTES)
    return text.replaceAll('\0', '')
  } finally {
    body.destroy()
  }
}

export function readRobots(text: string, site: Omit<Site, 'id'>): Robots {
  const home = `https://${site.name}`
  const robots = robotsParser(`${home}/robots.txt`, bounded(text))
  return {
    allows: (path) => robots.isAllowed(`${home}${path}`, ROBOTS_TOKEN) !== false,
    sitemaps: [
      ...new Set(
        robots
          .getSitemaps()
          .slice(0, SITEMAPS_LIMIT)
          .flatMap((address) => pathOn(site, address) ?? []),
      ),
    ],
  }
}

function bounded(text: string): string {
  let rules = 0
  let wildcards = 0
  return text
    .split(/\r\n|\r|\n/)
    .filter((line) => {
      const pattern = /^\s*(?:dis)?allow\s*:\s*([^#]*)/i.exec(line)?.[1]?.trim()
      if (pattern === undefined) return line.length <= 4_096
      if (++rules > RULES_LIMIT || pattern.length > RULE_LIMIT_CHARS) return false
      return !pattern.includes('*') || ++wildcards <= WILDCARD_RULES_LIMIT
    })
    .join('\n')
}

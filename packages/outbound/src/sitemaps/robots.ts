import type { PagePath } from '@prepaint/contract/ids.ts'
import { judgePath, parseRobots } from '@prepaint/contract/site-files/robots-rules.ts'
import { pathOn, type Site } from '@prepaint/contract/site-files/site.ts'
import { type GetOptions, getFromSite, readText } from '../get.ts'

const OWN_TOKENS = ['prepaint', '*']

/** Crawlers stop reading here too (RFC 9309, section 2.5). */
export const ROBOTS_LIMIT_BYTES = 512_000
const TOTAL_MS = 15_000
const SITEMAPS_LIMIT = 1_000

export type Robots = {
  /** Returns whether we may request the path on our own. */
  allows(path: PagePath): boolean
  sitemaps: readonly PagePath[]
}

/** `isWhole` false: it is longer than crawlers read. */
type RobotsFile = { text: string; isWhole: boolean; contentType: string | undefined }

/**
 * A site's robots.txt; empty if there is none, which allows everything (RFC 9309, section 2.3.1.3). Rejects when
 * unreachable, 5xx or 429, which forbids everything (section 2.3.1.4).
 */
export async function fetchRobots(
  options: GetOptions,
  site: Omit<Site, 'id'>,
  signal: AbortSignal,
): Promise<RobotsFile> {
  const ends = AbortSignal.any([signal, AbortSignal.timeout(TOTAL_MS)])
  const { statusCode, headers, body } = await getFromSite(
    { ...options, encoding: 'identity' },
    site,
    '/robots.txt',
    ends,
  )
  try {
    if (isFailing(statusCode)) throw new Error(`the origin answered ${statusCode}`)
    const contentType = headers['content-type']
    if (statusCode !== 200) return { text: '', isWhole: true, contentType }
    const { text, isWhole } = await readText(body, ROBOTS_LIMIT_BYTES)
    return { text: text.replaceAll('\0', ''), isWhole, contentType }
  } finally {
    body.destroy()
  }
}

/** Says nothing of whether there is a robots.txt. */
export function isFailing(status: number): boolean {
  return status >= 500 || status === 429
}

/** What we may serve of it: a page of an application is no robots.txt. */
export function servableRobots({ text, isWhole, contentType = '' }: RobotsFile): string {
  const isHtml = /html/i.test(contentType) || /^\s*<(?:!doctype|html)/i.test(text)
  return isHtml || !isWhole ? '' : text.replaceAll('\0', '')
}

export function readRobots(text: string, site: Omit<Site, 'id'>): Robots {
  const robots = parseRobots(text)
  const own = robots.sitemaps.slice(0, SITEMAPS_LIMIT).flatMap((address) => pathOn(site, address) ?? [])
  return {
    allows: (path) => judgePath(robots, OWN_TOKENS, path).allowed,
    sitemaps: [...new Set(own)],
  }
}

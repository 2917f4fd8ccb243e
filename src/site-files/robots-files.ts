import { LRUCache } from 'lru-cache'
import type { Queryable } from '../db/transaction.ts'
import type { DomainId, DomainName } from '../ids.ts'
import { readOrigin } from '../outbound/origin.ts'
import { parseRobots, type RobotsText } from '../sitemaps/robots-rules.ts'
import type { Site } from '../sitemaps/site.ts'
import type { DomainSettings, RobotsMode } from '../sites/domain-settings.ts'
import type { OriginRobots } from './origin-robots.ts'
import { composeRobots, hasPreferences } from './robots-text.ts'
import { newestContent } from './versions.ts'

export type SiteFileSettings = Pick<DomainSettings, 'preferences' | 'sitemap'> & { robotsMode: RobotsMode }

/** A new object after each change of the domain. */
export type RobotsSite = Site & { files: SiteFileSettings }

export function siteFileSettings(settings: DomainSettings): SiteFileSettings {
  const { preferences, sitemap, robots } = settings
  return { preferences, sitemap, robotsMode: robots.mode }
}

export function robotsSiteOf(domain: {
  id: DomainId
  name: DomainName
  originUrl: string
  settings: DomainSettings
}): RobotsSite {
  const { id, name, originUrl, settings } = domain
  const files = siteFileSettings(settings)
  return { id, name, origin: readOrigin(originUrl, id), query: settings.query, files }
}

/** Otherwise the origin's is passed on as it is. */
export function isServedByUs({ robotsMode, preferences }: SiteFileSettings): boolean {
  return robotsMode !== 'origin' || hasPreferences(preferences)
}

export async function ownRobotsText(db: Queryable, domain: DomainId): Promise<string> {
  const content = (await newestContent(db, domain, 'robots')) as { text?: string } | null
  return content?.text ?? ''
}

const MEMORY_LIMIT_CHARS = 32 * 1024 * 1024

/** What is served as /robots.txt now, by domain. */
export class RobotsFiles {
  readonly origin: OriginRobots
  readonly #db: Queryable
  readonly #own = new LRUCache<DomainId, { site: RobotsSite; text: string }>({
    maxSize: MEMORY_LIMIT_CHARS,
    sizeCalculation: ({ text }) => 200 + text.length,
  })
  readonly #parsed = new LRUCache<DomainId, { text: string; robots: RobotsText }>({
    maxSize: MEMORY_LIMIT_CHARS,
    sizeCalculation: ({ text }) => 500 + 5 * text.length,
  })

  constructor(db: Queryable, origin: OriginRobots) {
    this.#db = db
    this.origin = origin
  }

  /** null: the origin cannot be reached. `maxAgeMs`: of the origin's part; absent: a minute. */
  async served(site: RobotsSite, maxAgeMs?: number): Promise<string | null> {
    const { robotsMode: mode } = site.files
    const text = mode === 'origin' ? '' : await this.#ownText(site)
    return this.wouldServe(site, { mode, text }, maxAgeMs)
  }

  /** What would be served with other settings. null: the origin cannot be reached. */
  async wouldServe(
    site: RobotsSite,
    { mode, text }: { mode: RobotsMode; text: string },
    maxAgeMs?: number,
  ): Promise<string | null> {
    const { preferences, sitemap } = site.files
    const origin = mode === 'replace' ? '' : await this.origin.read(site, maxAgeMs)
    if (origin === null) return null
    if (!isServedByUs({ ...site.files, robotsMode: mode })) return origin
    const sitemapUrl = sitemap === 'generate' ? `https://${site.name}/sitemap.xml` : null
    return composeRobots({ mode, text, origin, preferences, sitemapUrl })
  }

  /** `served`, read. */
  async rules(site: RobotsSite, maxAgeMs?: number): Promise<RobotsText | null> {
    const text = await this.served(site, maxAgeMs)
    if (text === null) return null
    const known = this.#parsed.get(site.id)
    if (known?.text === text) return known.robots
    const robots = parseRobots(text)
    this.#parsed.set(site.id, { text, robots })
    return robots
  }

  async #ownText(site: RobotsSite): Promise<string> {
    const known = this.#own.get(site.id)
    if (known?.site === site) return known.text
    const text = await ownRobotsText(this.#db, site.id)
    this.#own.set(site.id, { site, text })
    return text
  }
}

import { LRUCache } from 'lru-cache'
import type { Queryable } from '../db/transaction.ts'
import type { DomainId, DomainName } from '../ids.ts'
import { readOrigin } from '../outbound/origin.ts'
import { parseRobots, type RobotsText } from '../sitemaps/robots-rules.ts'
import type { Site } from '../sitemaps/site.ts'
import type { DomainSettings, RobotsMode } from '../sites/domain-settings.ts'
import { MEMORY_LIMIT_CHARS, OriginRobots, type OriginRobotsDeps } from './origin-robots.ts'
import { composeRobots } from './robots-text.ts'
import { newestContent } from './versions.ts'

/** A new object after each change of the domain. */
export type RobotsSite = Site & { files: Pick<DomainSettings, 'preferences' | 'robots' | 'sitemap'> }

export function robotsSiteOf(domain: {
  id: DomainId
  name: DomainName
  originUrl: string
  settings: DomainSettings
}): RobotsSite {
  const { id, name, originUrl, settings } = domain
  return { id, name, origin: readOrigin(originUrl, id), query: settings.query, files: settings }
}

/** Otherwise the origin's is passed on as it is. */
export function isServedByUs({ robots, preferences }: RobotsSite['files']): boolean {
  return robots.mode !== 'origin' || Object.keys(preferences).length > 0
}

export async function ownRobotsText(db: Queryable, domain: DomainId): Promise<string> {
  const content = (await newestContent(db, domain, 'robots')) as { text?: string } | null
  return content?.text ?? ''
}

/** What is served as /robots.txt now, by domain. */
export class RobotsFiles {
  readonly origin: OriginRobots
  readonly #db: Queryable
  readonly #own = new LRUCache<DomainId, { site: RobotsSite; text: string }>({
    maxSize: MEMORY_LIMIT_CHARS,
    sizeCalculation: ({ text }) => 200 + text.length,
  })
  /** By text. */
  readonly #parsed = new LRUCache<string, RobotsText>({
    maxSize: MEMORY_LIMIT_CHARS,
    sizeCalculation: (_robots, text) => 500 + 6 * text.length,
    memoMethod: (text) => parseRobots(text),
  })

  constructor(deps: OriginRobotsDeps) {
    this.#db = deps.db
    this.origin = new OriginRobots(deps)
  }

  /** null: the origin cannot be reached. `maxAgeMs`: of the origin's part; absent: a minute. */
  async served(site: RobotsSite, maxAgeMs?: number): Promise<string | null> {
    const { mode } = site.files.robots
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
    if (origin === null || !isServedByUs({ ...site.files, robots: { mode } })) return origin
    const sitemapUrl = sitemap === 'generate' ? `https://${site.name}/sitemap.xml` : null
    return composeRobots({ mode, text, origin, preferences, sitemapUrl })
  }

  /** `served`, read. */
  async rules(site: RobotsSite, maxAgeMs?: number): Promise<RobotsText | null> {
    const text = await this.served(site, maxAgeMs)
    return text === null ? null : this.#parsed.memo(text)
  }

  async #ownText(site: RobotsSite): Promise<string> {
    const known = this.#own.get(site.id)
    if (known?.site === site) return known.text
    const text = await ownRobotsText(this.#db, site.id)
    this.#own.set(site.id, { site, text })
    return text
  }
}

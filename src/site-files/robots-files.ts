import { LRUCache } from 'lru-cache'
import type { Queryable } from '../db/transaction.ts'
import type { DomainId, DomainName } from '../ids.ts'
import { readOrigin } from '../outbound/origin.ts'
import { parseRobots, type RobotsText } from '../sitemaps/robots-rules.ts'
import type { Site } from '../sitemaps/site.ts'
import type { DomainSettings } from '../sites/domain-settings.ts'
import { MEMORY_LIMIT_CHARS, OriginRobots, type OriginRobotsDeps } from './origin-robots.ts'
import { servedRobots } from './robots-text.ts'
import { newestContent } from './versions.ts'

/** A new object after each change of the domain. */
export type RobotsSite = Site & { files: Pick<DomainSettings, 'preferences' | 'robots' | 'sitemap'> }

type Domain = { id: DomainId; name: DomainName; originUrl: string; settings: DomainSettings }

export function robotsSiteOf({ id, name, originUrl, settings }: Domain): RobotsSite {
  return { id, name, origin: readOrigin(originUrl, id), query: settings.query, files: settings }
}

export async function ownRobotsText(db: Queryable, domain: DomainId): Promise<string> {
  const content = (await newestContent(db, domain, 'robots')) as { text?: string } | null
  return content?.text ?? ''
}

/** As the API shows it. */
export async function robotsView(db: Queryable, robots: RobotsFiles | undefined, domain: Domain) {
  const site = robotsSiteOf(domain)
  const text = await ownRobotsText(db, domain.id)
  const [origin = null, served = null] = [await robots?.origin.read(site), await robots?.served(site)]
  return { domain: domain.name, mode: domain.settings.robots.mode, text, origin, served }
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
    const origin = mode === 'replace' ? '' : await this.origin.read(site, maxAgeMs)
    return origin === null ? null : servedRobots(site, text, origin)
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

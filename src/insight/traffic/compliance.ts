import { setImmediate as othersFirst } from 'node:timers/promises'
import { utcDay } from '../../clock.ts'
import type { Queryable } from '../../db/transaction.ts'
import { knownCrawlerIndex, READ_CHARS } from '../../edge/crawlers/known-crawlers.ts'
import type { DomainId } from '../../ids.ts'
import type { Log } from '../../log.ts'
import { judgeCrawler } from '../../site-files/judge-crawler.ts'
import type { RobotsFiles, RobotsSite } from '../../site-files/robots-files.ts'
import type { RobotsText } from '../../sitemaps/robots-rules.ts'
import { broadCategory, purposeOf } from '../../sites/domain-settings.ts'
import { within } from '../../within.ts'
import { CRAWLER_NAMES, OTHER_CRAWLER } from './crawler-numbers.ts'
import type { TrafficOf } from './read-traffic.ts'
import type { TimeRange } from './time-range.ts'

const FLUSH_EVERY_MS = 5_000
/** Visits by domains whose robots.txt is slow are counted with a later flush. */
const ROUND_MS = 2_000
/** An origin is asked for its robots.txt no more often than this. */
const RULES_KEPT_MS = 600_000
const ACCOUNTS_AT_ONCE = 16
/** Further paths are not judged until the next flush. */
export const LIMITS = { paths: 20_000, pathsOfDomain: 1_000, pathChars: 2_048 }
/** Pieces of rules that are compared for a domain in a flush: about 2 ms. */
const CHECKS = 50_000
const EXAMPLES = 3

/** The memo of a crawler and a path. */
type Asked = { visits: number; isForbidden: boolean | null }
type Crawler = { userAgent: string; category: string; paths: Map<string, Asked> }
type Site = RobotsSite & { account: number }
type Visited = {
  site: Site
  rules: RobotsText | null
  crawlers: Map<number | string, Crawler>
  paths: number
  isVisited: boolean
}
type Forbidden = {
  domain_id: DomainId
  day: string
  category: string
  crawler: string
  visits: number
  paths: string[]
}
type Parts = {
  pool: Queryable
  robots: Pick<RobotsFiles, 'rules'>
  clock: { nowMs(): number }
  log: Log
  flushEveryMs?: number
}

/** Counts visits to paths that robots.txt forbids the crawler. Judges between requests; a batch that fails is lost. */
export class Compliance {
  readonly #parts: Parts
  readonly #timer: NodeJS.Timeout
  readonly #visited = new Map<DomainId, Visited>()
  #paths = 0
  #forbidden = new Map<string, Forbidden>()
  #round: Promise<void> | null = null

  constructor(parts: Parts) {
    this.#parts = parts
    this.#timer = setInterval(() => void this.flush(), parts.flushEveryMs ?? FLUSH_EVERY_MS).unref()
  }

  /** Three look-ups in memory. */
  note(site: Site, category: string, userAgent: string, url: string): void {
    let visited = this.#visited.get(site.id)
    if (visited === undefined) {
      visited = { site, rules: null, crawlers: new Map(), paths: 0, isVisited: true }
      this.#visited.set(site.id, visited)
    }
    visited.site = site
    visited.isVisited = true
    const index = knownCrawlerIndex(userAgent)
    const asked = visited.crawlers.get(index === -1 ? userAgent : index)?.paths.get(url)
    if (asked === undefined) this.#add(visited, { userAgent, category, index, url })
    else asked.visits++
  }

  #add(visited: Visited, of: { userAgent: string; category: string; index: number; url: string }): void {
    const { userAgent, category, index, url } = of
    const isFull = visited.paths >= LIMITS.pathsOfDomain || this.#paths >= LIMITS.paths
    if (isFull || url.length > LIMITS.pathChars || userAgent.length > READ_CHARS) return
    const key = index === -1 ? userAgent : index
    const crawler = visited.crawlers.get(key) ?? { userAgent, category, paths: new Map() }
    visited.crawlers.set(key, crawler)
    crawler.paths.set(url, { visits: 1, isForbidden: null })
    visited.paths++
    this.#paths++
  }

  async flush(): Promise<void> {
    this.#round ??= this.#judgeAll().finally(() => {
      this.#round = null
    })
    await within(ROUND_MS, this.#round, undefined)
    await this.#write()
  }

  /** Visits of the last seconds are not judged: a node that stops asks no origin. */
  close(): Promise<void> {
    clearInterval(this.#timer)
    return this.#write()
  }

  /** Accounts side by side, so that slow origins of one do not keep the others waiting. */
  async #judgeAll(): Promise<void> {
    const accounts = Map.groupBy(this.#visited.values(), ({ site }) => site.account).values()
    const judgeNext = async (): Promise<void> => {
      for (const ofAccount of accounts) {
        const untilMs = this.#parts.clock.nowMs() + ROUND_MS
        for (const visited of ofAccount) {
          if (this.#parts.clock.nowMs() > untilMs) break
          await this.#judge(visited)
          await othersFirst()
        }
      }
    }
    await Promise.all(Array.from({ length: ACCOUNTS_AT_ONCE }, judgeNext))
  }

  async #judge(visited: Visited): Promise<void> {
    const { site, isVisited } = visited
    visited.isVisited = false
    const rules = isVisited ? await this.#parts.robots.rules(site, RULES_KEPT_MS).catch(() => null) : null
    if (rules !== null) this.#judgePaths(visited, rules)
    const isFull = visited.paths >= LIMITS.pathsOfDomain
    if (isVisited && !isFull) return
    for (const { paths } of visited.crawlers.values()) {
      for (const [path, { visits }] of paths)
        if (!isVisited || visits === 0) this.#forget(visited, paths, path)
    }
    if (!isVisited) this.#visited.delete(site.id)
  }

  #forget(visited: Visited, paths: Map<string, Asked>, path: string): void {
    paths.delete(path)
    visited.paths--
    this.#paths--
  }

  #judgePaths(visited: Visited, rules: RobotsText): void {
    const isNew = rules !== visited.rules
    visited.rules = rules
    const cost = costOf(rules)
    let left = CHECKS
    for (const [key, { userAgent, category, paths }] of visited.crawlers) {
      const crawler = typeof key === 'number' ? CRAWLER_NAMES[key]! : CRAWLER_NAMES[OTHER_CRAWLER]!
      for (const [path, asked] of paths) {
        if (isNew) asked.isForbidden = null
        if (asked.visits === 0) continue
        if (asked.isForbidden === null) {
          if (left <= 0) {
            visited.isVisited = true
            continue
          }
          left -= cost
          asked.isForbidden = !judgeCrawler(rules, userAgent, path).allowed
        }
        if (asked.isForbidden) this.#count(visited.site.id, category, crawler, path, asked.visits)
        asked.visits = 0
      }
    }
  }

  #count(domain: DomainId, category: string, crawler: string, path: string, visits: number): void {
    const day = utcDay(this.#parts.clock.nowMs())
    const key = `${domain} ${day} ${category} ${crawler}`
    const known = this.#forbidden.get(key)
    const row = known ?? { domain_id: domain, day, category, crawler, visits: 0, paths: [] }
    row.visits += visits
    if (row.paths.length < EXAMPLES && !row.paths.includes(path)) row.paths.push(path)
    this.#forbidden.set(key, row)
  }

  async #write(): Promise<void> {
    if (this.#forbidden.size === 0) return
    // Nodes write in the same order, to avoid deadlocks.
    const rows = [...this.#forbidden].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
    this.#forbidden = new Map()
    try {
      await this.#parts.pool.query({
        name: 'traffic-add-forbidden',
        text: ADD,
        values: [JSON.stringify(rows)],
      })
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'visits that robots.txt forbids could not be counted')
    }
  }
}

/** Of judging one path. */
function costOf({ groups }: RobotsText): number {
  let pieces = 1
  for (const group of groups) for (const rule of group.rules) pieces += rule.pieces.length
  return pieces
}

const ADD = `
  insert into traffic_forbidden as t (domain_id, day, category, crawler, visits, paths)
  select n.* from json_populate_recordset(null::traffic_forbidden, $1) n join domain d on d.id = n.domain_id
  on conflict (domain_id, day, category, crawler) do update set
    visits = t.visits + excluded.visits,
    paths = array(select path from unnest(excluded.paths || t.paths) with ordinality as each (path, at)
                   group by path order by min(at) limit ${EXAMPLES})`

export type CrawlerCompliance = {
  name: string
  category: string
  purpose: string | null
  visits: number
  forbidden: number
  paths: string[]
}

// Always filtered by account in SQL.
const READ = `
  with own as (select id from domain where account_id = $1 and id = $2),
  forbidden as (
    select category, crawler, sum(visits)::float8 as visits,
           array(select path from traffic_forbidden n, unnest(n.paths) with ordinality as each (path, at)
                  where n.domain_id = $2 and n.day >= $3 and n.day <= $4
                    and n.category = f.category and n.crawler = f.crawler
                  group by path order by max(n.day) desc, min(at) limit ${EXAMPLES}) as paths
      from traffic_forbidden f
     where domain_id in (select id from own) and day >= $3 and day <= $4
     group by category, crawler),
  visited as (
    select category, crawler, sum(visits)::float8 as visits
      from traffic_day
     where domain_id in (select id from own) and day >= $3 and day <= $4 and category <> 'people'
     group by category, crawler)
  select crawler as name, category, greatest(v.visits, f.visits) as visits, coalesce(f.visits, 0) as forbidden,
         coalesce(f.paths, '{}') as paths
    from visited v full join forbidden f using (category, crawler)
   order by forbidden desc, visits desc, name, category`

/** All crawlers of whole UTC days, the most disobedient first. */
export async function readCompliance(
  db: Queryable,
  { account, domain }: TrafficOf,
  { fromMs, toMs }: TimeRange,
): Promise<CrawlerCompliance[]> {
  const { rows } = await db.query<Omit<CrawlerCompliance, 'purpose'>>({
    name: 'traffic-compliance',
    text: READ,
    values: [account, domain, utcDay(fromMs), utcDay(toMs - 1)],
  })
  return rows.map(({ category, ...row }) => ({
    ...{ name: row.name, category: broadCategory(category), purpose: purposeOf(category) },
    ...{ visits: row.visits, forbidden: row.forbidden, paths: row.paths },
  }))
}

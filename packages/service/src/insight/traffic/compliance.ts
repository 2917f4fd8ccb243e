import { setImmediate as othersFirst } from 'node:timers/promises'
import { READ_CHARS } from '@prepaint/contract/crawlers/known-crawlers.ts'
import { utcDay } from '@prepaint/contract/dates.ts'
import type { DomainId, Scope } from '@prepaint/contract/ids.ts'
import { broadCategory, purposeOf } from '@prepaint/contract/settings/domain-settings.ts'
import { obeyedGroups } from '@prepaint/contract/site-files/judge-crawler.ts'
import { judgePath, type RobotsText } from '@prepaint/contract/site-files/robots-rules.ts'
import type { TimeRange } from '@prepaint/contract/traffic/time-range.ts'
import type { RobotsFiles, RobotsSite } from '@prepaint/pages/site-files/robots-files.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { within } from '@prepaint/runtime/within.ts'
import { CRAWLER_NAMES, crawlerNumber, OTHER_CRAWLER } from './crawler-numbers.ts'

const FLUSH_EVERY_MS = 5_000
/** Visits by domains whose robots.txt is slow are counted with a later flush. */
const ROUND_MS = 2_000
/** An origin is asked for its robots.txt no more often than this. */
const RULES_KEPT_MS = 600_000
const ACCOUNTS_AT_ONCE = 16
/** Further paths are not judged until the next flush. */
export const LIMITS = {
  paths: 20_000,
  pathsOfDomain: 1_000,
  pathChars: 2_048,
  /** Pieces of rules that are compared for a domain in a flush, which takes about 2 ms. */
  checks: 50_000,
}
const EXAMPLES = 3

/** Visits of a crawler to a path that are not judged yet. */
type Asked = { userAgent: string; category: string; crawler: string; path: string; visits: number }
type Site = RobotsSite & { account: number; isActive: boolean }
type Visited = { site: Site; asked: Map<string, Asked> }

/**
 * Counts visits to paths that robots.txt forbids the crawler. Judges each crawler and path once a flush, between requests.
 * Visits whose robots.txt cannot be read, or that cannot be written, are lost.
 */
export class Compliance {
  readonly #pool: Queryable
  readonly #robots: RobotsFiles
  readonly #clock: Clock
  readonly #log: Log
  readonly #timer: NodeJS.Timeout
  readonly #visited = new Map<DomainId, Visited>()
  #paths = 0
  #round: Promise<void> | null = null

  constructor(
    pool: Queryable,
    robots: RobotsFiles,
    clock: Clock,
    log: Log,
    { flushEveryMs = FLUSH_EVERY_MS }: { flushEveryMs?: number } = {},
  ) {
    this.#pool = pool
    this.#robots = robots
    this.#clock = clock
    this.#log = log
    this.#timer = setInterval(() => void this.flush(), flushEveryMs).unref()
  }

  /** Counts a visit that the next flush judges. Costs three look-ups in memory. */
  note(site: Site, category: string, userAgent: string, url: string): void {
    if (!site.isActive) return
    let visited = this.#visited.get(site.id)
    if (visited === undefined) {
      visited = { site, asked: new Map() }
      this.#visited.set(site.id, visited)
    }
    visited.site = site
    const number = crawlerNumber(userAgent)
    const key = `${number === OTHER_CRAWLER ? userAgent : number} ${url}`
    const known = visited.asked.get(key)
    if (known !== undefined) {
      known.visits++
      return
    }
    const isFull = visited.asked.size >= LIMITS.pathsOfDomain || this.#paths >= LIMITS.paths
    if (isFull || url.length > LIMITS.pathChars || userAgent.length > READ_CHARS) return
    const crawler = CRAWLER_NAMES[number]!
    visited.asked.set(key, { userAgent, category, crawler, path: url, visits: 1 })
    this.#paths++
  }

  /** Judges and writes the visits that were noted. Shares a flush that is under way. */
  flush(): Promise<void> {
    this.#round ??= this.#judgeAll().finally(() => {
      this.#round = null
    })
    return this.#round
  }

  /** Waits for a flush that is under way. Later visits are not judged: a node that stops asks no origin. */
  close(): Promise<void> {
    clearInterval(this.#timer)
    return within(ROUND_MS, this.#round ?? Promise.resolve(), undefined)
  }

  /** Accounts side by side, so that slow origins of one do not keep the others waiting. */
  async #judgeAll(): Promise<void> {
    const accounts = Map.groupBy(this.#visited.values(), ({ site }) => site.account).values()
    const judgeNext = async (): Promise<void> => {
      for (const ofAccount of accounts) {
        const untilMs = this.#clock.nowMs() + ROUND_MS
        for (const visited of ofAccount) {
          if (this.#clock.nowMs() > untilMs) break
          await this.#judge(visited).catch((error: Error) =>
            this.#log.warn({ err: error }, 'visits that robots.txt forbids could not be counted'),
          )
          await othersFirst()
        }
      }
    }
    await Promise.all(Array.from({ length: ACCOUNTS_AT_ONCE }, judgeNext))
  }

  async #judge({ site, asked }: Visited): Promise<void> {
    const rules = await this.#robots.rules(site, RULES_KEPT_MS)
    // The next flush judges the rest.
    const now = rules === null ? [...asked] : [...asked].slice(0, Math.ceil(LIMITS.checks / checksOf(rules)))
    const groupsOf = new Map<string, string[]>()
    const forbidden: Asked[] = []
    for (const [key, visit] of now) {
      asked.delete(key)
      if (rules === null) continue
      const groups = groupsOf.get(visit.userAgent) ?? obeyedGroups(visit.userAgent)
      groupsOf.set(visit.userAgent, groups)
      if (!judgePath(rules, groups, visit.path).allowed) forbidden.push(visit)
    }
    this.#paths -= now.length
    if (asked.size === 0) this.#visited.delete(site.id)
    if (forbidden.length > 0) await addForbidden(this.#pool, site.id, utcDay(this.#clock.nowMs()), forbidden)
  }
}

function checksOf({ groups }: RobotsText): number {
  return groups.flatMap(({ rules }) => rules).reduce((sum, { pieces }) => sum + pieces.length, 1)
}

/** Adds rows in the order of their keys, to avoid deadlocks. */
async function addForbidden(
  db: Queryable,
  domain: DomainId,
  day: string,
  visits: readonly Asked[],
): Promise<void> {
  await db.query({
    name: 'traffic-add-forbidden',
    text: `
      insert into traffic_forbidden as t (domain_id, day, category, crawler, visits, paths)
      select d.id, $2, n.category, n.crawler, sum(n.visits), (array_agg(n.path order by n.at))[1:${EXAMPLES}]
        from domain d, rows from (json_to_recordset($3) as (category text, crawler text, path text, visits bigint))
          with ordinality as n (category, crawler, path, visits, at)
       where d.id = $1 group by d.id, n.category, n.crawler order by n.category, n.crawler
      on conflict (domain_id, day, category, crawler) do update set
        visits = t.visits + excluded.visits,
        paths = array(select path from unnest(excluded.paths || t.paths) with ordinality as each (path, at)
                       group by path order by min(at) limit ${EXAMPLES})`,
    values: [domain, day, JSON.stringify(visits)],
  })
}

type Row = { name: string; category: string; visits: number; forbidden: number; paths: string[] }

// Always filtered by account in SQL.
const READ = `
  with own as (select id from domain where account_id = $1 and ($2::integer[] is null or id = any ($2))),
  forbidden as (
    select category, crawler, sum(visits)::float8 as visits,
           array(select path from traffic_forbidden n, unnest(n.paths) with ordinality as each (path, at)
                  where n.domain_id in (select id from own) and n.day >= $3 and n.day <= $4
                    and n.category = f.category and n.crawler = f.crawler
                  group by path order by max(n.day) desc, min(at) limit ${EXAMPLES}) as paths
      from traffic_forbidden f
     where domain_id in (select id from own) and day >= $3 and day <= $4
     group by category, crawler),
  visited as (
    select category, crawler, sum(visits)::float8 as visits
      from traffic_by_day
     where domain_id in (select id from own) and day >= $3 and day <= $4 and category <> 'people'
     group by category, crawler)
  select crawler as name, category, greatest(v.visits, f.visits) as visits, coalesce(f.visits, 0) as forbidden,
         coalesce(f.paths, '{}') as paths
    from visited v full join forbidden f using (category, crawler)
   order by forbidden desc, visits desc, name, category`

/** Reads all crawlers of whole UTC days, the most disobedient first. */
export async function readCompliance(
  db: Queryable,
  { account, domains }: Scope,
  { fromMs, toMs }: TimeRange,
): Promise<(Row & { purpose: string | null })[]> {
  const { rows } = await db.query<Row>({
    name: 'traffic-compliance',
    text: READ,
    values: [account, domains, utcDay(fromMs), utcDay(toMs - 1)],
  })
  return rows.map((row) => ({
    ...row,
    category: broadCategory(row.category),
    purpose: purposeOf(row.category),
  }))
}

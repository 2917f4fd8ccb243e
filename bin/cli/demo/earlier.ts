import { utcDay } from '@prepaint/contract/dates.ts'
import type { AccountId, DomainId, PagePath } from '@prepaint/contract/ids.ts'
import type { Verdict } from '@prepaint/contract/outcome/verdict.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { addRenders, type RendersOfDay } from '@prepaint/pages/quota.ts'
import { VisitedNotices } from '@prepaint/pages/store/visited-notices.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { foldMinutes } from '@prepaint/service/insight/traffic/fold.ts'
import { TrafficCounter } from '@prepaint/service/insight/traffic/visit-counter.ts'
import type pg from 'pg'

const DAY_MS = 24 * 60 * 60_000
/** So many of the last days have visits at six times; those before have them at noon. */
const DAYS_WITH_TIMES = 16
const TIMES_A_DAY = 6
/** Crawlers come less often at weekends. Sunday first. */
const WEEKDAYS = [0.75, 0.95, 1.05, 1.15, 1.05, 1, 0.85]

export const CRAWLERS = [
  {
    category: 'search',
    userAgent: 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    share: 5,
  },
  {
    category: 'search',
    userAgent: 'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
    share: 2,
  },
  {
    category: 'ai-training',
    userAgent: 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)',
    share: 2,
  },
  { category: 'social', userAgent: 'facebookexternalhit/1.1', share: 1 },
] as const

/** One of ten visits needs a render. */
const VISITS_A_RENDER = 10

/** `number` of the site in the list decides how many visits it has. */
type VisitedSite = { id: DomainId; number: number; isDeserted: boolean }

type EarlierParts = { pool: pg.Pool; account: AccountId; nowMs: number; log: Log }

/** The first of the two whole months before this one. */
function firstDayMs(nowMs: number): number {
  const now = new Date(nowMs)
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 2, 1)
}

/**
 * Makes the sites as old as the first of two whole months before this one, with visits since then as the edge would have
 * counted them, and the renders that these took. Crawlers came to a deserted site until the day before yesterday.
 */
export async function countEarlier(sites: readonly VisitedSite[], parts: EarlierParts): Promise<void> {
  const { pool, account, nowMs, log } = parts
  const firstMs = firstDayMs(nowMs)
  await makeOlder(pool, account, sites, firstMs)
  let atMs = nowMs
  const counter = new TrafficCounter(pool, new VisitedNotices(pool, log), { nowMs: () => atMs }, log)
  const renders: RendersOfDay[] = []
  for (const { id, number, isDeserted } of sites) {
    let visitsBefore = 0
    for (const time of timesSince(firstMs, isDeserted ? nowMs - 2 * DAY_MS : nowMs, nowMs)) {
      atMs = time.atMs
      const grown = 1 + 0.15 * ((number % 5) - 1) * ((atMs - firstMs) / (nowMs - firstMs))
      // Some sites have ten times the visits of others, and most grow.
      const size = ((10 + ((number * 37) % 90)) / 3) * grown * WEEKDAYS[new Date(atMs).getUTCDay()]!
      const visits = Math.max(2, Math.round(size)) * time.parts
      const counted = countVisits(counter, { id, visits, visitsBefore })
      renders.push({ domain: id, day: utcDay(atMs), renders: counted.renders })
      visitsBefore += counted.visits
    }
    await counter.flush()
  }
  atMs = nowMs
  await counter.close()
  await addRenders(pool, renders)
  await pool.query(
    `update event set created_at = $3
      where account_id = $1 and domain_id = any ($2::integer[]) and type = 'domain.live'`,
    [account, sites.map(({ id }) => id), new Date(firstMs)],
  )
  // Incidents compare whole hours, which are added up by now.
  await foldMinutes(pool)
}

/** When there are visits until `untilMs`, oldest first, and how many of the six parts of a day they are. */
function timesSince(firstMs: number, untilMs: number, nowMs: number): { atMs: number; parts: number }[] {
  const times: { atMs: number; parts: number }[] = []
  const partMs = DAY_MS / TIMES_A_DAY
  const finerMs = Math.floor(nowMs / DAY_MS) * DAY_MS - DAYS_WITH_TIMES * DAY_MS
  for (let dayMs = firstMs; dayMs < finerMs; dayMs += DAY_MS) {
    times.push({ atMs: dayMs + DAY_MS / 2, parts: TIMES_A_DAY })
  }
  for (let atMs = finerMs + partMs / 2; atMs < nowMs; atMs += partMs) times.push({ atMs, parts: 1 })
  return times.filter(({ atMs }) => atMs < untilMs)
}

type Visits = { id: DomainId; visits: number; visitsBefore: number }

/** Returns how many visits of crawlers were counted, as several may come at once, and how many renders they took. */
function countVisits(
  counter: TrafficCounter,
  { id, visits, visitsBefore }: Visits,
): { visits: number; renders: number } {
  const domain = { id, query: 'keep' } as const
  let counted = 0
  let renders = 0
  for (let visit = 0; visit < visits; visit++) {
    const url = PAGES[visit % PAGES.length]!
    const page = pageId(id, url as PagePath)
    for (const { category, userAgent, share } of CRAWLERS) {
      if (visit % CRAWLERS[0].share >= share) continue
      const verdict: Verdict = (visitsBefore + counted) % VISITS_A_RENDER === 0 ? 'rendered' : 'hit'
      const seconds = verdict === 'rendered' ? 0.4 : 0.004
      const answer = { verdict, crawler: category, seconds, status: 200, domain, page }
      counter.count({ url, headers: { 'user-agent': userAgent } }, answer)
      counted++
      if (verdict === 'rendered') renders++
    }
    const passed = {
      verdict: 'pass; not-a-crawler',
      crawler: null,
      seconds: 0.03,
      status: 200,
      domain,
      page: null,
    } as const
    counter.count({ url, headers: {} }, passed)
  }
  return { visits: counted, renders }
}

/** Pages of the shop that crawlers visit. */
export const PAGES = ['/', '/product/morning-mug', '/product/river-bowl']

/** So that reports tell of whole months. What the audit log says of them stays as it was. */
async function makeOlder(
  pool: pg.Pool,
  account: AccountId,
  sites: readonly VisitedSite[],
  sinceMs: number,
): Promise<void> {
  const since = new Date(sinceMs)
  await transaction(pool, async (client) => {
    await client.query('update account set created_at = least(created_at, $2) where id = $1', [
      account,
      since,
    ])
    await client.query(
      'update domain set created_at = $3 where account_id = $1 and id = any ($2::integer[])',
      [account, sites.map(({ id }) => id), since],
    )
  })
}

import { utcDay } from '@prepaint/contract/dates.ts'
import type { IncidentKind } from '@prepaint/contract/notifications/kinds.ts'
import { STORED } from '@prepaint/contract/outcome/job.ts'
import { detailWords, outcomeWords } from '@prepaint/contract/outcome/words.ts'
import { type Facts, isFailing, isGood, isUnreachable, type Render } from './facts.ts'
import type { Open } from './watch.ts'

const DAY_MS = 86_400_000

/** What a rule finds at one evaluation. */
export type Finding = {
  /** The condition to open. */
  holds: boolean
  /** When the problem began. */
  sinceMs: number
  /** The last sign of it, and the last sign of the opposite; 0: none. */
  signMs: number
  goodMs: number
  count: number
  pages: readonly Render[]
  summary: string
  /** The level in percent that `quota_reached` has come to. */
  level?: number | null
  /** The usual share of failures, kept while it is open. */
  base?: number
}

/** What was remembered of this kind. */
type Before = {
  /** Renders after that are signs. */
  signsFromMs: number
  base: number | undefined
  open: Open | undefined
  /** Unreachable origins until then count for their own kind. */
  unreachableUntilMs: number
}

/** The renders of `facts` are those since the last incident of this kind. */
type Rule = (facts: Facts, before: Before) => Finding

/** `renders_failing`, of the newest renders: a sudden problem shows in the first ones, a partial one in more. */
const WINDOWS = [10, 25, 50] as const
const WEEK_LEAST = 20
const RECENT = 5
const BLOCKED_OF = 10
const CERTIFICATE_ENDS_MS = 7 * DAY_MS
const LEVELS = [80, 90, 100, 120] as const
/** The forecast is open until it is below this part of the limit. */
const FORECAST_AGAIN = 0.95
const FIRST_DAYS = 3
const VISITS_LEAST = 50
const REFUSED_LEAST = 5

export const RULES: Record<IncidentKind, Rule> = {
  origin_unreachable({ renders, origin }) {
    const reached = renders.find((render) => !isUnreachable(render))
    const goodMs = Math.max(reached?.atMs ?? 0, origin.goodMs ?? 0)
    const run = renders.filter((render) => isUnreachable(render) && render.atMs > goodMs)
    return {
      ...ofRenders(run, Math.max(renders.find(isUnreachable)?.atMs ?? 0, origin.badMs ?? 0), goodMs),
      holds: run.length >= 3,
      summary: `The origin could not be reached ${run.length} times in a row.${lastOf(run)}`,
    }
  },

  renders_failing({ renders, usual: { outcomes } }, before) {
    const told = renders.filter(
      (render) =>
        isGood(render) ||
        (isFailing(render) && !(isUnreachable(render) && render.atMs <= before.unreachableUntilMs)),
    )
    const weekFailing = sumOf(outcomes, isFailing)
    const weekAll = weekFailing + sumOf(outcomes, isGood)
    const weekFailed = weekFailing - (outcomes['origin-unreachable'] ?? 0)
    const recent = told.slice(0, RECENT)
    const windows = WINDOWS.filter((size) => told.length >= size).map((size) => {
      const newest = told.slice(0, size)
      const failed = newest.filter(isFailing)
      const past = Math.max(0, weekAll - size)
      const base = before.base ?? (past === 0 ? 0 : Math.max(0, weekFailed - failed.length) / past)
      const isMore = exceeds(newest, base) && exceeds(recent, base) && isUnlikely(failed.length, size, base)
      return { newest, failed, base, holds: isMore && newestOfPaths(newest).length >= 5 }
    })
    const few = { newest: told, failed: told.filter(isFailing), base: before.base ?? 0, holds: false }
    const { newest, failed, base, holds } = windows.find((each) => each.holds) ?? windows.at(-1) ?? few
    const isEnough = Math.max(weekAll, told.length) >= WEEK_LEAST && recent.filter(isFailing).length >= 2
    const now = told.filter(({ atMs }) => atMs > before.signsFromMs)
    const sign = exceeds(now, base) ? now.find(isFailing) : undefined
    return {
      ...ofRenders(failed, sign?.atMs, told.find(isGood)?.atMs),
      holds: holds && isEnough,
      base,
      summary: `${failed.length} of the last ${newest.length} renders failed. ${normally(base)}${lastOf(failed)}`,
    }
  },

  blocked({ renders }, { signsFromMs }) {
    const told = renders.slice(0, BLOCKED_OF)
    const isChallenge = ({ outcome }: Render) => outcome === 'challenge'
    const isMost = (some: readonly Render[]) => some.filter(isChallenge).length * 2 > some.length
    const challenges = told.filter(isChallenge)
    const isMany = challenges.length >= 5 && newestOfPaths(challenges).length >= 3
    const now = told.filter(({ atMs }) => atMs > signsFromMs)
    const sign = isMost(now) ? now.find(isChallenge) : undefined
    return {
      ...ofRenders(challenges, sign?.atMs, told.find((render) => !isChallenge(render))?.atMs),
      holds: isMany && isMost(told) && isMost(told.slice(0, RECENT)),
      summary: `A bot challenge answered ${challenges.length} of the last ${told.length} renders.${lastOf(challenges)}`,
    }
  },

  pages_shrinking({ renders, usual: { textNow, texts }, nowMs }, { signsFromMs }) {
    const shrunk = newestOfPaths(renders).filter(({ outcome }) => outcome === 'shrunk')
    const signMs = shrunk.find(({ atMs }) => atMs > signsFromMs)?.atMs
    const goodMs = renders.find(({ outcome }) => STORED.includes(outcome))?.atMs
    const week = median(Object.values(texts))
    const isSmall = week !== null && textNow !== null && textNow * 2 < week
    const isMany = shrunk.length >= 5
    const found = ofRenders(shrunk, isSmall ? nowMs : signMs, isSmall ? 0 : goodMs)
    return {
      ...found,
      sinceMs: isMany ? found.sinceMs : nowMs,
      holds: isMany || isSmall,
      summary: isMany
        ? `${shrunk.length} pages have far less text than before.${lastOf(shrunk)}`
        : `Half of today's pages have less than ${textNow} characters of text, normally ${week}.`,
    }
  },

  certificate_failing({ certificate: { failures, reason, endsMs }, nowMs }) {
    const isEnding = endsMs !== null && endsMs < nowMs + CERTIFICATE_ENDS_MS
    const what = isEnding
      ? `The certificate ends on ${utcDay(endsMs)}.`
      : `${failures} certificate orders in a row failed.`
    const why = reason === null ? '' : ` The last order failed: ${reason}.`
    return { ...ofState(failures >= 2 || isEnding, nowMs, failures), summary: `${what}${why}` }
  },

  dns_lost({ dns, front, nowMs }) {
    // The name of a site with its own front leads to that.
    const isLost = dns.lostMs !== null && front.way === 'dns'
    return {
      ...ofState(isLost, nowMs, isLost ? 2 : 0),
      holds: isLost && dns.lostAgainMs !== null,
      sinceMs: dns.lostMs ?? nowMs,
      summary:
        dns.state === 'no-record'
          ? 'The DNS pointed here and now has no record.'
          : `The DNS pointed here and now points ${dns.address === null ? 'elsewhere' : `to ${dns.address}`}.`,
    }
  },

  integration_refused({ front: { refused, lastMs, reason, windowMs }, nowMs }) {
    const isNow = lastMs > nowMs - windowMs
    return {
      holds: isNow && refused >= REFUSED_LEAST,
      sinceMs: lastMs,
      signMs: lastMs,
      goodMs: isNow ? 0 : nowMs,
      count: refused,
      pages: [],
      summary: `The site's own front was refused ${refused} times in three minutes: ${reason ?? ''}.`,
    }
  },

  quota_forecast({ quota: { used, limit }, usual: { rendersADay }, nowMs }, { open }) {
    const now = new Date(nowMs)
    const endMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
    const atEnd = used + (rendersADay * (endMs - nowMs)) / DAY_MS
    const isOver = limit > 0 && used < limit && atEnd >= limit * (open ? FORECAST_AGAIN : 1)
    const days = rendersADay === 0 ? 0 : (limit - used) / rendersADay
    const day = utcDay(Math.min(nowMs + days * DAY_MS, endMs - 1))
    return {
      ...ofState(isOver && now.getUTCDate() > FIRST_DAYS, nowMs, used),
      summary: `At ${Math.round(rendersADay)} renders a day, the ${limit} renders of this month are used up on ${day}.`,
    }
  },

  quota_reached({ quota: { used, limit }, nowMs }, { open }) {
    const percent = limit <= 0 ? 0 : Math.floor((used * 100) / limit)
    const level = LEVELS.findLast((each) => each <= percent) ?? null
    const words = `${used} of ${limit} renders of this month are used (${percent} %).`
    return {
      ...ofState(level !== null && level >= (open?.level ?? 0), nowMs, used),
      level,
      summary: level === 120 ? `${words} Crawlers get pages that are not stored from the origin.` : words,
    }
  },

  crawlers_gone({ usual: { search }, front, nowMs }) {
    if (front.way === 'middleware') {
      const { lastVisitMs } = front
      const isSilent = lastVisitMs !== null && lastVisitMs < nowMs - DAY_MS
      const summary = "The site's own front sent no crawler in the last 24 hours; it did for a week before."
      return { ...ofState(isSilent, nowMs, 0), summary }
    }
    const [now = 0, ...weeks] = search ?? []
    const usual = median(weeks) ?? 0
    return {
      ...ofState(usual >= VISITS_LEAST && now < usual * 0.2, nowMs, now),
      summary: `Search crawlers came ${now} times in the last 24 hours, normally ${usual} on this weekday.`,
    }
  },
}

/** Says how many renders fail when nothing is wrong. */
function normally(share: number): string {
  const percent = Math.round(share * 100)
  return percent === 0 ? 'Normally none do.' : `Normally ${percent} % do.`
}

/** Whether the share of failures is above the usual one by 20 points, and twice as large. */
function exceeds(some: readonly Render[], base: number): boolean {
  const share = some.length === 0 ? 0 : some.filter(isFailing).length / some.length
  return share >= base + 0.2 && share >= 2 * base
}

/** Chance below 1 in 10,000 to see so many failures at the usual share: few renders a day vary much. */
const CHANCE = 0.0001
/** A past without failures does not prove that there are none. */
const LEAST_SHARE = 0.01

function isUnlikely(failed: number, all: number, base: number): boolean {
  const share = Math.min(0.99, Math.max(base, LEAST_SHARE))
  let term = (1 - share) ** all
  let below = 0
  for (let k = 0; k < failed; k++) {
    below += term
    term *= ((all - k) / (k + 1)) * (share / (1 - share))
  }
  return 1 - below < CHANCE
}

function ofRenders(pages: readonly Render[], signMs = 0, goodMs = 0): Omit<Finding, 'holds' | 'summary'> {
  return { sinceMs: pages.at(-1)?.atMs ?? 0, signMs, goodMs, count: pages.length, pages }
}

/** The finding about a condition that is read as it is now: each evaluation is a sign. */
function ofState(holds: boolean, nowMs: number, count: number): Omit<Finding, 'summary'> {
  const signs = holds ? { signMs: nowMs, goodMs: 0 } : { signMs: 0, goodMs: nowMs }
  return { holds, sinceMs: nowMs, ...signs, count, pages: [] }
}

/** The newest render of each path. */
export function newestOfPaths(renders: readonly Render[]): Render[] {
  return [...Map.groupBy(renders, ({ path }) => path).values()].map(([newest]) => newest!)
}

function sumOf(
  outcomes: Readonly<Record<string, number>>,
  is: (each: { outcome: string }) => boolean,
): number {
  return Object.entries(outcomes).reduce((sum, [outcome, count]) => sum + (is({ outcome }) ? count : 0), 0)
}

function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null
}

/** A sentence about the newest one, or nothing. */
function lastOf([last]: readonly Render[]): string {
  if (last === undefined) return ''
  const detail = detailWords(last.outcome, last.detail).slice(0, 200)
  return ` The last one: ${outcomeWords(last.outcome)}${detail === '' ? '' : ` (${detail})`}.`
}

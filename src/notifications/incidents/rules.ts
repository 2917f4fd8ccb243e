import { utcDay } from '../../clock.ts'
import type { IncidentKind } from '../kinds.ts'
import { type Facts, isFailing, isGood, isTelling, isUnreachable, type Render } from './facts.ts'

const DAY_MS = 86_400_000

/** What a rule finds at one evaluation. */
export type Finding = {
  /** The condition to open. */
  holds: boolean
  /** When the problem began. */
  sinceMs: number
  /** The last sign of it, and the last sign of the opposite; null: none. */
  signMs: number | null
  goodMs: number | null
  count: number
  pages: readonly Render[]
  summary: string
  /** Of `quota_reached`. */
  level?: number | null
  /** The usual share of failures, kept while it is open. */
  base?: number
}

/** What was remembered of this kind. Signs count for `quietMs`. */
export type Before = {
  /** Renders until then belong to an incident that has ended. */
  afterMs: number
  base: number | undefined
  quietMs: number
  isOpen: boolean
  /** Of `quota_reached`. */
  level: number | null
  /** Unreachable origins count for their own kind, until then or now. */
  unreachable: { isHeld: boolean; untilMs: number }
}

type Rule = (facts: Facts, before: Before) => Finding

export const RULES: Record<IncidentKind, Rule> = {
  origin_unreachable: originUnreachable,
  renders_failing: rendersFailing,
  blocked,
  pages_shrinking: pagesShrinking,
  certificate_failing: certificateFailing,
  dns_lost: dnsLost,
  quota_forecast: quotaForecast,
  quota_reached: quotaReached,
  crawlers_gone: crawlersGone,
}

function originUnreachable({ renders, origin }: Facts, { afterMs }: Before): Finding {
  const told = renders.filter((render) => render.atMs > afterMs && isTelling(render))
  const goodMs = latest(told.find((render) => !isUnreachable(render))?.atMs, origin.goodMs)
  const run = told.filter((render) => isUnreachable(render) && render.atMs > (goodMs ?? 0))
  return {
    ...ofRenders(run, latest(told.find(isUnreachable)?.atMs, origin.badMs), goodMs),
    holds: run.length >= 3,
    summary: `The origin could not be reached ${run.length} times in a row${reasonOf(run)}.`,
  }
}

/** Of the newest renders: a sudden problem shows in the first ones, a partial one in more. */
const WINDOWS = [10, 25, 50] as const
const WEEK_LEAST = 20
const RECENT = 5

function rendersFailing({ renders, usual, nowMs }: Facts, before: Before): Finding {
  const { unreachable, quietMs, afterMs } = before
  const isOther = (render: Render) =>
    isUnreachable(render) && (unreachable.isHeld || render.atMs <= unreachable.untilMs)
  const told = renders.filter(
    (render) => render.atMs > afterMs && (isFailing(render) || isGood(render)) && !isOther(render),
  )
  const week = Object.entries(usual.outcomes).map(([outcome, count]) => ({ outcome, count }))
  const failing = week.filter((each) => isFailing(each))
  const weekAll = sum([...failing, ...week.filter(isGood)])
  const weekFailed = sum(failing.filter(({ outcome }) => outcome !== 'origin-unreachable'))
  const recent = told.slice(0, RECENT)
  const windows = WINDOWS.filter((size) => told.length >= size).map((size) => {
    const newest = told.slice(0, size)
    const failed = newest.filter(isFailing)
    const past = Math.max(0, weekAll - size)
    const base = before.base ?? (past === 0 ? 0 : Math.max(0, weekFailed - failed.length) / past)
    const isMore = exceeds(newest, base) && exceeds(recent, base) && isUnlikely(failed.length, size, base)
    return { newest, failed, base, holds: isMore && pathsOf(newest) >= 5 }
  })
  const few = { newest: told, failed: told.filter(isFailing), base: before.base ?? 0, holds: false }
  const { newest, failed, base, holds } = windows.find((each) => each.holds) ?? windows.at(-1) ?? few
  const isEnough = Math.max(weekAll, told.length) >= WEEK_LEAST && recent.filter(isFailing).length >= 2
  const now = told.filter(({ atMs }) => atMs > nowMs - quietMs)
  const signMs = exceeds(now, base) ? now.find(isFailing)?.atMs : null
  return {
    ...ofRenders(failed, signMs, told.find(isGood)?.atMs),
    ...{ holds: holds && isEnough, base },
    summary: `${failed.length} of the last ${newest.length} renders failed${reasonOf(failed)}; usual are ${Math.round(base * 100)} %.`,
  }
}

/** By 20 points and twofold. */
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

const BLOCKED_OF = 10

function blocked({ renders, nowMs }: Facts, { afterMs, quietMs }: Before): Finding {
  const told = renders.filter((render) => render.atMs > afterMs && isTelling(render)).slice(0, BLOCKED_OF)
  const isChallenge = ({ outcome }: Render) => outcome === 'challenge'
  const challenges = told.filter(isChallenge)
  const isMost = (some: readonly Render[]) => some.filter(isChallenge).length * 2 > some.length
  const now = told.filter(({ atMs }) => atMs > nowMs - quietMs)
  const signMs = isMost(now) ? now.find(isChallenge)?.atMs : null
  return {
    ...ofRenders(challenges, signMs, told.find((render) => !isChallenge(render))?.atMs),
    holds:
      challenges.length >= 5 && pathsOf(challenges) >= 3 && isMost(told) && isMost(told.slice(0, RECENT)),
    summary: `A bot challenge answered ${challenges.length} of the last ${told.length} renders${reasonOf(challenges)}.`,
  }
}

function pagesShrinking({ renders, usual, nowMs }: Facts, { afterMs, quietMs }: Before): Finding {
  const told = renders.filter((render) => render.atMs > afterMs && isTelling(render))
  const shrunk = newestOfPaths(told).filter(({ outcome }) => outcome === 'shrunk')
  const { textNow } = usual
  const week = median(Object.values(usual.texts))
  const lastMs = shrunk.find(({ atMs }) => atMs > nowMs - quietMs)?.atMs
  const found = ofRenders(shrunk, lastMs, renders.find(({ outcome }) => outcome === 'rendered')?.atMs)
  const isSmall = week !== null && textNow !== null && textNow * 2 < week
  const read = isSmall ? { signMs: nowMs, goodMs: null } : {}
  const summary = `${shrunk.length} pages have far less text than before${reasonOf(shrunk)}.`
  if (shrunk.length >= 5) return { ...found, ...read, holds: true, summary }
  return {
    ...{ ...found, ...read, holds: isSmall, sinceMs: nowMs },
    summary: `Half of the pages rendered today have less than ${textNow} characters of text; usual are ${week}.`,
  }
}

const CERTIFICATE_ENDS_MS = 7 * DAY_MS

function certificateFailing({ certificate, nowMs }: Facts): Finding {
  const { failures, reason, endsMs } = certificate
  const why = reason === null ? '' : ` The last order failed: ${reason}.`
  const isEnding = endsMs !== null && endsMs < nowMs + CERTIFICATE_ENDS_MS
  const what = isEnding
    ? `The certificate ends on ${utcDay(endsMs)}.`
    : `${failures} certificate orders in a row failed.`
  return { ...ofState(failures >= 2 || isEnding, nowMs, failures), summary: `${what}${why}` }
}

function dnsLost({ dns, nowMs }: Facts): Finding {
  const isLost = dns.ledHere && dns.lostMs !== null
  const where = dns.state === 'no-record' ? 'has no DNS record any more' : 'leads elsewhere'
  return {
    ...ofState(isLost, nowMs, isLost ? 2 : 0),
    ...{ holds: isLost && dns.lostAgainMs !== null, sinceMs: dns.lostMs ?? nowMs },
    summary: `The name ${where}; it led here before.`,
  }
}

const LEVELS = [80, 90, 100, 120] as const

function quotaReached({ quota: { used, limit }, nowMs }: Facts, before: Before): Finding {
  const percent = limit <= 0 ? 0 : Math.floor((used * 100) / limit)
  const level = LEVELS.findLast((each) => each <= percent) ?? null
  const words = `${used} of ${limit} renders of this month are used (${percent} %).`
  return {
    ...ofState(level !== null && level >= (before.level ?? 0), nowMs, used),
    level,
    summary: level === 120 ? `${words} Crawlers get pages that are not stored from the origin.` : words,
  }
}

/** Open until a forecast below this part of the limit. */
const FORECAST_AGAIN = 0.95
const FIRST_DAYS = 3

function quotaForecast({ quota: { used, limit }, usual, nowMs }: Facts, { isOpen }: Before): Finding {
  const { rendersADay } = usual
  const now = new Date(nowMs)
  const endMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
  const atEnd = used + (rendersADay * (endMs - nowMs)) / DAY_MS
  const isOver = limit > 0 && used < limit && atEnd >= limit * (isOpen ? FORECAST_AGAIN : 1)
  const days = rendersADay === 0 ? 0 : (limit - used) / rendersADay
  const day = utcDay(Math.min(nowMs + days * DAY_MS, endMs - 1))
  return {
    ...ofState(isOver && now.getUTCDate() > FIRST_DAYS, nowMs, used),
    summary: `At ${Math.round(rendersADay)} renders a day, the ${limit} renders of this month are used up on ${day}.`,
  }
}

const VISITS_LEAST = 50

function crawlersGone({ usual: { search }, nowMs }: Facts): Finding {
  const [now = 0, ...weeks] = search ?? []
  const usual = median(weeks) ?? 0
  return {
    ...ofState(usual >= VISITS_LEAST && now < usual * 0.2, nowMs, now),
    summary: `Search crawlers came ${now} times in the last 24 hours; on this weekday ${usual} are usual.`,
  }
}

function ofRenders(
  pages: readonly Render[],
  signMs: number | null | undefined,
  goodMs: number | null | undefined,
): Omit<Finding, 'holds' | 'summary'> {
  return {
    sinceMs: pages.at(-1)?.atMs ?? 0,
    signMs: signMs ?? null,
    goodMs: goodMs ?? null,
    count: pages.length,
    pages,
  }
}

/** For conditions that are read at once: each evaluation is a sign. */
function ofState(holds: boolean, nowMs: number, count: number): Omit<Finding, 'summary'> {
  const [signMs, goodMs] = holds ? [nowMs, null] : [null, nowMs]
  return { holds, sinceMs: nowMs, signMs, goodMs, count, pages: [] }
}

/** The newest render of each path. */
export function newestOfPaths(renders: readonly Render[]): Render[] {
  return [...Map.groupBy(renders, ({ path }) => path).values()].map(([newest]) => newest!)
}

const pathsOf = (renders: readonly Render[]) => newestOfPaths(renders).length

const sum = (some: readonly { count: number }[]) => some.reduce((all, { count }) => all + count, 0)

function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null
}

function latest(one: number | null | undefined, other: number | null): number | null {
  return one === undefined || one === null ? other : Math.max(one, other ?? 0)
}

function reasonOf([last]: readonly Render[]): string {
  if (last === undefined) return ''
  return `, last with "${last.outcome}${last.detail ? `: ${last.detail.slice(0, 200)}` : ''}"`
}

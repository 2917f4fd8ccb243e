import type { IncidentKind } from '../kinds.ts'
import { type Facts, isFailing, isGood, isTelling, isUnreachable, type Render } from './facts.ts'

const MINUTE_MS = 60_000
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
  level: number | null
  /** What is usual, kept while it is open. */
  base: number | null
}

/** What was remembered of this kind. Signs count for `quietMs`. */
export type Before = {
  /** Renders until then belong to an incident that has ended. */
  afterMs: number
  base: number | null
  quietMs: number
  isOpen: boolean
  /** Of `quota_reached`. */
  level: number | null
  /** Unreachable origins count for their own kind, until then or now. */
  unreachable: { isHeld: boolean; untilMs: number }
}

export type Rule = (facts: Facts, before: Before) => Finding

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
  const goodRender = told.find((render) => !isUnreachable(render))
  const goodMs = latest(goodRender?.atMs, origin.goodMs)
  const run = told.filter((render) => isUnreachable(render) && render.atMs > (goodMs ?? 0))
  const signMs = latest(told.find(isUnreachable)?.atMs, origin.badMs)
  return {
    ...found(run, run.length >= 3, signMs, goodMs),
    summary: `The origin could not be reached ${times(run.length)} in a row${reasonOf(run[0])}.`,
  }
}

/** Of the newest renders: a sudden problem shows in the first ones, a partial one in more. At least 10, at most 50. */
const WINDOWS = [10, 25, 50] as const
const WEEK_LEAST = 20
const RECENT = 5

function rendersFailing({ renders, usual, nowMs }: Facts, before: Before): Finding {
  const { unreachable, quietMs } = before
  const isOther = (render: Render) => unreachable.isHeld || render.atMs <= unreachable.untilMs
  const told = renders.filter(
    (render) =>
      render.atMs > before.afterMs &&
      (isFailing(render) || isGood(render)) &&
      !(isUnreachable(render) && isOther(render)),
  )
  const week = Object.entries(usual.outcomes).map(([outcome, count]) => ({ outcome, count }))
  const weekAll = sum(week.filter((each) => isFailing(each) || isGood(each)))
  const weekFailed = sum(week.filter((each) => isFailing(each) && each.outcome !== 'origin-unreachable'))
  const recent = told.slice(0, RECENT)
  const windows = WINDOWS.filter((size) => told.length >= size).map((size) => {
    const newest = told.slice(0, size)
    const failed = newest.filter(isFailing)
    const past = Math.max(0, weekAll - size)
    const base = before.base ?? (past === 0 ? 0 : Math.max(0, weekFailed - failed.length) / past)
    const holds =
      pathsOf(newest) >= 5 &&
      exceeds(newest, base) &&
      exceeds(recent, base) &&
      isUnlikely(failed.length, size, base)
    return { newest, failed, base, holds }
  })
  const shown = windows.find((each) => each.holds) ?? windows.at(-1)
  const { newest = told, failed = told.filter(isFailing), base = before.base ?? 0 } = shown ?? {}
  const holds =
    shown?.holds === true &&
    Math.max(weekAll, told.length) >= WEEK_LEAST &&
    recent.filter(isFailing).length >= 2
  const now = told.filter(({ atMs }) => atMs > nowMs - quietMs)
  const signMs = exceeds(now, base) ? (now.find(isFailing)?.atMs ?? null) : null
  return {
    ...found(failed, holds, signMs, told.find(isGood)?.atMs ?? null),
    base,
    summary: `${failed.length} of the last ${newest.length} renders failed${reasonOf(failed[0])}; usual are ${Math.round(base * 100)} %.`,
  }
}

const BLOCKED_OF = 10

/** By 20 points and twofold. */
function exceeds(some: readonly Render[], base: number): boolean {
  const share = some.length === 0 ? 0 : some.filter(isFailing).length / some.length
  return share >= base + 0.2 && share >= 2 * base
}

function blocked({ renders, nowMs }: Facts, { afterMs, quietMs }: Before): Finding {
  const told = renders.filter((render) => render.atMs > afterMs && isTelling(render)).slice(0, BLOCKED_OF)
  const isChallenge = ({ outcome }: Render) => outcome === 'challenge'
  const challenges = told.filter(isChallenge)
  const isMost = (some: readonly Render[]) => some.filter(isChallenge).length * 2 > some.length
  const holds =
    challenges.length >= 5 && pathsOf(challenges) >= 3 && isMost(told) && isMost(told.slice(0, RECENT))
  const now = told.filter(({ atMs }) => atMs > nowMs - quietMs)
  const signMs = isMost(now) ? (now.find(isChallenge)?.atMs ?? null) : null
  const good = told.find((render) => !isChallenge(render))
  return {
    ...found(challenges, holds, signMs, good?.atMs ?? null),
    summary: `A bot challenge answered ${challenges.length} of the last ${told.length} renders${reasonOf(challenges[0])}.`,
  }
}

function pagesShrinking({ renders, usual, nowMs }: Facts, { afterMs, quietMs }: Before): Finding {
  const newest = new Map<string, Render>()
  for (const render of renders) {
    if (render.atMs > afterMs && isTelling(render) && !newest.has(render.path))
      newest.set(render.path, render)
  }
  const shrunk = [...newest.values()].filter(({ outcome }) => outcome === 'shrunk')
  const week = median(Object.values(usual.texts))
  const isSmall = week !== null && usual.textNow !== null && usual.textNow * 2 < week
  const isShrinking = shrunk.length >= 5
  const rendered = renders.find(({ outcome }) => outcome === 'rendered')
  const lastShrunk = shrunk.find(({ atMs }) => atMs > nowMs - quietMs)?.atMs ?? null
  const summary = isShrinking
    ? `${shrunk.length} pages have far less text than before${reasonOf(shrunk[0])}.`
    : `Half of the pages rendered today have less than ${usual.textNow} characters of text; usual are ${week}.`
  return {
    ...found(
      shrunk,
      isShrinking || isSmall,
      isSmall ? nowMs : lastShrunk,
      isSmall ? null : (rendered?.atMs ?? null),
    ),
    ...(!isShrinking && { sinceMs: nowMs }),
    summary,
  }
}

const CERTIFICATE_ENDS_MS = 7 * DAY_MS

function certificateFailing({ certificate, nowMs }: Facts): Finding {
  const { failures, reason, endsMs } = certificate
  const isEnding = endsMs !== null && endsMs < nowMs + CERTIFICATE_ENDS_MS
  const why = reason === null ? '' : ` The last order failed: ${reason}.`
  const ends = endsMs === null ? '' : new Date(endsMs).toISOString().slice(0, 10)
  return {
    ...state(failures >= 2 || isEnding, nowMs, failures),
    summary: isEnding
      ? `The certificate ends on ${ends}.${why}`
      : `${failures} certificate orders in a row failed.${why}`,
  }
}

function dnsLost({ dns, nowMs }: Facts): Finding {
  const isLost = dns.ledHere && dns.lostMs !== null
  return {
    ...state(isLost, nowMs, isLost ? 2 : 0),
    holds: isLost && dns.lostAgainMs !== null,
    sinceMs: dns.lostMs ?? nowMs,
    summary:
      dns.state === 'no-record'
        ? 'The name has no DNS record any more; it led here before.'
        : 'The name leads elsewhere; it led here before.',
  }
}

export const LEVELS = [80, 90, 100, 120] as const

export function levelOf({ used, limit }: Facts['quota']): number | null {
  const percent = limit <= 0 ? 0 : Math.floor((used * 100) / limit)
  return LEVELS.findLast((level) => level <= percent) ?? null
}

function quotaReached({ quota, nowMs }: Facts, before: Before): Finding {
  const level = levelOf(quota)
  const { used, limit } = quota
  const words = `${used} of ${limit} renders of this month are used (${Math.floor((used * 100) / Math.max(1, limit))} %).`
  return {
    ...state(level !== null && level >= (before.level ?? 0), nowMs, used),
    level,
    summary: level === 120 ? `${words} Crawlers get pages that are not stored from the origin.` : words,
  }
}

/** Open until a forecast below this part of the limit. */
const FORECAST_AGAIN = 0.95
const FIRST_DAYS = 3

function quotaForecast({ quota, usual, nowMs }: Facts, { isOpen }: Before): Finding {
  const { used, limit } = quota
  const now = new Date(nowMs)
  const endMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
  const atEnd = used + (usual.rendersADay * (endMs - nowMs)) / DAY_MS
  const isEarly = now.getUTCDate() <= FIRST_DAYS
  const isOver = limit > 0 && used < limit && atEnd >= limit * (isOpen ? FORECAST_AGAIN : 1)
  const days = usual.rendersADay === 0 ? 0 : (limit - used) / usual.rendersADay
  const day = new Date(Math.min(nowMs + days * DAY_MS, endMs - 1)).toISOString().slice(0, 10)
  return {
    ...state(isOver && !isEarly, nowMs, used),
    summary: `At ${Math.round(usual.rendersADay)} renders a day, the ${limit} renders of this month are used up on ${day}.`,
  }
}

const VISITS_LEAST = 50

function crawlersGone({ usual: { search }, nowMs }: Facts): Finding {
  const usual = median(search?.weeks ?? []) ?? 0
  const isGone = search !== null && usual >= VISITS_LEAST && search.now < usual * 0.2
  return {
    ...state(isGone, nowMs, search?.now ?? 0),
    summary: `Search crawlers came ${search?.now} times in the last 24 hours; on this weekday ${Math.round(usual)} are usual.`,
  }
}

function found(
  pages: readonly Render[],
  holds: boolean,
  signMs: number | null,
  goodMs: number | null,
): Finding {
  const sinceMs = pages.at(-1)?.atMs ?? 0
  return { ...NOTHING, holds, sinceMs, signMs, goodMs, count: pages.length, pages: differentPages(pages) }
}

/** For conditions that are read at once: each evaluation is a sign. */
function state(holds: boolean, nowMs: number, count: number): Finding {
  return {
    ...NOTHING,
    holds,
    sinceMs: nowMs,
    signMs: holds ? nowMs : null,
    goodMs: holds ? null : nowMs,
    count,
  }
}

const NOTHING: Omit<Finding, 'sinceMs' | 'signMs' | 'goodMs'> = {
  ...{ holds: false, count: 0, pages: [], summary: '', level: null, base: null },
}

function differentPages(renders: readonly Render[]): Render[] {
  const byPath = new Map<string, Render>()
  for (const render of renders) if (!byPath.has(render.path)) byPath.set(render.path, render)
  return [...byPath.values()].slice(0, 3)
}

function pathsOf(renders: readonly Render[]): number {
  return new Set(renders.map(({ path }) => path)).size
}

function sum(some: readonly { count: number }[]): number {
  return some.reduce((all, { count }) => all + count, 0)
}

function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted.length === 0 ? null : sorted[Math.floor((sorted.length - 1) / 2)]!
}

function latest(...times: (number | null | undefined)[]): number | null {
  return times.reduce<number | null>((last, at) => (at != null && at > (last ?? 0) ? at : last), null)
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

function reasonOf(render: Render | undefined): string {
  if (render === undefined) return ''
  return `, last with "${render.outcome}${render.detail === null || render.detail === '' ? '' : `: ${render.detail.slice(0, 200)}`}"`
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

export const TIMES_MS = {
  hold: 3 * MINUTE_MS,
  quiet: 5 * MINUTE_MS,
  repeated: 30 * MINUTE_MS,
  forecast: 6 * 60 * MINUTE_MS,
} as const

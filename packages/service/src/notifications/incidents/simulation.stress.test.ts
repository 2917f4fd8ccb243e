import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { DomainId, DomainName } from '@prepaint/contract/ids.ts'
import type { IncidentKind } from '@prepaint/contract/notifications/kinds.ts'
import { type Facts, isTelling, type Render, type Usual } from './facts.ts'
import { type Action, advance, type Open, type Watch } from './watch.ts'

// Months of traffic, minute by minute, through the rules as the evaluator runs them. The figures stand in
// docs/decisions.

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const DAYS = 30
const START_MS = Date.parse('2026-09-01T00:00:00Z')

type Minute = {
  /** Of the month. */
  at: number
  outcome(): string
  rendersFactor: number
  searchFactor: number
  originUp: boolean
  dnsLost: boolean
  certificateFailures: number
  used: number
  textFactor: number
}

const SITES = [
  { name: 'ten visits a day', rendersADay: 10, pages: 40, failing: 0.01, searchADay: 6, used: 300 },
  { name: 'a small shop', rendersADay: 200, pages: 150, failing: 0.02, searchADay: 300, used: 4_000 },
  { name: 'one that often fails', rendersADay: 400, pages: 300, failing: 0.1, searchADay: 800, used: 8_000 },
  { name: 'a million visits', rendersADay: 3e3, pages: 5e3, failing: 0.005, searchADay: 5e5, used: 3e4 },
]
type Site = (typeof SITES)[0]
const LIMIT = 50_000

function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}

function poisson(mean: number, next: () => number): number {
  if (mean > 30)
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * (next() + next() + next() + next() - 2) * 1.73))
  let count = -1
  for (let left = Math.exp(mean); left > 1 || count < 0; left *= next()) count++
  return count
}

/** `change` plants what happens; returns what opened, in minutes of the month, and how many renders there were. */
function simulate(
  site: Site,
  seed: number,
  change: (minute: Minute, next: () => number) => void,
  /** Minutes of the month in which the rules run; what was before is history. */
  [from, to]: [from: number, to: number] = [0, DAYS * 1_440],
) {
  const next = random(seed)
  const renders: Render[] = []
  const tally = new Map<number, Map<string, number>>()
  const searched: number[] = []
  let [watch, open, ids]: [Watch, Open[], number] = [{}, [], 0]
  const opened: { kind: IncidentKind; at: number }[] = []
  const outcomes: { at: number; outcome: string }[] = []
  const dns = { lostMs: null as number | null, lostAgainMs: null as number | null }
  const origin = { goodMs: null as number | null, badMs: null as number | null }
  let usual: Usual | null = null
  for (let at = 0; at < to; at++) {
    const nowMs = START_MS + at * MINUTE_MS
    const day = Math.floor(at / 1_440)
    const isWeekend = [0, 6].includes(new Date(nowMs).getUTCDay())
    const daily = (isWeekend ? 0.4 : 1.2) * (1 + 0.6 * Math.sin((at / 1_440) * 2 * Math.PI))
    const minute: Minute = {
      ...{ at, rendersFactor: 1, searchFactor: 1, textFactor: 1 },
      ...{ originUp: true, dnsLost: false, certificateFailures: 0 },
      outcome: () => (next() < site.failing ? 'origin-error' : 'rendered'),
      used: (site.used * (day + 1)) / DAYS,
    }
    change(minute, next)
    const count = poisson((site.rendersADay / 1_440) * daily * minute.rendersFactor, next)
    const today = tally.get(day) ?? new Map<string, number>()
    tally.set(day, today)
    for (let n = 0; n < count; n++) {
      const outcome = minute.originUp ? minute.outcome() : 'origin-unreachable'
      renders.unshift({ path: `/${Math.floor(next() * site.pages)}`, outcome, detail: null, atMs: nowMs })
      outcomes.push({ at, outcome })
      today.set(outcome, (today.get(outcome) ?? 0) + 1)
    }
    renders.length = Math.min(renders.length, 50)
    while (renders.length > 0 && renders.at(-1)!.atMs < nowMs - DAY_MS) renders.pop()
    const visits = poisson((site.searchADay / 1_440) * daily * minute.searchFactor, next)
    searched.push((searched.at(-1) ?? 0) + visits)
    const isQuiet = Object.values(watch).every(({ heldMs }) => heldMs === undefined) && open.length === 0
    if (at < from || (isQuiet && count === 0 && at % 15 !== 0)) continue

    // The node's own looks.
    if (
      watch.origin_unreachable?.heldMs !== undefined ||
      open.some(({ kind }) => kind === 'origin_unreachable')
    ) {
      origin[minute.originUp ? 'goodMs' : 'badMs'] = nowMs
    }
    if (at % 5 === 0 || dns.lostMs !== null) {
      if (!minute.dnsLost) Object.assign(dns, { lostMs: null, lostAgainMs: null })
      else if (dns.lostMs === null) dns.lostMs = nowMs
      else if (nowMs - dns.lostMs >= 3 * MINUTE_MS) dns.lostAgainMs = nowMs
    }
    if (usual === null || at % 5 === 0 || !isQuiet) {
      const week = [...tally].filter(([each]) => each > day - 7).flatMap(([, counts]) => [...counts])
      const sums: Record<string, number> = {}
      for (const [outcome, n] of week) sums[outcome] = (sums[outcome] ?? 0) + n
      const hour = Math.floor(at / 60) * 60
      const window = (weeks: number) => {
        const end = hour - weeks * 7 * 1_440
        return (searched[end - 1] ?? 0) - (searched[end - 1_441] ?? 0)
      }
      const search = at < 28 * 1_440 + 1_440 ? null : [0, 1, 2, 3, 4].map(window)
      const texts = Object.fromEntries([1, 2, 3, 4, 5, 6, 7].map((n) => [`${day - n}`, 3_000]))
      usual = {
        outcomes: sums,
        textNow: Math.round(3_000 * minute.textFactor),
        texts,
        rendersADay: site.used / DAYS,
        search,
      }
    }
    const facts: Facts = {
      nowMs,
      domain: { id: 1 as DomainId, name: 'a.example.com' as DomainName },
      renders: renders.filter(isTelling),
      usual,
      quota: { used: Math.round(minute.used), limit: LIMIT },
      certificate: { failures: minute.certificateFailures, reason: null, endsMs: nowMs + 60 * DAY_MS },
      dns: { ...dns, state: null, address: null },
      front: { way: 'dns', refused: 0, lastMs: 0, reason: null, windowMs: 1, lastVisitMs: null },
      origin,
    }
    const step: { watch: Watch; actions: Action[] } = advance(facts, watch, open, 1)
    watch = step.watch
    for (const action of step.actions) {
      if (action.do === 'resolve') {
        open = open.filter(({ id }) => id !== action.id)
        continue
      }
      const { kind, finding } = action
      const level = finding.level ?? null
      if (!open.some((each) => each.kind === kind)) {
        opened.push({ kind, at })
        open.push({ id: ++ids, kind, level, openedMs: nowMs })
      } else open = open.map((each) => (each.kind === kind ? { ...each, level } : each))
    }
  }
  return { opened, outcomes }
}

/** Deploys that break the site for two minutes; a slow decline of visits. */
const ordinary: readonly ((minute: Minute, next: () => number) => void)[] = [
  () => {},
  (minute) => {
    if (minute.at % (2 * 1_440) < 2)
      Object.assign(minute, { outcome: () => 'origin-error', rendersFactor: 5 })
    else if (minute.at % (2 * 1_440) < 60) minute.rendersFactor = 4
  },
  (minute) => {
    const left = 1 - (0.6 * minute.at) / (DAYS * 1_440)
    Object.assign(minute, { searchFactor: left, rendersFactor: left })
  },
]

it('quiet months: at most one false incident per domain and month', (t) => {
  const figures: string[] = []
  for (const site of SITES) {
    for (const [n, change] of ordinary.entries()) {
      const { opened } = simulate(site, 7 + n, change)
      const counted = opened.filter(({ kind }) => kind !== 'quota_forecast' || site.used < LIMIT)
      figures.push(
        `${site.name}, ${['plain', 'deploys', 'decline'][n]}: ${counted.map(({ kind }) => kind).join() || 0}`,
      )
      assert(counted.length <= 1, figures.at(-1))
    }
  }
  t.diagnostic(figures.join('; '))
})

type Plant = {
  kind: IncidentKind
  lasts: number
  change(minute: Minute, next: () => number): unknown
  /** After so many bad renders a person would call it a problem; else at once. */
  bad?: number
}

const outcome = (of: string) => (minute: Minute) => Object.assign(minute, { outcome: () => of })
const becomes = (fields: Partial<Minute>) => (minute: Minute) => Object.assign(minute, fields)
const mostlyFailing = (minute: Minute, next: () => number) =>
  Object.assign(minute, { outcome: () => (next() < 0.6 ? 'site-error' : 'rendered') })
const PLANTS: readonly Plant[] = [
  { kind: 'origin_unreachable', lasts: 120, change: becomes({ originUp: false }), bad: 3 },
  { kind: 'renders_failing', lasts: 1_440, change: outcome('origin-error'), bad: 10 },
  { kind: 'renders_failing', lasts: 1_440, change: mostlyFailing, bad: 10 },
  { kind: 'blocked', lasts: 1_440, change: outcome('challenge'), bad: 6 },
  { kind: 'pages_shrinking', lasts: 1_440, change: outcome('shrunk'), bad: 7 },
  { kind: 'pages_shrinking', lasts: 1_440, change: becomes({ textFactor: 0.4 }) },
  { kind: 'dns_lost', lasts: 240, change: becomes({ dnsLost: true }) },
  { kind: 'certificate_failing', lasts: 240, change: becomes({ certificateFailures: 2 }) },
  { kind: 'quota_reached', lasts: 600, change: becomes({ used: LIMIT * 0.8 }) },
  { kind: 'crawlers_gone', lasts: 1_440, change: becomes({ searchFactor: 0 }) },
]

/** Since then a person who sees everything would call it a problem; null: never. */
function momentOf(
  { kind, lasts, bad }: Plant,
  site: Site,
  start: number,
  outcomes: readonly { at: number; outcome: string }[],
): number | null {
  // Under 20 % of a day after about 20 hours without visits.
  if (kind === 'crawlers_gone') return site.searchADay < 100 ? null : start + 21 * 60
  if (bad === undefined) return start
  const failed = outcomes.filter(
    ({ at, outcome }) => at >= start && at < start + lasts && outcome !== 'rendered',
  )
  return failed[bad - 1]?.at ?? null
}

it('planted problems: at least 95 % open within 15 minutes', (t) => {
  let [planted, caught] = [0, 0]
  const late: string[] = []
  for (const site of SITES) {
    for (const [n, plant] of PLANTS.entries()) {
      for (const hour of [3, 14]) {
        const start = (plant.kind === 'crawlers_gone' ? 28 : 8 + (n % 3)) * 1_440 + hour * 60
        const lasts = Math.min(plant.lasts, DAYS * 1_440 - start)
        const { opened, outcomes } = simulate(
          site,
          hour * 31 + n,
          (minute, next) => {
            if (minute.at >= start && minute.at < start + lasts) plant.change(minute, next)
          },
          [start - 120, start + lasts],
        )
        const moment = momentOf({ ...plant, lasts }, site, start, outcomes)
        if (moment === null || moment + 15 > start + lasts) continue
        planted++
        const first = opened.find(({ kind, at }) => kind === plant.kind && at >= start)
        if (first !== undefined && first.at - moment <= 15) caught++
        else
          late.push(
            `${site.name}: ${plant.kind} at ${hour}: ${first === undefined ? 'never' : `${first.at - moment} minutes`}`,
          )
      }
    }
  }
  t.diagnostic(`${caught} of ${planted}`)
  assert(planted > 60 && caught / planted >= 0.95, late.join('\n'))
})

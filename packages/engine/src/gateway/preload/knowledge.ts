import type { OutgoingHttpHeaders } from 'node:http'

import { RecentMap } from '@prepaint/runtime/recent-map.ts'
import { fillTemplate, type PageAddress, type PathTemplate, templateOf } from './page-address.ts'

export type SiteRequest = { path: string; headers: OutgoingHttpHeaders }

/** A request that pages of one kind make, as a template. */
type Habit = {
  path: PathTemplate
  /** Without a `Referer` that is the page's own address. */
  headers: OutgoingHttpHeaders
  namesPage: boolean
  /** Consecutive pages that made the request. */
  seenInARow: number
  missedInARow: number
  /** Consecutive pages that make it sure. */
  needed: number
  lastPage: string
  bytes: number
}

/** A request that a page probably makes. If `isSure`, it is worth sending early. */
export type Prediction = { habit: Habit; request: SiteRequest; isSure: boolean }

/** What a finished page requested. `early`: sent early; `wasted`: sent early and again when asked. */
type Shown = {
  predictions: readonly Prediction[]
  early: ReadonlySet<Prediction>
  wasted: ReadonlySet<Prediction>
  asked: readonly SiteRequest[]
}

/** Different consecutive pages that must make a request before it is sent early. */
const FIRST_NEEDED = 3
/** `needed` doubles up to this after each wasted request. Also the number of misses before it is forgotten. */
const MOST_NEEDED = 96
/** Never wasted requests are forgotten after this many misses. */
const FIRST_MISSES = 2
const HABITS_PER_KIND = 24
/** Limit per site, because pages choose what they request. */
const SITE_BYTES = 64 * 1024
const HABIT_BYTES = 4 * 1024
const PIECE_BYTES = 64

/** What pages of one site request, by kinds of pages. */
export class Knowledge {
  readonly #kinds = new RecentMap<Habit[]>({
    limit: SITE_BYTES,
    weigh: (habits, kind) =>
      habits.reduce((bytes, { bytes: own, lastPage }) => bytes + own + lastPage.length, kind.length),
  })

  /** Predicts requests in the order of earlier pages. `pageUrl` is the page's address as in `Referer`. */
  predict(page: PageAddress, pageUrl: string): Prediction[] {
    return page.kinds.flatMap((kind) =>
      (this.#kinds.get(kind) ?? []).flatMap((habit) => {
        const path = fillTemplate(habit.path, page)
        if (path === null) return []
        const headers = habit.namesPage ? { ...habit.headers, referer: pageUrl } : habit.headers
        return [{ habit, request: { path, headers }, isSure: habit.seenInARow >= habit.needed }]
      }),
    )
  }

  /** Compares what a page requested with what was predicted. */
  learn(page: PageAddress, pageUrl: string, { predictions, early, wasted, asked }: Shown): void {
    const right = new Set<Habit>()
    const explained = new Set<SiteRequest>()
    for (const prediction of predictions) {
      const { habit, request } = prediction
      const found = asked.find(({ path }) => path === request.path)
      if (found === undefined || !isAlike(found.headers, request.headers)) continue
      explained.add(found)
      if (!wasted.has(prediction)) right.add(habit)
    }
    const inVain = new Set([...early].map(({ habit }) => habit).filter((habit) => !right.has(habit)))
    const fresh = asked.filter((request) => !explained.has(request))
    const predicted = new Set(predictions.map(({ habit }) => habit))
    for (const kind of page.kinds) {
      const kept: Habit[] = []
      for (const habit of this.#kinds.get(kind) ?? []) {
        if (right.has(habit)) confirm(habit, page)
        else if (predicted.has(habit)) miss(habit, inVain.has(habit))
        if (!isForgotten(habit)) kept.push(habit)
      }
      for (const request of fresh) addHabit(kept, habitOf(request, page, pageUrl))
      this.#kinds.set(kind, kept)
    }
  }
}

function confirm(habit: Habit, page: PageAddress): void {
  habit.missedInARow = 0
  // The same page says nothing about others, unless it is the only one of its kind.
  if (habit.lastPage === page.text && page.kinds[0] !== '/') return
  habit.seenInARow++
  habit.lastPage = page.text
}

/** `isInVain`: the request was sent early, and the page did not make it. */
function miss(habit: Habit, isInVain: boolean): void {
  if (isInVain) habit.needed = Math.min(2 * habit.needed, MOST_NEEDED)
  habit.seenInARow = 0
  habit.missedInARow++
}

function isForgotten({ needed, missedInARow }: Habit): boolean {
  return missedInARow >= (needed === FIRST_NEEDED ? FIRST_MISSES : MOST_NEEDED)
}

function habitOf({ path, headers }: SiteRequest, page: PageAddress, pageUrl: string): Habit {
  const { referer, ...others } = headers
  const namesPage = referer === pageUrl
  const kept = namesPage ? others : headers
  const template = templateOf(path, page)
  return {
    path: template,
    headers: kept,
    namesPage,
    seenInARow: 1,
    missedInARow: 0,
    needed: FIRST_NEEDED,
    lastPage: page.text,
    bytes: path.length + PIECE_BYTES * template.length + JSON.stringify(kept).length + 200,
  }
}

/** When full, replaces a request that only one page made. Wasted ones stay, so that they are not sent again. */
function addHabit(habits: Habit[], habit: Habit): void {
  if (habit.bytes > HABIT_BYTES) return
  if (habits.length >= HABITS_PER_KIND) {
    const place = habits.findIndex(
      ({ needed, seenInARow, lastPage }) =>
        needed === FIRST_NEEDED && seenInARow <= 1 && lastPage !== habit.lastPage,
    )
    if (place === -1) return
    habits.splice(place, 1)
  }
  habits.push(habit)
}

/** Returns whether an origin sees the same headers. */
export function isAlike(a: OutgoingHttpHeaders, b: OutgoingHttpHeaders): boolean {
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every((name) => String(a[name]) === String(b[name]))
}

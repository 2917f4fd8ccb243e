import type { OutgoingHttpHeaders } from 'node:http'

import { RecentMap } from '../../recent-map.ts'
import { fillTemplate, type PageAddress, type PathTemplate, templateOf } from './page-address.ts'

/** A GET of a page to its own site, as it goes to the origin. */
export type SiteRequest = { path: string; headers: OutgoingHttpHeaders }

/** What pages of a kind have asked for, each with what it would be for another page. */
type Habit = {
  path: PathTemplate
  /** Without `Referer`, where that is the page's own address. */
  headers: OutgoingHttpHeaders
  namesPage: boolean
  /** Pages one after the other that have asked for it. */
  seenInARow: number
  /** And that have not. */
  missedInARow: number
  /** So many make it sure. */
  needed: number
  lastPage: string
  /** Without `lastPage`. */
  bytes: number
}

/** `isSure`: worth being sent to the origin before the page asks. */
export type Prediction = { habit: Habit; request: SiteRequest; isSure: boolean }

/**
 * What a page that has come to its end has shown. `early`: what was sent to the origin before it was asked for;
 * `wasted`: and once more when it was asked for.
 */
export type Shown = {
  predictions: readonly Prediction[]
  early: ReadonlySet<Prediction>
  wasted: ReadonlySet<Prediction>
  asked: readonly SiteRequest[]
}

/** What is known of one site, by kinds of pages. */
export type Knowledge = {
  /** In the order in which pages have asked. `pageUrl`: as a `Referer` has it. */
  predict(page: PageAddress, pageUrl: string): Prediction[]
  learn(page: PageAddress, pageUrl: string, shown: Shown): void
}

/** Different pages of a kind that must have asked for a thing, one after the other. */
const FIRST_NEEDED = 3
/** Doubled, up to this, each time that an origin was asked in vain; and forgotten after so many pages without it. */
const MOST_NEEDED = 96
/** What has never been asked for in vain is forgotten sooner: it was of one page only. */
const FIRST_MISSES = 2
const HABITS_PER_KIND = 24
/** Of one site: its habits, roughly. A page can ask for what it likes. */
const SITE_BYTES = 64 * 1024
const HABIT_BYTES = 4 * 1024
/** Of a path's template, for each of its pieces. */
const PIECE_BYTES = 64

export function createKnowledge(): Knowledge {
  const kinds = new RecentMap<Habit[]>({
    limit: SITE_BYTES,
    weigh: (habits, kind) =>
      habits.reduce((bytes, { bytes: own, lastPage }) => bytes + own + lastPage.length, kind.length),
  })

  return {
    predict(page, pageUrl) {
      return page.kinds.flatMap((kind) =>
        (kinds.get(kind) ?? []).flatMap((habit) => {
          const path = fillTemplate(habit.path, page)
          if (path === null) return []
          const headers = habit.namesPage ? { ...habit.headers, referer: pageUrl } : habit.headers
          return [{ habit, request: { path, headers }, isSure: habit.seenInARow >= habit.needed }]
        }),
      )
    },

    learn(page, pageUrl, { predictions, early, wasted, asked }) {
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
      for (const kind of page.kinds) {
        const before = kinds.get(kind) ?? []
        const kept = before.filter((habit) => {
          const isPredicted = predictions.some((one) => one.habit === habit)
          if (!isPredicted || right.has(habit)) return true
          if (inVain.has(habit)) habit.needed = Math.min(2 * habit.needed, MOST_NEEDED)
          habit.seenInARow = 0
          habit.missedInARow++
          return habit.missedInARow < (habit.needed === FIRST_NEEDED ? FIRST_MISSES : MOST_NEEDED)
        })
        for (const habit of kept) {
          if (!right.has(habit)) continue
          habit.missedInARow = 0
          // The same page again says nothing of others, unless there is but one of its kind.
          if (habit.lastPage === page.text && page.kinds[0] !== '/') continue
          habit.seenInARow++
          habit.lastPage = page.text
        }
        for (const request of fresh) addHabit(kept, habitOf(request, page, pageUrl))
        kinds.set(kind, kept)
      }
    },
  }
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

/**
 * When there is no room, in the place of one that only one page before has asked for. What was once asked for in
 * vain stays for a while: that is to be remembered.
 */
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

/** Whether an origin cannot tell the one from the other. */
export function isAlike(a: OutgoingHttpHeaders, b: OutgoingHttpHeaders): boolean {
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every((name) => String(a[name]) === String(b[name]))
}

import type { DomainId } from '../../ids.ts'
import { CRAWLER_CATEGORIES } from '../../sites/domain-settings.ts'
import { CRAWLER_NAMES, OTHER_CRAWLER } from './crawler-numbers.ts'
import { STEPS, stepOf } from './time-range.ts'

/** In place of a category: of all who are no crawler. */
export const PEOPLE = 'people'
const CATEGORIES: readonly string[] = [...CRAWLER_CATEGORIES, PEOPLE]
const PEOPLE_AT = CATEGORIES.length - 1

const HOUR_MS = 3_600_000

export type TallyLimits = {
  /** Lines of one domain and hour; past it, crawlers count as `other`, whose lines are few. */
  domainLines: number
  /** Over all domains; past it, visits that need a new line are lost, and only how many they are is known. */
  lines: number
  /** Paths of one domain and hour, for each of the two lists. */
  domainPaths: number
  /** Over all domains. */
  paths: number
}

/** Some 20 MB where all of it is used; a line takes some 400 bytes. */
const LIMITS: TallyLimits = { domainLines: 300, lines: 40_000, domainPaths: 100, paths: 20_000 }

/** The code has fewer verdicts; a mistake must not grow for ever. */
const MOST_VERDICTS = 100

/** Visits of one hour, or of more, by one crawler with one verdict. */
export class Line {
  visits = 0
  status3xx = 0
  status4xx = 0
  status5xx = 0
  unanswered = 0
  readonly times = new Uint32Array(STEPS)

  /** `status` 0: the client went before there was an answer. */
  add(status: number, seconds: number): void {
    this.visits++
    this.times[stepOf(seconds)]!++
    if (status === 0) this.unanswered++
    else if (status >= 500) this.status5xx++
    else if (status >= 400) this.status4xx++
    else if (status >= 300) this.status3xx++
  }

  addAll(line: Line): void {
    this.visits += line.visits
    this.status3xx += line.status3xx
    this.status4xx += line.status4xx
    this.status5xx += line.status5xx
    this.unanswered += line.unanswered
    for (const [step, count] of line.times.entries()) this.times[step]! += count
  }
}

/** One hour of one domain, as one node saw it. */
export type DomainHour = {
  domain: DomainId
  /** Since the epoch. */
  hour: number
  /** By packed keys: `named` says what they stand for. */
  lines: Map<number, Line>
  /** Pages by visits of crawlers. */
  top: HeavyHitters
  /** By those visits that got no finished page, or an error. */
  failing: HeavyHitters
  /** The crawler that came last, by the key of its line; -1: none came. */
  lastKey: number
  lastMs: number
}

/**
 * Counts of one node since they were last taken. Everything in it has a bound;
 * what is past one counts under `other`, or as lost. Crawlers and verdicts are
 * numbers here, so that a visit costs a few look-ups of numbers and no text is made.
 */
export function createTally(limits: TallyLimits = LIMITS) {
  const verdicts: string[] = []
  const verdictNumbers = new Map<string, number>()
  let hours = new Map<DomainId, DomainHour>()
  /** Those that have ended since. */
  let ended: DomainHour[] = []
  let linesLeft = limits.lines
  let room: Room = { left: limits.paths }
  let lost = 0

  function begin(domain: DomainId, hour: number): DomainHour | null {
    if (linesLeft === 0) return null
    const before = hours.get(domain)
    if (before !== undefined) ended.push(before)
    const begun: DomainHour = {
      domain,
      hour,
      lines: new Map(),
      top: new HeavyHitters(limits.domainPaths, room),
      failing: new HeavyHitters(limits.domainPaths, room),
      lastKey: -1,
      lastMs: 0,
    }
    hours.set(domain, begun)
    return begun
  }

  /** Null: there is no room for it. */
  function newLine(of: DomainHour, key: number): Line | null {
    const wanted = of.lines.size < limits.domainLines ? key : withoutName(key)
    const known = of.lines.get(wanted)
    if (known !== undefined) return known
    if (linesLeft === 0) return null
    linesLeft--
    const line = new Line()
    of.lines.set(wanted, line)
    return line
  }

  /** By which a verdict is known to `keyOf`. */
  function verdictNumber(verdict: string): number {
    const known = verdictNumbers.get(verdict)
    if (known !== undefined) return known
    if (verdicts.length >= MOST_VERDICTS && verdict !== 'pass; other') return verdictNumber('pass; other')
    verdicts.push(verdict)
    verdictNumbers.set(verdict, verdicts.length - 1)
    return verdicts.length - 1
  }

  return {
    verdictNumber,

    /** The hour of a domain in which this moment is counted. Null: there is no room, and the visit counts as lost. */
    hourOf(domain: DomainId, nowMs: number): DomainHour | null {
      const hour = Math.floor(nowMs / HOUR_MS)
      const found = hours.get(domain)
      // A clock that was set back opens no hour a second time.
      const of = found !== undefined && found.hour >= hour ? found : begin(domain, hour)
      if (of === null) lost++
      return of
    },

    /** Counts one visit, of a line that `keyOf` named. */
    add(of: DomainHour, key: number, status: number, seconds: number): void {
      const line = of.lines.get(key) ?? newLine(of, key)
      if (line === null) lost++
      else line.add(status, seconds)
    },

    isEmpty: () => hours.size === 0 && lost === 0,

    /** All that was counted since it was last called, and how many visits were past the bounds. */
    take(): { hours: DomainHour[]; lost: number } {
      const taken = { hours: [...ended, ...hours.values()], lost }
      hours = new Map()
      ended = []
      linesLeft = limits.lines
      room = { left: limits.paths }
      lost = 0
      return taken
    },

    /** What the key of a line stands for; people have no name. */
    named: (key: number) => ({
      category: CATEGORIES[key & 7]!,
      crawler: (key & 7) === PEOPLE_AT ? '' : CRAWLER_NAMES[(key >> 3) & 255]!,
      verdict: verdicts[key >> 11]!,
    }),
  }
}

export type Tally = ReturnType<typeof createTally>

/** Three bits for the category, eight for the crawler's number, the rest for the verdict's. */
export function keyOf(category: string, crawler: number, verdict: number): number {
  return (verdict << 11) | (crawler << 3) | CATEGORIES.indexOf(category)
}

function withoutName(key: number): number {
  return (key & ~(255 << 3)) | (OTHER_CRAWLER << 3)
}

/** How many entries may still be made, over all that share it. */
export type Room = { left: number }

/** `verdict` and `status`: of its newest visit. */
type Hitter = {
  visits: number
  verdict: string
  status: number
  /** What had been counted under whoever had its place before: it may have come so often unseen. */
  readonly floor: number
}

/**
 * The paths that come most often, in bounded memory (Space-Saving of Metwally,
 * Agrawal and El Abbadi, 2005): a path without a place takes that of the rarest.
 * So whoever asks for ever new paths drives out none that is asked for often.
 * `visits` is what was seen of a path in its place, never more than the truth.
 */
export class HeavyHitters {
  readonly paths = new Map<string, Hitter>()
  /** Visits of all paths that lost their place or got none. */
  others = 0
  readonly #most: number
  readonly #room: Room

  constructor(most: number, room: Room) {
    this.#most = most
    this.#room = room
  }

  add(path: string, verdict: string, status: number): void {
    const known = this.paths.get(path)
    if (known !== undefined) {
      known.visits++
      known.verdict = verdict
      known.status = status
      return
    }
    if (this.paths.size < this.#most && this.#room.left > 0) {
      this.#room.left--
      this.paths.set(path, { visits: 1, verdict, status, floor: 0 })
      return
    }
    const floor = this.#dropRarest()
    if (floor === null) this.others++
    else this.paths.set(path, { visits: 1, verdict, status, floor })
  }

  /** Gives its rank; null: there is none. */
  #dropRarest(): number | null {
    let rarest: [path: string, hitter: Hitter] | null = null
    for (const entry of this.paths) {
      if (rarest === null || rankOf(entry[1]) < rankOf(rarest[1])) rarest = entry
    }
    if (rarest === null) return null
    this.paths.delete(rarest[0])
    this.others += rarest[1].visits
    return rankOf(rarest[1])
  }
}

function rankOf({ visits, floor }: Hitter): number {
  return visits + floor
}

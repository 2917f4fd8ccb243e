import type { DomainId } from '../../ids.ts'
import { CRAWLER_CATEGORIES } from '../../sites/domain-settings.ts'
import { CRAWLER_NAMES, OTHER_CRAWLER } from './crawler-numbers.ts'
import { stepOf, TIME_STEPS } from './time-range.ts'

/** The category of visitors that are not crawlers. */
export const PEOPLE = 'people'
const CATEGORIES: readonly string[] = [...CRAWLER_CATEGORIES, PEOPLE]
const PEOPLE_AT = CATEGORIES.length - 1

const HOUR_MS = 3_600_000

export type CountLimits = {
  /** Lines of one domain and hour. More crawlers count as `other`. */
  domainLines: number
  /** Of all domains. More visits that need a new line are lost, and only their number is known. */
  lines: number
  /** Paths of one domain and hour, in each list. */
  domainPaths: number
  /** Of all domains. */
  paths: number
}

/** About 20 MB; a line takes about 400 bytes. */
const LIMITS: CountLimits = { domainLines: 300, lines: 40_000, domainPaths: 100, paths: 20_000 }

/** The code has fewer. */
const MOST_VERDICTS = 100

/** Visits of one crawler with one verdict. */
export class Line {
  visits = 0
  status3xx = 0
  status4xx = 0
  status5xx = 0
  unanswered = 0
  readonly times = new Uint32Array(TIME_STEPS)

  /** `status` 0: the client disconnected before the response. */
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

/** One hour of one domain at this node. */
export type DomainHour = {
  domain: DomainId
  /** Hours since the epoch. */
  hour: number
  /** By packed keys; `named` unpacks them. */
  lines: Map<number, Line>
  /** Pages with the most visits of crawlers. */
  top: HeavyHitters
  /** The same for visits without a finished page, or with an error. */
  failing: HeavyHitters
  /** The line of the last crawler; -1: none. */
  lastKey: number
  lastMs: number
}

/**
 * The visits that a node counted since they were last taken. Everything in it has
 * a limit; what exceeds it counts as `other`, or as lost. Crawlers and verdicts
 * are numbers here, so that a visit costs a few numeric look-ups and no strings.
 */
export class VisitCounts {
  readonly #limits: CountLimits
  readonly #verdicts: string[] = []
  readonly #verdictNumbers = new Map<string, number>()
  #hours = new Map<DomainId, DomainHour>()
  /** Earlier hours of the same domains. */
  #earlier: DomainHour[] = []
  #linesLeft: number
  #room: Room
  #lost = 0

  constructor(limits: CountLimits = LIMITS) {
    this.#limits = limits
    this.#linesLeft = limits.lines
    this.#room = { left: limits.paths }
  }

  get isEmpty(): boolean {
    return this.#hours.size === 0 && this.#lost === 0
  }

  /** For `keyOf`. */
  verdictNumber(verdict: string): number {
    const known = this.#verdictNumbers.get(verdict)
    if (known !== undefined) return known
    const isFull = this.#verdicts.length >= MOST_VERDICTS && verdict !== 'pass; other'
    if (isFull) return this.verdictNumber('pass; other')
    this.#verdicts.push(verdict)
    this.#verdictNumbers.set(verdict, this.#verdicts.length - 1)
    return this.#verdicts.length - 1
  }

  /** The hour in which a visit counts now. null: no room left, and the visit counts as lost. */
  hourOf(domain: DomainId, nowMs: number): DomainHour | null {
    const hour = Math.floor(nowMs / HOUR_MS)
    const found = this.#hours.get(domain)
    // A clock that was set back does not begin an hour again.
    const current = found !== undefined && found.hour >= hour ? found : this.#begin(domain, hour)
    if (current === null) this.#lost++
    return current
  }

  /** Counts one visit. `key`: from `keyOf`. */
  add(hour: DomainHour, key: number, status: number, seconds: number): void {
    const line = hour.lines.get(key) ?? this.#newLine(hour, key)
    if (line === null) this.#lost++
    else line.add(status, seconds)
  }

  /** Everything counted since the last call, and the number of lost visits. */
  take(): { hours: DomainHour[]; lost: number } {
    const taken = { hours: [...this.#earlier, ...this.#hours.values()], lost: this.#lost }
    this.#hours = new Map()
    this.#earlier = []
    this.#linesLeft = this.#limits.lines
    this.#room = { left: this.#limits.paths }
    this.#lost = 0
    return taken
  }

  /** What the key of a line stands for. People have no name. */
  readonly named = (key: number) => ({
    category: CATEGORIES[key & 7]!,
    crawler: (key & 7) === PEOPLE_AT ? '' : CRAWLER_NAMES[(key >> 3) & 255]!,
    verdict: this.#verdicts[key >> 11]!,
  })

  #begin(domain: DomainId, hour: number): DomainHour | null {
    if (this.#linesLeft === 0) return null
    const before = this.#hours.get(domain)
    if (before !== undefined) this.#earlier.push(before)
    const begun: DomainHour = {
      ...{ domain, hour, lines: new Map(), lastKey: -1, lastMs: 0 },
      top: new HeavyHitters(this.#limits.domainPaths, this.#room),
      failing: new HeavyHitters(this.#limits.domainPaths, this.#room),
    }
    this.#hours.set(domain, begun)
    return begun
  }

  /** null: no room left. */
  #newLine(hour: DomainHour, key: number): Line | null {
    const wanted = hour.lines.size < this.#limits.domainLines ? key : withoutName(key)
    const known = hour.lines.get(wanted)
    if (known !== undefined) return known
    if (this.#linesLeft === 0) return null
    this.#linesLeft--
    const line = new Line()
    hour.lines.set(wanted, line)
    return line
  }
}

/** Three bits for the category, eight for the crawler's number, the rest for the verdict's. */
export function keyOf(category: string, crawler: number, verdict: number): number {
  return (verdict << 11) | (crawler << 3) | CATEGORIES.indexOf(category)
}

function withoutName(key: number): number {
  return (key & ~(255 << 3)) | (OTHER_CRAWLER << 3)
}

/** Entries left for all that share it. */
export type Room = { left: number }

/** `verdict` and `status`: of its newest visit. */
type Hitter = {
  visits: number
  verdict: string
  status: number
  /** The count of the path that had its place before: it may have had as many unseen visits. */
  readonly floor: number
}

/**
 * The most frequent paths in bounded memory (Space-Saving by Metwally, Agrawal
 * and El Abbadi, 2005): a new path replaces the rarest one, so that ever new
 * paths do not evict frequent ones. `visits` is never more than the truth.
 */
export class HeavyHitters {
  readonly paths = new Map<string, Hitter>()
  /** Visits of all other paths. */
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

  /** Returns its rank; null: there was none. */
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

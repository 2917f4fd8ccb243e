import type { DomainId } from '@prepaint/contract/ids.ts'
import type { Form } from '@prepaint/contract/outcome/form.ts'
import type { PageVariant } from '@prepaint/contract/page/page-id.ts'
import { CRAWLER_CATEGORIES } from '@prepaint/contract/settings/domain-settings.ts'
import { CRAWLER_NAMES, OTHER_CRAWLER } from './crawler-numbers.ts'
import { ResponseTimes } from './response-times.ts'

export const PEOPLE = 'people'
const CATEGORIES: readonly string[] = [...CRAWLER_CATEGORIES, PEOPLE]
const PEOPLE_AT = CATEGORIES.length - 1

export const MINUTE_MS = 60_000

export type CountLimits = {
  /** Lines of a domain in a minute. Further crawlers count as `other`. */
  domainLines: number
  /** Lines of all domains, and `LINES_OF_MINUTE` for each minute. Visits that need further lines are counted only as lost. */
  lines: number
  domainPaths: number
  paths: number
}

/** A minute of a domain takes as much memory as so many lines. */
export const LINES_OF_MINUTE = 4

/**
 * A line takes about 250 bytes, or 400 if its response times differ much: 80 to 120 MB for 10,000 domains with 24 lines
 * and some room, which are written each minute. While PostgreSQL is away, a batch that waits takes as much again at most.
 */
const LIMITS: CountLimits = { domainLines: 300, lines: 320_000, domainPaths: 100, paths: 20_000 }

/** Counts are written before the minute ends when this share of the lines is in use. */
const FULL_SHARE = 0.9

const MOST_VERDICTS = 100

/** In the order in which they stand in a packed line. */
export const COUNTS = [
  'visits',
  'status_3xx',
  'status_4xx',
  'status_5xx',
  'unanswered',
  'markdown',
  'cards',
  'mobile',
] as const

export class Line {
  visits = 0
  status_3xx = 0
  status_4xx = 0
  status_5xx = 0
  unanswered = 0
  markdown = 0
  cards = 0
  mobile = 0
  readonly times = new ResponseTimes()

  addAll(other: Line): void {
    for (const name of COUNTS) this[name] += other[name]
    this.times.addAll(other.times)
  }

  /** `status` 0: the client disconnected before the response. */
  add(status: number, seconds: number, form: Form = 'html', variant: PageVariant = 'desktop'): void {
    this.visits++
    if (variant === 'mobile') this.mobile++
    if (form === 'markdown') this.markdown++
    else if (form === 'card') this.cards++
    this.times.add(seconds)
    if (status === 0) this.unanswered++
    else if (status >= 500) this.status_5xx++
    else if (status >= 400) this.status_4xx++
    else if (status >= 300) this.status_3xx++
  }
}

export type DomainMinute = {
  domain: DomainId
  /** Minutes since 1970. */
  minute: number
  /** Lines by packed key, which `nameOf` unpacks. */
  lines: Map<number, Line>
  /** Pages with the most crawler visits. */
  top: HeavyHitters
  /** Pages with the most visits without a finished page, or with an error. */
  failing: HeavyHitters
  /** The key of the last crawler's line, or -1 before the first crawler. */
  lastKey: number
  lastMs: number
}

/** Visits since the last `take`. It is bounded: the excess counts as `other` or as lost. Numbers for crawlers and verdicts avoid strings on the hot path. */
export class VisitCounts {
  readonly #limits: CountLimits
  readonly #verdicts: string[] = []
  readonly #verdictNumbers = new Map<string, number>()
  #minutes = new Map<DomainId, DomainMinute>()
  #earlier: DomainMinute[] = []
  #linesLeft: number
  #room: Room
  #lost = 0

  constructor(limits: CountLimits = LIMITS) {
    this.#limits = limits
    this.#linesLeft = limits.lines
    this.#room = { left: limits.paths }
  }

  get isEmpty(): boolean {
    return this.#minutes.size === 0 && this.#lost === 0
  }

  /** How many domains had visits since the last `take`. */
  get domains(): number {
    return this.#minutes.size
  }

  /** Whether visits will soon be lost, unless the counts are taken. */
  get isNearlyFull(): boolean {
    return this.#linesLeft < this.#limits.lines * (1 - FULL_SHARE)
  }

  /** Returns the verdict's number, and gives it one at its first visit. */
  takeVerdictNumber(verdict: string): number {
    const known = this.#verdictNumbers.get(verdict)
    if (known !== undefined) return known
    const isFull = this.#verdicts.length >= MOST_VERDICTS && verdict !== 'pass; other'
    if (isFull) return this.takeVerdictNumber('pass; other')
    this.#verdicts.push(verdict)
    this.#verdictNumbers.set(verdict, this.#verdicts.length - 1)
    return this.#verdicts.length - 1
  }

  /** Returns the domain's current minute, which it begins if necessary. If there is no room, counts the visit as lost and returns null. */
  takeMinute(domain: DomainId, nowMs: number): DomainMinute | null {
    const minute = Math.floor(nowMs / MINUTE_MS)
    const found = this.#minutes.get(domain)
    // If the clock was set back, the current minute continues.
    const current = found !== undefined && found.minute >= minute ? found : this.#begin(domain, minute)
    if (current === null) this.#lost++
    return current
  }

  add(minute: DomainMinute, key: number, ...visit: Parameters<Line['add']>): void {
    const line = minute.lines.get(key) ?? this.#newLine(minute, key)
    if (line === null) this.#lost++
    else line.add(...visit)
  }

  /** Returns the counts and begins anew. `lost` is the number of lost visits. */
  take(): { minutes: DomainMinute[]; lost: number } {
    const taken = { minutes: [...this.#earlier, ...this.#minutes.values()], lost: this.#lost }
    this.#minutes = new Map()
    this.#earlier = []
    this.#linesLeft = this.#limits.lines
    this.#room = { left: this.#limits.paths }
    this.#lost = 0
    return taken
  }

  /** Returns what a packed key stands for. The crawler of people is the empty string. */
  nameOf(key: number): { category: string; crawler: string; verdict: string } {
    return {
      category: CATEGORIES[key & 15]!,
      crawler: (key & 15) === PEOPLE_AT ? '' : CRAWLER_NAMES[(key >> 4) & 255]!,
      verdict: this.#verdicts[key >> 12]!,
    }
  }

  #begin(domain: DomainId, minute: number): DomainMinute | null {
    if (this.#linesLeft < LINES_OF_MINUTE) return null
    this.#linesLeft -= LINES_OF_MINUTE
    const before = this.#minutes.get(domain)
    if (before !== undefined) this.#earlier.push(before)
    const begun: DomainMinute = {
      domain,
      minute,
      lines: new Map(),
      lastKey: -1,
      lastMs: 0,
      top: new HeavyHitters(this.#limits.domainPaths, this.#room),
      failing: new HeavyHitters(this.#limits.domainPaths, this.#room),
    }
    this.#minutes.set(domain, begun)
    return begun
  }

  #newLine(minute: DomainMinute, key: number): Line | null {
    const wanted = minute.lines.size < this.#limits.domainLines ? key : withoutName(key)
    const known = minute.lines.get(wanted)
    if (known !== undefined) return known
    if (this.#linesLeft === 0) return null
    this.#linesLeft--
    const line = new Line()
    minute.lines.set(wanted, line)
    return line
  }
}

/** Packs a line's key: four bits for the category, eight for the crawler, the rest for the verdict. */
export function keyOf(category: string, crawler: number, verdict: number): number {
  return (verdict << 12) | (crawler << 4) | CATEGORIES.indexOf(category)
}

function withoutName(key: number): number {
  return (key & ~(255 << 4)) | (OTHER_CRAWLER << 4)
}

export type Room = { left: number }

type Hitter = {
  visits: number
  markdown: number
  cards: number
  verdict: string
  status: number
  /** The count of the path that it replaced. It may have had as many visits before. */
  readonly floor: number
}

/** Most frequent paths in bounded memory (Space-Saving, Metwally et al., 2005). `visits` never exceeds the truth. */
class HeavyHitters {
  readonly paths = new Map<string, Hitter>()
  others = 0
  /** Paths that had the rank `#lowest` when they were looked for. Newer paths have a higher rank. */
  readonly #rarest: string[] = []
  #lowest = 0
  readonly #most: number
  readonly #room: Room

  constructor(most: number, room: Room) {
    this.#most = most
    this.#room = room
  }

  add(path: string, verdict: string, status: number, form: Form = 'html'): void {
    const known = this.paths.get(path)
    if (known !== undefined) {
      known.visits++
      known.markdown += Number(form === 'markdown')
      known.cards += Number(form === 'card')
      known.verdict = verdict
      known.status = status
      return
    }
    const first = { visits: 1, markdown: Number(form === 'markdown'), cards: Number(form === 'card') }
    if (this.paths.size < this.#most && this.#room.left > 0) {
      this.#room.left--
      this.paths.set(path, { ...first, verdict, status, floor: 0 })
      return
    }
    const floor = this.#dropRarest()
    if (floor === null) this.others++
    else this.paths.set(path, { ...first, verdict, status, floor })
  }

  /** Returns the rank of the dropped path, or null if there is none. Paths of the lowest rank are looked for once, not for each of them. */
  #dropRarest(): number | null {
    for (let isSearched = false; ; isSearched = true) {
      for (let path = this.#rarest.pop(); path !== undefined; path = this.#rarest.pop()) {
        const hitter = this.paths.get(path)
        if (hitter === undefined || rankOf(hitter) !== this.#lowest) continue
        this.paths.delete(path)
        this.others += hitter.visits
        return this.#lowest
      }
      if (isSearched) return null
      this.#findRarest()
    }
  }

  #findRarest(): void {
    this.#lowest = Number.POSITIVE_INFINITY
    for (const hitter of this.paths.values()) this.#lowest = Math.min(this.#lowest, rankOf(hitter))
    for (const [path, hitter] of this.paths) if (rankOf(hitter) === this.#lowest) this.#rarest.push(path)
    // The oldest is taken first.
    this.#rarest.reverse()
  }
}

function rankOf({ visits, floor }: Hitter): number {
  return visits + floor
}

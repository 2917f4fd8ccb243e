import type { DomainId } from '@prepaint/contract/ids.ts'
import type { Form } from '@prepaint/contract/outcome/form.ts'
import type { PageVariant } from '@prepaint/contract/page/page-id.ts'
import { CRAWLER_CATEGORIES } from '@prepaint/contract/settings/domain-settings.ts'
import { stepOf, TIME_STEPS } from '@prepaint/contract/traffic/time-range.ts'
import { CRAWLER_NAMES, OTHER_CRAWLER } from './crawler-numbers.ts'

export const PEOPLE = 'people'
const CATEGORIES: readonly string[] = [...CRAWLER_CATEGORIES, PEOPLE]
const PEOPLE_AT = CATEGORIES.length - 1

const HOUR_MS = 3_600_000

export type CountLimits = {
  /** Lines of a domain in an hour. Further crawlers count as `other`. */
  domainLines: number
  /** Lines of all domains. Visits that need further lines are counted only as lost. */
  lines: number
  domainPaths: number
  paths: number
}

/** About 20 MB; a line takes about 400 bytes. */
const LIMITS: CountLimits = { domainLines: 300, lines: 40_000, domainPaths: 100, paths: 20_000 }

const MOST_VERDICTS = 100

/** Columns of `traffic_hour` and `traffic_day`. */
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
  readonly times = new Uint32Array(TIME_STEPS)

  /** `status` 0: the client disconnected before the response. */
  add(status: number, seconds: number, form: Form = 'html', variant: PageVariant = 'desktop'): void {
    this.visits++
    if (variant === 'mobile') this.mobile++
    if (form === 'markdown') this.markdown++
    else if (form === 'card') this.cards++
    this.times[stepOf(seconds)]!++
    if (status === 0) this.unanswered++
    else if (status >= 500) this.status_5xx++
    else if (status >= 400) this.status_4xx++
    else if (status >= 300) this.status_3xx++
  }

  addAll(line: Line): void {
    for (const name of COUNTS) this[name] += line[name]
    for (const [step, count] of line.times.entries()) this.times[step]! += count
  }
}

export type DomainHour = {
  domain: DomainId
  hour: number
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
  #hours = new Map<DomainId, DomainHour>()
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

  /** Returns the domain's current hour, which it begins if necessary. If there is no room, counts the visit as lost and returns null. */
  takeHour(domain: DomainId, nowMs: number): DomainHour | null {
    const hour = Math.floor(nowMs / HOUR_MS)
    const found = this.#hours.get(domain)
    // If the clock was set back, the current hour continues.
    const current = found !== undefined && found.hour >= hour ? found : this.#begin(domain, hour)
    if (current === null) this.#lost++
    return current
  }

  add(hour: DomainHour, key: number, ...visit: Parameters<Line['add']>): void {
    const line = hour.lines.get(key) ?? this.#newLine(hour, key)
    if (line === null) this.#lost++
    else line.add(...visit)
  }

  /** Returns the counts and begins anew. `lost` is the number of lost visits. */
  take(): { hours: DomainHour[]; lost: number } {
    const taken = { hours: [...this.#earlier, ...this.#hours.values()], lost: this.#lost }
    this.#hours = new Map()
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

  #begin(domain: DomainId, hour: number): DomainHour | null {
    if (this.#linesLeft === 0) return null
    const before = this.#hours.get(domain)
    if (before !== undefined) this.#earlier.push(before)
    const begun: DomainHour = {
      domain,
      hour,
      lines: new Map(),
      lastKey: -1,
      lastMs: 0,
      top: new HeavyHitters(this.#limits.domainPaths, this.#room),
      failing: new HeavyHitters(this.#limits.domainPaths, this.#room),
    }
    this.#hours.set(domain, begun)
    return begun
  }

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

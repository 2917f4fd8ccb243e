import { kindOfVerdict } from '@prepaint/contract/traffic/verdict-kind.ts'
import { CRAWLER_NAMES, OTHER_CRAWLER } from './crawler-numbers.ts'
import { ResponseTimes } from './response-times.ts'
import { COUNTS, Line, PEOPLE } from './visit-counts.ts'

const OTHER = CRAWLER_NAMES[OTHER_CRAWLER]!

type LineName = { category: string; crawler: string; verdict: string }

/** A line's name, its response times as `ResponseTimes` writes them, then `COUNTS` in their order, without trailing zeros. */
export type PackedLine = [
  category: string,
  crawler: string,
  verdict: string,
  times: string,
  ...counts: number[],
]

export function packLine({ category, crawler, verdict }: LineName, line: Line): PackedLine {
  const counts = COUNTS.map((name) => line[name])
  const used = counts.slice(0, counts.findLastIndex((count) => count > 0) + 1)
  return [category, crawler, verdict, line.times.toString(), ...used]
}

/**
 * Lines as a row holds them: an array for each crawler, with its category, its name, and a text for each verdict, such as
 * `hit|10=2,0,1|3|1`. Without counts, it has as many visits as response times and no other counts. Much shorter than an array of arrays, each number of which takes twelve bytes in PostgreSQL.
 * `traffic_lines` (functions.sql) reads it.
 */
export type PackedRow = [category: string, crawler: string, ...lines: string[]][]

const SEPARATOR = '|'

export function packRow(lines: readonly PackedLine[]): PackedRow {
  const crawlers = new Map<string, PackedRow[number]>()
  for (const [category, crawler, ...line] of lines) {
    const key = `${category} ${crawler}`
    const ofCrawler = crawlers.get(key) ?? [category, crawler]
    crawlers.set(key, ofCrawler)
    const [verdict, times, visits, ...others] = line
    const isPlain = others.length === 0 && visits === countOf(times)
    ofCrawler.push((isPlain ? [verdict, times] : line).join(SEPARATOR))
  }
  return [...crawlers.values()]
}

export function unpackRow(stored: PackedRow): PackedLine[] {
  return stored.flatMap(([category, crawler, ...lines]) =>
    lines.map((line): PackedLine => {
      const [verdict = '', times = '', ...counts] = line.split(SEPARATOR)
      return [
        category,
        crawler,
        verdict,
        times,
        ...(counts.length === 0 ? [countOf(times)] : counts.map(Number)),
      ]
    }),
  )
}

function countOf(times: string): number {
  return ResponseTimes.parse(times).total
}

/** What lists of domains show, so that they need not read the lines. */
export type Totals = { visits: number; pages: number; hits: number; failed: number; searchVisits: number }

export function totalsOf(lines: readonly PackedLine[]): Totals {
  const totals = { visits: 0, pages: 0, hits: 0, failed: 0, searchVisits: 0 }
  for (const [category, , verdict, , visits = 0] of lines) {
    if (category === 'search') totals.searchVisits += visits
    const kind = kindOfVerdict(verdict)
    const isHit = kind === 'hit' || kind === 'stale'
    const isForPage = isHit || kind === 'rendered' || kind === 'failed'
    if (category === PEOPLE) continue
    totals.visits += visits
    if (!isForPage) continue
    totals.pages += visits
    if (isHit) totals.hits += visits
    if (kind === 'failed') totals.failed += visits
  }
  return totals
}

/** Lines of a domain and hour, or day. Further crawlers count as `other`. Nodes and minutes add up to more than one node counts. */
export const LINES_OF_ROW = 1_000

/** Lines of one domain and time, added up by name. */
export class LineSums {
  readonly #sums = new Map<string, { name: LineName; line: Line }>()

  add([category, crawler, verdict, times, ...counts]: PackedLine): void {
    const line = this.#take({ category, crawler, verdict })
    for (const [at, count] of counts.entries()) line[COUNTS[at]!] += count
    line.times.addAll(ResponseTimes.parse(times))
  }

  /** Adds the stored lines of a row. They keep their names: of the lines added so far, those beyond the limit count as `other`. */
  addStored(stored: readonly PackedLine[]): void {
    const added = [...this.#sums.values()]
    this.#sums.clear()
    for (const line of stored) this.add(line)
    for (const { name, line } of added) this.#take(name).addAll(line)
  }

  pack(): PackedLine[] {
    return [...this.#sums.values()].map(({ name, line }) => packLine(name, line))
  }

  #take(name: LineName): Line {
    const key = JSON.stringify([name.category, name.crawler, name.verdict])
    const known = this.#sums.get(key)
    if (known !== undefined) return known.line
    const isFull = this.#sums.size >= LINES_OF_ROW && name.category !== PEOPLE && name.crawler !== OTHER
    if (isFull) return this.#take({ ...name, crawler: OTHER })
    const line = new Line()
    this.#sums.set(key, { name, line })
    return line
  }
}

import { Counter, type Registry } from 'prom-client'
import { addGauge } from './gauge.ts'
import { type Count, Counts, type Timing, Timings } from './histograms.ts'

/** `verdict` is what `X-Prepaint` says; `crawler` is the crawler's category, or null. */
export type AnsweredRequest = {
  verdict: string
  crawler: string | null
  /** Time until the answer was sent, or for hits from memory until Node had it. */
  seconds: number
}

const MOST_VERDICTS = 60

const SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
]

type Lines = { kind: string; why: string; timing: Timing; counts: Map<string | null, Count> }

/** What this node's edge answered, and what it holds in memory. */
export class EdgeMetrics {
  readonly #registry: Registry
  readonly #requests: Counts<'verdict' | 'why' | 'crawler'>
  readonly #seconds: Timings<'verdict'>
  readonly #refused: Counter<'budget'>
  /** The times of requests, by the first word of their verdict. */
  readonly #timings = new Map<string, Timing>()
  readonly #verdicts = new Map<string, Lines>()

  constructor(registry: Registry) {
    this.#registry = registry
    this.#requests = new Counts({
      name: 'prepaint_edge_requests_total',
      help: 'Live requests by verdict, by why they passed to the origin, and by category of the crawler',
      labelNames: ['verdict', 'why', 'crawler'],
      registers: [registry],
    })
    this.#seconds = new Timings({
      name: 'prepaint_edge_request_seconds',
      help: 'Time of live requests; hit and stale: of our own work; else until the answer had gone out',
      labelNames: ['verdict'],
      buckets: SECONDS,
    })
    registry.registerMetric(this.#seconds)
    this.#refused = new Counter({
      name: 'prepaint_edge_client_refusals_total',
      help: 'Requests and frames refused, by the budget of one client that they would have exceeded',
      labelNames: ['budget'],
      registers: [registry],
    })
  }

  refused(budget: string): void {
    this.#refused.inc({ budget })
  }

  /** Counts a request. Called for every one, so it only looks up and adds. */
  answered({ verdict, crawler, seconds }: AnsweredRequest): void {
    const lines = this.#verdicts.get(verdict) ?? this.#addLines(verdict)
    const count = lines.counts.get(crawler) ?? this.#addCount(lines, crawler)
    count.value++
    lines.timing(seconds)
  }

  /** Registers what memory and disk hold. Call it once: each scrape calls `held`. */
  holds(held: () => { pages: number; bytes: number; diskBytes: number }): void {
    addGauge(
      this.#registry,
      'prepaint_edge_pages_in_memory',
      'Pages and redirects in memory',
      () => held().pages,
    )
    addGauge(this.#registry, 'prepaint_edge_memory_bytes', 'Bytes of the pages in memory', () => held().bytes)
    addGauge(
      this.#registry,
      'prepaint_edge_disk_bytes',
      'Bytes of the bodies on disk, in front of the object store',
      () => held().diskBytes,
    )
  }

  /** Verdicts beyond the limit share one line. */
  #addLines(verdict: string): Lines {
    const name = this.#verdicts.size < MOST_VERDICTS ? verdict : 'other'
    const known = this.#verdicts.get(name)
    if (known !== undefined) return known
    const [kind = '', why = ''] = name.split('; ')
    const timing = this.#timings.get(kind) ?? this.#seconds.line({ verdict: kind })
    this.#timings.set(kind, timing)
    const lines = { kind, why, timing, counts: new Map() }
    this.#verdicts.set(name, lines)
    return lines
  }

  #addCount({ kind, why, counts }: Lines, crawler: string | null): Count {
    const count = this.#requests.line({ verdict: kind, why, crawler: crawler ?? 'none' })
    counts.set(crawler, count)
    return count
  }
}

import { Gauge, type Registry } from 'prom-client'
import { type Count, Counts, type Timing, Timings } from './histograms.ts'

/** `verdict`: as in `X-Prepaint`. `crawler`: the category. */
export type AnsweredRequest = {
  verdict: string
  crawler: string | null
  /** Until sent; for hits from memory until handed to Node. */
  seconds: number
}

const MOST_VERDICTS = 60

const SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
]

type Lines = { kind: string; why: string; timing: Timing; counts: Map<string | null, Count> }

export function createEdgeMetrics(registry: Registry) {
  const requests = new Counts({
    name: 'prepaint_edge_requests_total',
    help: 'Live requests by verdict, by why they passed to the origin, and by category of the crawler',
    labelNames: ['verdict', 'why', 'crawler'],
    registers: [registry],
  })
  const seconds = new Timings({
    name: 'prepaint_edge_request_seconds',
    help: 'Time of live requests; hit and stale: of our own work; else until the answer had gone out',
    labelNames: ['verdict'],
    buckets: SECONDS,
  })
  registry.registerMetric(seconds)
  const timings = new Map<string, Timing>()
  const verdicts = new Map<string, Lines>()

  function linesOf(verdict: string): Lines {
    const known = verdicts.get(verdict)
    if (known !== undefined) return known
    if (verdicts.size >= MOST_VERDICTS && verdict !== 'other') return linesOf('other')
    const [kind = '', why = ''] = verdict.split('; ')
    const timing = timings.get(kind) ?? seconds.line({ verdict: kind })
    timings.set(kind, timing)
    const lines = { kind, why, timing, counts: new Map() }
    verdicts.set(verdict, lines)
    return lines
  }

  function countOf({ kind, why, counts }: Lines, crawler: string | null): Count {
    const made = requests.line({ verdict: kind, why, crawler: crawler ?? 'none' })
    counts.set(crawler, made)
    return made
  }

  return {
    answered({ verdict, crawler, seconds: took }: AnsweredRequest): void {
      const lines = verdicts.get(verdict) ?? linesOf(verdict)
      const count = lines.counts.get(crawler) ?? countOf(lines, crawler)
      count.value++
      lines.timing(took)
    },
    /** Call once. Each scrape calls `held`. */
    holds(held: () => { pages: number; bytes: number }): void {
      const gauge = (name: string, help: string, read: () => number) =>
        new Gauge({
          name,
          help,
          registers: [registry],
          collect() {
            this.set(read())
          },
        })
      gauge('prepaint_edge_pages_in_memory', 'Pages and redirects in memory', () => held().pages)
      gauge('prepaint_edge_memory_bytes', 'Bytes of the pages in memory', () => held().bytes)
    },
  }
}

export type EdgeMetrics = ReturnType<typeof createEdgeMetrics>

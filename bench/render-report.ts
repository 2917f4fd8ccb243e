import { median, percentile } from './figures.ts'
import { markdownTable } from './markdown.ts'
import type { Service } from './peers/service.ts'
import type { RunFigures } from './render-measure.ts'

export type Summary = {
  service: string
  version: string
  latencyP50Ms: number
  latencyP95Ms: number
  pagesPerSecond: number
  cpuMsPerPage: number
  /** Before the first page, after the warm-up, at the peak; NaN without `--idle-minutes`: after them, and the next page. */
  restMiB: number
  warmMiB: number
  peakMiB: number
  idleMiB: number
  wakeMs: number
  pages: number
  incomplete: number
  /** Relative to the first service, run by run, then the median. */
  latencyRatio: number
  throughputRatio: number
  cpuRatio: number
}

export type AtRest = { restBytes: number; warmBytes: number; idleBytes: number; wakeMs: number }

/** Medians over the runs; p95 over all pages of all runs. */
export function summarise(
  service: Service,
  runs: readonly RunFigures[],
  peerRuns: readonly RunFigures[],
  { restBytes, warmBytes, idleBytes, wakeMs }: AtRest,
): Summary {
  const overRuns = (value: (run: RunFigures) => number) => median(runs.map(value))
  const ratio = (value: (run: RunFigures) => number) =>
    median(runs.map((run, at) => value(run) / value(peerRuns[at]!)))
  const latency = (run: RunFigures) => percentile(run.latenciesMs, 0.5)
  return {
    service: service.name,
    version: service.version,
    latencyP50Ms: overRuns(latency),
    latencyP95Ms: percentile(
      runs.flatMap((run) => run.latenciesMs),
      0.95,
    ),
    pagesPerSecond: overRuns((run) => run.pagesPerSecond),
    cpuMsPerPage: overRuns((run) => run.cpuMsPerPage),
    ...{ restMiB: restBytes / 2 ** 20, warmMiB: warmBytes / 2 ** 20, idleMiB: idleBytes / 2 ** 20, wakeMs },
    peakMiB: Math.max(...runs.map((run) => run.peakBytes)) / 2 ** 20,
    pages: runs.reduce((sum, run) => sum + run.pages, 0),
    incomplete: runs.reduce((sum, run) => sum + run.incomplete.length, 0),
    latencyRatio: ratio(latency),
    throughputRatio: ratio((run) => run.pagesPerSecond),
    cpuRatio: ratio((run) => run.cpuMsPerPage),
  }
}

/** Markdown with a row for each service. The last columns are ratios to `peer`. */
export function reportTable(summaries: readonly Summary[], peer: string): string {
  return markdownTable(
    [
      'service',
      'p50 ms',
      'p95 ms',
      'pages/s',
      'CPU ms/page',
      'MiB: at rest, warmed up, peak',
      'idle MiB, next page ms',
      'pages',
      'incomplete',
      `p50 : ${peer}`,
      `pages/s : ${peer}`,
      `CPU : ${peer}`,
    ],
    summaries.map((one) => [
      `${one.service} ${one.version}`,
      one.latencyP50Ms.toFixed(0),
      one.latencyP95Ms.toFixed(0),
      one.pagesPerSecond.toFixed(1),
      one.cpuMsPerPage.toFixed(0),
      [one.restMiB, one.warmMiB, one.peakMiB].map((mib) => mib.toFixed(0)).join(', '),
      `${one.idleMiB.toFixed(0)}, ${one.wakeMs.toFixed(0)}`,
      String(one.pages),
      String(one.incomplete),
      one.latencyRatio.toFixed(3),
      one.throughputRatio.toFixed(1),
      one.cpuRatio.toFixed(3),
    ]),
  )
}

/**
 * What counting a live request costs, against prom-client's own counter and
 * histogram with the same labels, in the same run: `node bench/counting.ts`.
 */
import { Counter, Histogram, Registry } from 'prom-client'

import { createEdgeMetrics } from '../src/metrics/edge-metrics.ts'

const TIMES = 200_000
const ROUNDS = 9

const ours = createEdgeMetrics(new Registry())
const counter = new Counter({
  name: 'c',
  help: 'c',
  labelNames: ['verdict', 'why', 'crawler'],
  registers: [],
})
const histogram = new Histogram({ name: 'h', help: 'h', labelNames: ['verdict'], registers: [] })

const CASES = {
  ours: () => ours.answered({ verdict: 'hit', crawler: 'search', seconds: 0.00004 }),
  'prom-client': () => {
    counter.inc({ verdict: 'hit', why: '', crawler: 'search' })
    histogram.observe({ verdict: 'hit' }, 0.00004)
  },
}

const best: Record<string, number> = {}
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, count] of Object.entries(CASES)) {
    const started = process.hrtime.bigint()
    for (let time = 0; time < TIMES; time++) count()
    const ns = Number(process.hrtime.bigint() - started) / TIMES
    best[name] = Math.min(best[name] ?? Number.POSITIVE_INFINITY, ns)
  }
}
for (const [name, ns] of Object.entries(best)) console.log(`${name}: ${ns.toFixed(0)} ns a request`)

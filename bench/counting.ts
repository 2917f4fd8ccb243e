/** Compares counting a live request with prom-client's counter and histogram: `node bench/counting.ts`. */

import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { createEdgeMetrics } from '@prepaint/service/insight/metrics/edge-metrics.ts'
import { createTraffic } from '@prepaint/service/insight/traffic/visit-counter.ts'
import pg from 'pg'
import { Counter, Histogram, Registry } from 'prom-client'

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

// Nothing is written: measures only what a request waits for.
const pool = new pg.Pool({ host: '/nowhere' })
const traffic = createTraffic({ pool, clock: systemClock, log: silentLog(), flushEveryMs: 3_600_000 })
const DOMAINS = 50
const hit = { verdict: 'hit', crawler: 'search', seconds: 0.00004, status: 200 } as const
const visits = Array.from({ length: 1_000 }, (_, at) => {
  const userAgent = `Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html) ${at % 20}`
  const id = ((at % DOMAINS) + 1) as DomainId
  const page = pageId(id, `/products/${at}` as PagePath)
  return {
    req: { headers: { 'user-agent': userAgent } },
    answer: { ...hit, domain: { id, query: 'keep' as const }, page },
  }
})
let next = 0

const CASES = {
  'for its owner': () => {
    next = (next + 1) % visits.length
    const { req, answer } = visits[next]!
    traffic.count(req, answer)
  },
  'for Prometheus': () => ours.answered({ verdict: 'hit', crawler: 'search', seconds: 0.00004 }),
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

import { Gauge, type Registry } from 'prom-client'

import type { FleetFigures } from './fleet-figures.ts'
import { NODE_STATES, QUOTA_RANGES } from './fleet-figures.ts'

/** For so long one reading serves, however many scrape. */
const SERVES_MS = 5_000

/** Gauges of the whole fleet, read at the scrape. While PostgreSQL is away they are absent, and the rest is there. */
export function createFleetMetrics(
  registry: Registry,
  deps: { read(): Promise<FleetFigures>; nowMs(): number; onFault(error: unknown): void },
): { refresh(): Promise<void> } {
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] })
  const queued = gauge('prepaint_queue_jobs', 'Jobs that wait, by priority (at most 100000 are counted)', [
    'priority',
  ])
  const age = gauge('prepaint_queue_head_age_seconds', 'How long the job that is next has waited', [
    'priority',
  ])
  const running = gauge('prepaint_jobs_running', 'Jobs that run, over all nodes')
  const domains = gauge(
    'prepaint_domains',
    'Domains with renders this month, by percent of what their plan allows',
    ['used'],
  )
  const renders = gauge('prepaint_renders_month', 'Renders counted against quotas in this UTC month')
  const nodes = gauge(
    'prepaint_nodes',
    'Nodes that share the database, by state; dead ones for ten minutes',
    ['state'],
  )
  const certificates = gauge('prepaint_certificates', 'Certificates of active domains')
  const soonestEnd = gauge(
    'prepaint_certificate_soonest_end_seconds',
    'Until the first certificate of an active domain ends',
  )
  const failing = gauge('prepaint_certificate_orders_failing', 'Active domains whose last order failed')
  const alone = [running, renders, certificates, soonestEnd, failing]
  const all = [queued, age, domains, nodes, ...alone]
  let readMs = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | null = null

  async function read(): Promise<void> {
    try {
      const figures = await deps.read()
      for (const { priority, queued: count, headAgeSeconds } of figures.queue) {
        queued.set({ priority }, count)
        age.set({ priority }, headAgeSeconds)
      }
      for (const used of QUOTA_RANGES) domains.set({ used }, figures.quota[used])
      for (const state of NODE_STATES) nodes.set({ state }, figures.nodes[state])
      running.set(figures.running)
      renders.set(figures.rendersThisMonth)
      certificates.set(figures.certificates.stored)
      failing.set(figures.certificates.failing)
      const { soonestEndSeconds } = figures.certificates
      if (soonestEndSeconds === null) soonestEnd.remove()
      else soonestEnd.set(soonestEndSeconds)
    } catch (error) {
      for (const each of all) each.reset()
      for (const each of alone) each.remove()
      deps.onFault(error)
    }
    readMs = deps.nowMs()
    reading = null
  }

  return {
    async refresh() {
      if (deps.nowMs() - readMs < SERVES_MS) return
      reading ??= read()
      await reading
    },
  }
}

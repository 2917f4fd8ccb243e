import {
  AggregatorRegistry,
  collectDefaultMetrics,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client'
import { BodyMetrics } from './body-metrics.ts'
import { EdgeMetrics } from './edge-metrics.ts'

/** The metrics of one process, as they are sent to another one. */
export type ProcessMetrics = MetricObjectWithValues<MetricValue<string>>[]

/** What a further process of the edge counts: the metrics that each process of a node has. */
export class EdgeProcessMetrics {
  readonly edge: EdgeMetrics
  readonly bodies: BodyMetrics
  readonly #registry = new Registry()

  constructor() {
    collectDefaultMetrics({ register: this.#registry })
    this.edge = new EdgeMetrics(this.#registry)
    this.bodies = new BodyMetrics(this.#registry)
  }

  values(): Promise<ProcessMetrics> {
    return this.#registry.getMetricsAsJSON()
  }
}

/** Adds up what grows only: counters and histograms. Other metrics end with their process. */
export async function sumOfMetrics(lists: readonly ProcessMetrics[]): Promise<ProcessMetrics> {
  const growing = lists.map((metrics) => metrics.filter(({ type }) => isGrowing(type)))
  return AggregatorRegistry.aggregate(growing).getMetricsAsJSON()
}

/** Adds up all metrics, each in the way that its definition says. What cannot be added up, such as the start time, is the node's own. */
export async function textOfAll(own: ProcessMetrics, others: readonly ProcessMetrics[]): Promise<string> {
  const first = own.map((metric) =>
    String(metric.aggregator) === 'omit' ? { ...metric, aggregator: 'first' } : metric,
  )
  return AggregatorRegistry.aggregate([first, ...others]).metrics()
}

function isGrowing(type: unknown): boolean {
  return type === 'counter' || type === 'histogram'
}

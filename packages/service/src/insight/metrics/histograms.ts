import {
  Counter,
  Histogram,
  type MetricObjectWithValues,
  type MetricValue,
  type MetricValueWithName,
} from 'prom-client'

export type Count = { value: number }

/** A counter for hot paths: prom-client builds a label string for each `inc`; here the caller keeps its line. */
export class Counts<Label extends string> extends Counter<Label> {
  readonly #lines: { labels: Partial<Record<Label, string>>; count: Count }[] = []

  /** Call once for each set of labels. */
  line(labels: Record<Label, string>): Count {
    const count = { value: 0 }
    this.#lines.push({ labels, count })
    return count
  }

  override async get(): Promise<MetricObjectWithValues<MetricValue<Label>>> {
    const values = this.#lines.map(({ labels, count }) => ({ labels, value: count.value }))
    return { ...(await super.get()), values }
  }
}

export type Timing = (seconds: number) => void

type Line<Label extends string> = { labels: Partial<Record<Label, string>>; buckets: number[]; sum: number }

export class Timings<Label extends string> extends Histogram<Label> {
  readonly #bounds: readonly number[]
  readonly #name: string
  readonly #plain: Histogram<Label>
  readonly #lines: Line<Label>[] = []

  constructor(options: { name: string; help: string; labelNames: Label[]; buckets: number[] }) {
    super({ ...options, registers: [] })
    this.#name = options.name
    this.#plain = new Histogram({ ...options, registers: [] })
    this.#bounds = options.buckets
  }

  line(labels: Record<Label, string>): Timing {
    const bounds = this.#bounds
    const line: Line<Label> = { labels, buckets: new Array(bounds.length + 1).fill(0), sum: 0 }
    this.#lines.push(line)
    return (seconds) => {
      let at = 0
      while (at < bounds.length && seconds > bounds[at]!) at++
      line.buckets[at]!++
      line.sum += seconds
    }
  }

  async getForPromString(): Promise<MetricObjectWithValues<MetricValueWithName<Label>>> {
    return this.get()
  }

  override async get(): Promise<MetricObjectWithValues<MetricValueWithName<Label>>> {
    const values = this.#lines.flatMap((line) => this.#valuesOf(line))
    return { ...(await this.#plain.get()), values }
  }

  #valuesOf({ labels, buckets, sum }: Line<Label>): MetricValueWithName<Label>[] {
    let count = 0
    const values: MetricValueWithName<Label>[] = buckets.map((inBucket, at) => {
      count += inBucket
      const le = this.#bounds[at] ?? '+Inf'
      return { metricName: `${this.#name}_bucket`, labels: { ...labels, le } as typeof labels, value: count }
    })
    values.push({ metricName: `${this.#name}_sum`, labels, value: sum })
    values.push({ metricName: `${this.#name}_count`, labels, value: count })
    return values
  }
}

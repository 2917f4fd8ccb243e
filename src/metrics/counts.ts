import { Counter, type MetricObjectWithValues, type MetricValue } from 'prom-client'

/** One line of a counter: adding to it is an addition, and nothing is looked up. */
export type Count = { value: number }

/**
 * A counter for paths on which prom-client's own would cost more than the work
 * that is counted: it makes a text of the labels at each `inc`. Here whoever
 * counts holds the line of his labels.
 */
export class Counts<Label extends string> extends Counter<Label> {
  readonly #lines: { labels: Partial<Record<Label, string>>; count: Count }[] = []

  /** The line of these labels; to be asked for once, it makes a new one. */
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

import { stepOf } from '@prepaint/contract/traffic/time-range.ts'

/**
 * How many requests took how long, in the fixed steps of `stepOf`. Most visits of a crawler take about the same time, so
 * only the steps from the first to the last that occurred are kept.
 */
export class ResponseTimes {
  #first = 0
  #counts: number[] = []

  /** Reads what `toString` wrote. Throws for any other text. */
  static parse(text: string): ResponseTimes {
    const times = new ResponseTimes()
    if (text === '') return times
    const found = /^(\d+)=([\d,]+)$/.exec(text)
    if (found === null) throw new Error(`not a histogram of response times: ${text}`)
    times.#first = Number(found[1]) - 1
    times.#counts = found[2]!.split(',').map(Number)
    return times
  }

  get total(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0)
  }

  add(seconds: number): void {
    this.#addTo(stepOf(seconds), 1)
  }

  addAll(others: ResponseTimes): void {
    for (const [at, count] of others.#counts.entries()) {
      if (count > 0) this.#addTo(others.#first + at, count)
    }
  }

  /** Returns the number of the first step, from 1 on, and the counts from there: `10=2,0,1`. Empty without any. */
  toString(): string {
    return this.#counts.length === 0 ? '' : `${this.#first + 1}=${this.#counts.join()}`
  }

  #addTo(step: number, count: number): void {
    if (this.#counts.length === 0) {
      this.#first = step
      // A push to an empty array makes room for 16 more numbers. Most lines need one.
      this.#counts = [count]
      return
    }
    while (step < this.#first) {
      this.#counts.unshift(0)
      this.#first--
    }
    const at = step - this.#first
    while (this.#counts.length <= at) this.#counts.push(0)
    this.#counts[at]! += count
  }
}

const CHECK_EVERY_MS = 1_000
const BUSY_REQUESTS = 10

/** While the edge answers ten requests a second or more without a render, browsers leave it the cores. */
export class PeopleFirst {
  readonly #countAnswered: () => number
  readonly #renderer: { yieldCores(isYielding: boolean): void }
  readonly #timer: NodeJS.Timeout
  #before: number

  /** `countAnswered` counts the requests so far that waited for no render. */
  constructor(countAnswered: () => number, renderer: { yieldCores(isYielding: boolean): void }) {
    this.#countAnswered = countAnswered
    this.#renderer = renderer
    this.#before = countAnswered()
    this.#timer = setInterval(() => this.#check(), CHECK_EVERY_MS).unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
  }

  #check(): void {
    const now = this.#countAnswered()
    this.#renderer.yieldCores(now - this.#before >= BUSY_REQUESTS)
    this.#before = now
  }
}

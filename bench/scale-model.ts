import { seededRandom } from '../test/chaos/seeded-random.ts'

export type Assumptions = {
  pages: number
  requestsPerPageDay: number
  /** Popularity of the page of rank n is n to the power of minus this. */
  skew: number
  freshDays: number
  staleDays: number
  keepDays: number
  memoryBytes: number
  entryBytes: number
  edges: number
  peak: number
}

export type Simulated = {
  requestsPerSecond: number
  hit: number
  stale: number
  rendered: number
  /** Hits and stale responses without PostgreSQL. */
  fromMemory: number
  rendersPerSecond: number
  storedPages: number
}

const SAMPLED = 20_000
const DAYS = 90
const WARM_UP_DAYS = 45
const DAY_SECONDS = 86_400

/** Samples pages over the logarithm of their rank, day by day. Memory hits use Che's approximation of LRU. */
export function simulate(given: Assumptions, seed: number): Simulated {
  const random = seededRandom(seed)
  const { pages, skew, requestsPerPageDay } = given
  const sample = Array.from({ length: SAMPLED }, (_, at) => {
    const from = pages ** (at / SAMPLED)
    const to = pages ** ((at + 1) / SAMPLED)
    return { rank: Math.sqrt(from * to), weight: to - from }
  })
  const whole = sample.reduce((sum, { rank, weight }) => sum + weight * rank ** -skew, 0)
  const rateOf = (rank: number) => (requestsPerPageDay * pages * rank ** -skew) / whole

  const sums = { asked: 0, hit: 0, stale: 0, rendered: 0, renders: 0, stored: 0 }
  const judgedDays = DAYS - WARM_UP_DAYS
  for (const { rank, weight } of sample) {
    const rate = rateOf(rank)
    // Above twenty requests a day, all but refreshes are hits.
    const steps = Math.min(rate, 20)
    const each = (weight * (rate / steps)) / judgedDays
    let renderedDay = Number.NEGATIVE_INFINITY
    for (let day = wait(random, steps); day < DAYS; day += wait(random, steps)) {
      const age = day - renderedDay
      const counts = day > WARM_UP_DAYS
      const state =
        age < given.freshDays ? 'hit' : age < given.freshDays + given.staleDays ? 'stale' : 'rendered'
      if (counts) {
        sums.asked += each
        sums[state] += each
        // One refresh at a time, however many requests.
        if (state !== 'hit') sums.renders += weight / judgedDays
      }
      if (state !== 'hit') renderedDay = day
    }
    if (DAYS - renderedDay < given.keepDays) sums.stored += weight
  }
  return {
    requestsPerSecond: sums.asked / DAY_SECONDS,
    hit: sums.hit / sums.asked,
    stale: sums.stale / sums.asked,
    rendered: sums.rendered / sums.asked,
    fromMemory: memoryShare(given, sample, rateOf),
    rendersPerSecond: sums.renders / DAY_SECONDS,
    storedPages: sums.stored,
  }
}

/** Days until the next request, at `rate` requests a day. */
function wait(random: () => number, rate: number): number {
  return -Math.log(1 - random()) / rate
}

/** The share of requests that an edge serves from memory, when requests are split among edges. */
function memoryShare(
  { memoryBytes, entryBytes, edges, requestsPerPageDay, pages }: Assumptions,
  sample: readonly { rank: number; weight: number }[],
  rateOf: (rank: number) => number,
): number {
  const room = memoryBytes / entryBytes
  const held = (days: number) =>
    sample.reduce((sum, { rank, weight }) => sum + weight * (1 - Math.exp((-rateOf(rank) / edges) * days)), 0)
  let [least, most] = [1e-9, 1e6]
  for (let step = 0; step < 60; step++) {
    const middle = Math.sqrt(least * most)
    if (held(middle) > room) most = middle
    else least = middle
  }
  const answered = sample.reduce(
    (sum, { rank, weight }) => sum + weight * rateOf(rank) * (1 - Math.exp((-rateOf(rank) / edges) * least)),
    0,
  )
  return answered / (requestsPerPageDay * pages)
}

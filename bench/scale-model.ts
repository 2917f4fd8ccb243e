/** The model of `bench/scale.ts`: what crawlers ask for, and what a fleet does about it. */
import { seededRandom } from '../test/chaos/seeded-random.ts'

export type Assumptions = {
  pages: number
  /** Of crawlers, for each page a day, on average over all pages. */
  requestsPerPageDay: number
  /** Popularity of the page of rank n is n to the power of minus this. */
  skew: number
  freshDays: number
  staleDays: number
  keepDays: number
  /** In memory of one edge, and what one entry takes there. */
  memoryBytes: number
  entryBytes: number
  edges: number
  /** The busiest minutes against the mean. */
  peak: number
}

export type Simulated = {
  requestsPerSecond: number
  /** Shares of requests. */
  hit: number
  stale: number
  rendered: number
  /** Of hits and stale ones: answered without PostgreSQL. */
  fromMemory: number
  rendersPerSecond: number
  storedPages: number
}

const SAMPLED = 20_000
const DAYS = 90
const WARM_UP_DAYS = 45
const DAY_SECONDS = 86_400

/**
 * Pages are sampled evenly over the logarithm of their rank, each standing for
 * those around it, and lived through day by day with random requests: a page is
 * stored by the first, fresh for a day, served stale and rendered again when
 * asked for later, and gone when nobody asked for long. What memory answers
 * follows from its size and the popularity alone (Che's approximation of LRU).
 */
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
    // Of a page that is asked for more than twenty times a day, all but its refreshes are hits.
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
        // However often it is asked for: one refresh a time.
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

/** Days until the next request of a page that is asked for so often a day. */
function wait(random: () => number, rate: number): number {
  return -Math.log(1 - random()) / rate
}

/** The share of requests whose page an edge holds, when each edge gets its part of all requests. */
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

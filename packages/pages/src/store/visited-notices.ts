import type { DomainId } from '@prepaint/contract/ids.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { systemStopwatch } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'

/** The payload has ids of domains, separated by commas. */
export const VISITED_CHANNEL = 'visited'

/** A payload holds 8,000 bytes, an id has up to ten digits. */
const TOLD_AT_ONCE = 500
const EVERY_MS = 5_000

/** Tells dashboards which domains had visits, at most once in five seconds. */
export class VisitedNotices {
  readonly #db: Queryable
  readonly #log: Log
  readonly #stopwatch: () => number
  readonly #waiting = new Set<DomainId>()
  #toldMs = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #telling: Promise<void> | null = null
  #isClosing = false

  /** `stopwatch` counts seconds. */
  constructor(db: Queryable, log: Log, stopwatch: () => number = systemStopwatch) {
    this.#db = db
    this.#log = log
    this.#stopwatch = stopwatch
  }

  /** Call when what was counted is written. */
  add(domains: Iterable<DomainId>): void {
    for (const domain of domains) this.#waiting.add(domain)
    if (this.#waiting.size === 0 || this.#timer !== undefined || this.#isClosing) return
    const waitMs = Math.max(0, this.#toldMs + EVERY_MS - this.#nowMs())
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#telling = this.#tell()
    }, waitMs).unref()
  }

  /** Tells what waits, once. Call when nothing is counted any more. */
  async close(): Promise<void> {
    this.#isClosing = true
    clearTimeout(this.#timer)
    await this.#telling
    await this.#tell()
  }

  #nowMs(): number {
    return this.#stopwatch() * 1_000
  }

  async #tell(): Promise<void> {
    if (this.#waiting.size === 0) return
    const domains = [...this.#waiting]
    this.#waiting.clear()
    this.#toldMs = this.#nowMs()
    try {
      await notifyVisited(this.#db, domains)
    } catch (error) {
      // The next visits are told.
      this.#log.debug({ err: (error as Error).message }, 'dashboards could not be told of visits')
    }
  }
}

/** Waits for no disk and no replica. */
async function notifyVisited(db: Queryable, domains: readonly DomainId[]): Promise<void> {
  await db.query(
    `with quick as (select set_config('synchronous_commit', 'off', true))
     select pg_notify($2, string_agg(id::text, ','))
       from quick, unnest($1::integer[]) with ordinality as each (id, at)
      group by (at - 1) / $3::integer`,
    [domains, VISITED_CHANNEL, TOLD_AT_ONCE],
  )
}

/** Returns null for a malformed payload. */
export function parseVisited(payload: string): DomainId[] | null {
  return /^\d+(,\d+)*$/.test(payload) ? payload.split(',').map((id) => Number(id) as DomainId) : null
}

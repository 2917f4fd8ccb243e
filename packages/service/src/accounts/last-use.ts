import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'

/** Resolution of `last_used_at`, so that a busy key does not rewrite its row per request. */
const GRAIN_MS = 60_000

const UPDATE = {
  api_key:
    'update api_key set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at <= $3)',
  webhook_token:
    'update webhook_token set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at <= $3)',
  share_link:
    'update share_link set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at <= $3)',
  site_token:
    'update site_token set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at <= $3)',
} as const

export type UsedSecret = keyof typeof UPDATE

/** Stores when keys and tokens were last used, at most once a minute for each. */
export class LastUse {
  readonly #db: Queryable
  readonly #clock: Clock
  readonly #log: Log
  /** Writes under way, by kind and id. */
  readonly #running = new Map<string, Promise<void>>()

  constructor(db: Queryable, clock: Clock, log: Log) {
    this.#db = db
    this.#clock = clock
    this.#log = log
  }

  /** Stores the time of this use in the background, unless `lastUsedAt` is less than a minute ago. */
  note(kind: UsedSecret, id: number, lastUsedAt: Date | null): void {
    const nowMs = this.#clock.nowMs()
    const dueMs = nowMs - GRAIN_MS
    const name = `${kind} ${id}`
    if ((lastUsedAt !== null && lastUsedAt.getTime() > dueMs) || this.#running.has(name)) return
    const stored = this.#store(kind, [id, new Date(nowMs), new Date(dueMs)]).finally(() =>
      this.#running.delete(name),
    )
    this.#running.set(name, stored)
  }

  /** Resolves when all writes under way have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#running.values())
  }

  async #store(kind: UsedSecret, values: unknown[]): Promise<void> {
    try {
      await this.#db.query(UPDATE[kind], values)
    } catch (error) {
      this.#log.warn({ err: error }, 'last_used_at could not be stored')
    }
  }
}

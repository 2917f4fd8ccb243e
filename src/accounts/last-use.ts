import type { Queryable } from '../db/transaction.ts'
import type { Log } from '../log.ts'

/** Resolution of `last_used_at`: a busy key must not rewrite its row with every request. */
const GRAIN_MS = 60_000

export type LastUse = {
  /** Records that the key or token was used now. Returns at once: no request waits for it. */
  note(kind: 'api_key' | 'webhook_token', id: number, lastUsedAt: Date | null): void
  /** Resolves when everything recorded so far is stored. */
  settled(): Promise<void>
}

const UPDATE = {
  api_key:
    'update api_key set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at <= $3)',
  webhook_token:
    'update webhook_token set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at <= $3)',
} as const

/** Stores `last_used_at` of keys and tokens in the background, at most once a minute for each. */
export function createLastUse(db: Queryable, clock: { nowMs(): number }, log: Log): LastUse {
  const running = new Map<string, Promise<void>>()
  return {
    note(kind, id, lastUsedAt) {
      const nowMs = clock.nowMs()
      const due = nowMs - GRAIN_MS
      const name = `${kind} ${id}`
      if ((lastUsedAt !== null && lastUsedAt.getTime() > due) || running.has(name)) return
      const stored = db
        .query(UPDATE[kind], [id, new Date(nowMs), new Date(due)])
        .then(
          () => {},
          // No request fails because of this.
          (error: unknown) => log.warn({ err: error }, 'last_used_at could not be stored'),
        )
        .finally(() => running.delete(name))
      running.set(name, stored)
    },
    async settled() {
      await Promise.all(running.values())
    },
  }
}

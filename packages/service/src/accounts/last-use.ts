import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Log } from '@prepaint/runtime/log.ts'

/** Resolution of `last_used_at`, so that a busy key does not rewrite its row per request. */
const GRAIN_MS = 60_000

export type LastUse = {
  note(kind: 'api_key' | 'webhook_token', id: number, lastUsedAt: Date | null): void
  settled(): Promise<void>
}

const UPDATE = {
  api_key:
    'update api_key set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at <= $3)',
  webhook_token:
    'update webhook_token set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at <= $3)',
} as const

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

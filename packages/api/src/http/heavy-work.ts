import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId } from '@prepaint/contract/ids.ts'
import type { Waiting } from '@prepaint/runtime/abandoned.ts'
import { Turns } from '@prepaint/runtime/turns.ts'

declare module 'fastify' {
  interface FastifyInstance {
    heavyWork: HeavyWork
  }
}

/** `read` takes seconds of PostgreSQL, `change` seconds to minutes. They have places of their own, so that lists wait for no purge. */
export type Heaviness = 'read' | 'change'

/** Of a node, which has 12 connections for all that it writes and reads. One account has half of them at most. */
export const HEAVY_AT_ONCE: Readonly<Record<Heaviness, number>> = { read: 4, change: 3 }
/** Requests of one account that wait for a place, of each kind. */
export const HEAVY_WAITING_MOST = 50
const WAIT_MS = 30_000

/** Lets requests begin that take much of PostgreSQL: accounts share the places of a node, and take turns for them. */
export class HeavyWork {
  readonly #turns: Readonly<Record<Heaviness, Turns>> = {
    read: new Turns(HEAVY_AT_ONCE.read),
    change: new Turns(HEAVY_AT_ONCE.change),
  }

  /**
   * Runs `work` when the account has a place. Throws `account_busy` if too much of its work waits, or if it had none in 30 seconds,
   * and for a read whose client has left meanwhile.
   */
  async run<T>(
    heaviness: Heaviness,
    account: AccountId,
    work: () => Promise<T>,
    client: Waiting | null = null,
  ): Promise<T> {
    const leave = await this.#turns[heaviness].enter(account, WAIT_MS, { waitingMost: HEAVY_WAITING_MOST })
    if (leave === null) throw busy('no place for it in time')
    try {
      if (heaviness === 'read' && client?.destroyed === true) throw busy('its client has left')
      return await work()
    } finally {
      leave()
    }
  }

  /** Reads a long list in parts, each in a place of its own: a client that reads slowly holds none. A part waits as long as it must. */
  async *each<T>(account: AccountId, parts: AsyncGenerator<T, void>): AsyncGenerator<T, void> {
    try {
      for (;;) {
        const leave = await this.#turns.read.enter(account, WAIT_MS)
        if (leave === null) continue
        const part = await parts.next().finally(leave)
        if (part.done === true) return
        yield part.value
      }
    } finally {
      await parts.return()
    }
  }
}

function busy(detail: string): AppError {
  return new AppError('account_busy', { detail, headers: { 'Retry-After': '1' } })
}

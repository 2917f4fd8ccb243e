import type { Task, TaskKind } from '@prepaint/postgres/tasks'
import type pg from 'pg'
import { type BodyStore, wantedStore } from './body-store.ts'
import { admitStore } from './check.ts'
import { moveLate } from './move.ts'
import { DeletionSize, type S3Client, StoreUnreachable } from './s3-client.ts'
import { sweepBodies } from './sweep.ts'

const SWEEP_EVERY_MS = 60_000
const MOVE_EVERY_MS = 30_000
/** The store did not take a body. */
const MOVE_AGAIN_MS = 10_000

/**
 * Deletes condemned objects each minute, and moves bodies that the store did not take: one node at a time does each. Without an
 * object store there is nothing to do.
 */
export class BodyUpkeep implements TaskKind {
  readonly name = 'bodies'
  readonly slots = 2
  readonly perAccount = 2
  readonly faultMessage = 'bodies in the object store could not be swept or moved; trying again'
  readonly subjects: string
  readonly #pool: pg.Pool
  readonly #bodies: BodyStore
  readonly #deletionSize = new DeletionSize()

  constructor(pool: pg.Pool, bodies: BodyStore) {
    this.#pool = pool
    this.#bodies = bodies
    const names = `(values ('sweep'), ('move')) as v (name)`
    this.subjects = `select name as key, 0 as account_id, now() as due_at from ${names} where ${bodies.isOn}`
  }

  async run({ key }: Task, signal: AbortSignal): Promise<number | null> {
    const { client } = this.#bodies
    // Another node had the setting, or this one had it before.
    if (client === null) return null
    if (key === 'sweep') {
      await sweepBodies(this.#pool, client, { signal, size: this.#deletionSize })
      return SWEEP_EVERY_MS
    }
    if (key === 'move') {
      if (!(await this.#isAdmitted(client))) return MOVE_AGAIN_MS
      const { failed } = await moveLate(this.#pool, this.#bodies, signal)
      return failed === 0 ? MOVE_EVERY_MS : MOVE_AGAIN_MS
    }
    return null
  }

  /** A store that did not answer when the first node started is admitted as soon as it does. */
  async #isAdmitted(client: S3Client): Promise<boolean> {
    if ((await wantedStore(this.#pool)) !== null) return true
    try {
      await admitStore(this.#pool, client)
      return true
    } catch (error) {
      if (error instanceof StoreUnreachable) return false
      throw error
    }
  }
}

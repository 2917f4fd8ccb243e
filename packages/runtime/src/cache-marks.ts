/** An entry with this stamp is always marked. */
export const MARKED = 0

/** Pass it to `stamp` when the value has been read. */
export type Reading = { epoch: number; generation: number }

/**
 * Says which entries of a cache must be asked for again. PostgreSQL keeps no notifications for a node that is disconnected,
 * so a loss marks all entries: each is asked for at its next use, and loses its mark if the answer came while notifications
 * arrived. Until then it is used only if PostgreSQL cannot be asked.
 *
 *     stamped --lost()--> marked --read again, connected--> stamped
 *
 * A loss costs nothing, however many entries there are: entries hold the generation in which they were read.
 */
export class CacheMarks {
  readonly #connected: () => boolean
  /** Moves with each loss. */
  #generation = MARKED + 1
  /** Moves with each notification. */
  #epoch = 0

  /** `connected`: whether notifications arrive now. */
  constructor(connected: () => boolean) {
    this.#connected = connected
  }

  /** Call before a value is read. */
  begin(): Reading {
    return { epoch: this.#epoch, generation: this.#connected() ? this.#generation : MARKED }
  }

  /**
   * Returns the stamp for a value that was read since `began`, or null if it must not be kept, because a notification came
   * meanwhile. If notifications were lost meanwhile, the stamp is marked.
   */
  stamp({ epoch, generation }: Reading): number | null {
    return epoch === this.#epoch ? generation : null
  }

  isMarked(stamp: number): boolean {
    return stamp !== this.#generation
  }

  /** Returns whether a read that began then may be shared with a request of now. */
  isCurrent({ epoch, generation }: Reading): boolean {
    return epoch === this.#epoch && generation === this.begin().generation
  }

  /** Call for each notification that is about this cache. */
  notified(): void {
    this.#epoch++
  }

  lost(): void {
    this.#generation++
  }
}

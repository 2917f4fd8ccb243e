/** How many entries may still be made, over all that share it. */
export type Room = { left: number }

/** `verdict` and `status`: of its newest visit. */
export type Hitter = {
  visits: number
  verdict: string
  status: number
  /** What had been counted under whoever had its place before: it may have come so often unseen. */
  readonly floor: number
}

/**
 * The paths that come most often, in bounded memory (Space-Saving of Metwally,
 * Agrawal and El Abbadi, 2005): a path without a place takes that of the rarest.
 * So whoever asks for ever new paths drives out none that is asked for often.
 * `visits` is what was seen of a path in its place, never more than the truth.
 */
export class HeavyHitters {
  readonly paths = new Map<string, Hitter>()
  /** Visits of all paths that lost their place or got none. */
  others = 0
  readonly #most: number
  readonly #room: Room

  constructor(most: number, room: Room) {
    this.#most = most
    this.#room = room
  }

  add(path: string, verdict: string, status: number): void {
    const known = this.paths.get(path)
    if (known !== undefined) {
      known.visits++
      known.verdict = verdict
      known.status = status
      return
    }
    if (this.paths.size < this.#most && this.#room.left > 0) {
      this.#room.left--
      this.paths.set(path, { visits: 1, verdict, status, floor: 0 })
      return
    }
    const floor = this.#dropRarest()
    if (floor === null) this.others++
    else this.paths.set(path, { visits: 1, verdict, status, floor })
  }

  /** Gives its rank; null: there is none. */
  #dropRarest(): number | null {
    let rarest: [path: string, hitter: Hitter] | null = null
    for (const entry of this.paths) {
      if (rarest === null || rankOf(entry[1]) < rankOf(rarest[1])) rarest = entry
    }
    if (rarest === null) return null
    this.paths.delete(rarest[0])
    this.others += rarest[1].visits
    return rankOf(rarest[1])
  }
}

function rankOf({ visits, floor }: Hitter): number {
  return visits + floor
}

/** Work was not begun, because all clients that waited for it have left. */
export class Abandoned extends Error {
  override name = 'Abandoned'

  constructor() {
    super('all clients that waited for this have left')
  }
}

/** Waits for work to begin and end. A response is destroyed when its client has left. */
export type Waiting = { readonly destroyed: boolean }

/** Waits to the end, for work that does not depend on clients. */
export const TO_THE_END: Waiting = { destroyed: false }

/** All that wait for one piece of work. */
export class WaitingTogether {
  readonly #all: Waiting[]

  constructor(first: Waiting) {
    this.#all = [first]
  }

  join(waiting: Waiting): void {
    this.#all.push(waiting)
  }

  readonly isWanted = (): boolean => this.#all.some(({ destroyed }) => !destroyed)
}

import type { AroundNavHandler } from 'wouter'

/** Asks before unsaved changes are lost. `goOn` leaves. */
type Ask = (goOn: () => void) => void

/** Whether the screen may be left without a question. */
class Leaving {
  #ask: Ask | null = null

  get isGuarded(): boolean {
    return this.#ask !== null
  }

  guard(ask: Ask): void {
    this.#ask = ask
  }

  /** Call before leaving a screen whose changes are not worth a question. */
  release(): void {
    this.#ask = null
  }

  /** Goes at once, or after the question. */
  go(goOn: () => void): void {
    if (this.#ask === null) goOn()
    else this.#ask(goOn)
  }
}

export const leaving = new Leaving()

/** Asks before a navigation, while a screen has unsaved changes. */
export const guardedNavigation: AroundNavHandler = (navigate, to, options) => {
  leaving.go(() => navigate(to, isBackHeld() ? { ...options, replace: true } : options))
}

/** Whether the extra history entry that holds the back button is current, so that the next screen replaces it. */
export function isBackHeld(): boolean {
  const state: unknown = history.state
  return typeof state === 'object' && state !== null && 'isHeld' in state
}

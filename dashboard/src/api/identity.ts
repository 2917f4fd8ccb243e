import { useSyncExternalStore } from 'react'

/** How a person can prove again who it is. */
export type ConfirmWay = 'password' | 'totp' | 'passkey' | 'sso'

type Asked = { ways: readonly ConfirmWay[]; answer(isConfirmed: boolean): void }

/** The server asks who somebody is before something dangerous. The dialog asks, and the request is sent again. */
class Identity {
  #asked: Asked | null = null
  #answered: Promise<boolean> | null = null
  readonly #watchers = new Set<() => void>()

  get asked(): Asked | null {
    return this.#asked
  }

  /** Resolves to whether the person has proved it. Requests at once ask once. */
  ask(ways: readonly ConfirmWay[]): Promise<boolean> {
    if (this.#answered !== null) return this.#answered
    const { promise, resolve } = Promise.withResolvers<boolean>()
    this.#answered = promise
    const answer = (isConfirmed: boolean) => {
      this.#answered = null
      this.#set(null)
      resolve(isConfirmed)
    }
    this.#set({ ways, answer })
    return promise
  }

  /** Returns a function that ends the watch. */
  watch(watch: () => void): () => void {
    this.#watchers.add(watch)
    return () => this.#watchers.delete(watch)
  }

  #set(asked: Asked | null): void {
    this.#asked = asked
    for (const watch of this.#watchers) watch()
  }
}

export const identity = new Identity()

export function useAskedIdentity(): Asked | null {
  return useSyncExternalStore(
    (watch) => identity.watch(watch),
    () => identity.asked,
  )
}

import { useSyncExternalStore } from 'react'

const OWN = 'Prepaint'

/** What the product is called where an account has chosen so: in titles of windows. */
class ProductName {
  #name = OWN
  readonly #listeners = new Set<() => void>()

  readonly get = (): string => this.#name

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Null: its own name. */
  set(name: string | null): void {
    this.#name = name ?? OWN
    for (const listener of this.#listeners) listener()
  }
}

export const productName = new ProductName()

export function useProductName(): string {
  return useSyncExternalStore(productName.subscribe, productName.get)
}

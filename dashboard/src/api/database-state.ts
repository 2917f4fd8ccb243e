import { useSyncExternalStore } from 'react'
import { isRefusal } from './api-error.ts'

/** Whether the API said that PostgreSQL cannot be asked. */
export function isDatabaseAway(error: unknown): boolean {
  return isRefusal(error, 'database_unavailable')
}

type Reach = 'there' | 'away'

/** Whether the server can ask its database, as far as its answers say. */
class DatabaseState {
  #reach: Reach = 'there'
  readonly #watchers = new Set<() => void>()

  get isAway(): boolean {
    return this.#reach === 'away'
  }

  set(next: Reach): void {
    if (this.#reach === next) return
    this.#reach = next
    for (const watch of this.#watchers) watch()
  }

  /** Returns a function that ends the watch. */
  watch(watch: () => void): () => void {
    this.#watchers.add(watch)
    return () => this.#watchers.delete(watch)
  }
}

export const databaseState = new DatabaseState()

export function useIsDatabaseAway(): boolean {
  return useSyncExternalStore(
    (watch) => databaseState.watch(watch),
    () => databaseState.isAway,
  )
}

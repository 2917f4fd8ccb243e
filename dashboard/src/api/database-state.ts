import { useSyncExternalStore } from 'react'
import { ApiError } from './api-error.ts'

/** How the API says that PostgreSQL cannot be asked. Other answers 503 have other texts. */
const AWAY_TEXT = 'Database is unavailable, try again later'

export function isDatabaseAway(error: unknown): boolean {
  return error instanceof ApiError && error.status === 503 && error.message === AWAY_TEXT
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

import type { Query, QueryClient } from '@tanstack/react-query'
import { isLong } from '../live/changes.ts'
import { ApiError } from './api-error.ts'
import { databaseState, isDatabaseAway } from './database-state.ts'

const PAUSE_MS = 5_000

/**
 * While the database is away, asks every five seconds for what the screen could not read. `databaseState` says when it is
 * there again.
 */
export class DatabaseRetry {
  readonly #queries: QueryClient
  #timer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false

  constructor(queries: QueryClient) {
    this.#queries = queries
    this.#schedule()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #schedule(): void {
    this.#timer = setTimeout(() => void this.#retry(), PAUSE_MS)
  }

  async #retry(): Promise<void> {
    const isThere = await this.#isThere()
    if (this.#isClosed) return
    if (isThere) databaseState.set('there')
    else this.#schedule()
  }

  async #isThere(): Promise<boolean> {
    if (!this.#hasFailed()) return readiness()
    await this.#queries.refetchQueries({ type: 'active', predicate: isUnanswered })
    return !this.#hasFailed()
  }

  #hasFailed(): boolean {
    return this.#queries.getQueryCache().findAll({ type: 'active', predicate: isUnanswered }).length > 0
  }
}

/** Whether the query waits for the database. A long list would take hundreds of requests; its screen offers a reload. */
function isUnanswered(query: Query): boolean {
  const { error } = query.state
  const isWithoutResponse = error instanceof ApiError && error.status === 0
  return (isDatabaseAway(error) || isWithoutResponse) && !isLong(query)
}

/** Asks the node itself. Used where a form was refused and the screen lacks nothing. */
async function readiness(): Promise<boolean> {
  try {
    const response = await fetch('/readyz', { cache: 'no-store' })
    const { database } = (await response.json()) as { database?: unknown }
    return database !== 'unreachable'
  } catch {
    return false
  }
}

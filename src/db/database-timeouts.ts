import { setTimeout as sleep } from 'node:timers/promises'

import type pg from 'pg'

import type { Log } from '../log.ts'
import { withClient } from './connection.ts'
import type { Queryable } from './transaction.ts'

declare module 'pg' {
  interface ClientBase {
    /** Of the server process behind a connection; the types leave it out. */
    readonly processID: number | null
  }
}

/** PostgreSQL has not answered in time, or did not a moment ago and still does not. */
export class SilentDatabase extends Error {
  override name = 'SilentDatabase'
}

export type Patience = {
  /**
   * What `query` gives, or rejects with SilentDatabase after two seconds; at
   * once while the database is known to be silent. The query itself goes on.
   */
  ask<T>(query: () => Promise<T>): Promise<T>
  /** The pool, asked in this way. */
  readonly db: Queryable
  readonly silent: boolean
  close(): void
}

export type PatienceTimes = {
  withinMs: number
  /** Between two looks whether it answers again. */
  lookEveryMs: number
  /** What the connections of before may still take to bring their answers. */
  graceMs: number
}

const TIMES: PatienceTimes = { withinMs: 2_000, lookEveryMs: 500, graceMs: 1_000 }

/**
 * For questions that somebody waits for who could be helped without the answer:
 * a hit from memory, a person who is passed on, a caller who gets his error. A
 * server that is gone refuses at once; one that hangs, or a network that
 * swallows, would keep each of them waiting for as long as a query may take.
 *
 * The first who waits in vain finds out for all. Then a connection of its own
 * asks until there is an answer; connections of the pool that have been busy
 * since before, and for which the server does nothing, are cut: what they wait
 * for will not come (a network that swallowed it tells nobody).
 */
export function createPatience(
  deps: { pool: pg.Pool; connection: pg.ClientConfig; log: Log },
  times: PatienceTimes = TIMES,
): Patience {
  const { pool, connection, log } = deps
  const closing = new AbortController()
  /** The connections that are in use, by the order in which they were taken. */
  const busy = new Map<pg.PoolClient, number>()
  let taken = 0
  let silent = false

  pool.on('acquire', (client) => busy.set(client, ++taken))
  pool.on('release', (_error, client) => busy.delete(client))
  pool.on('remove', (client) => busy.delete(client))

  async function ask<T>(query: () => Promise<T>): Promise<T> {
    if (silent) throw new SilentDatabase('the database does not answer')
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      reject(new SilentDatabase(`no answer of the database in ${times.withinMs} ms`))
      if (!silent) void waitForAnswer()
    }, times.withinMs)
    try {
      return await Promise.race([query(), late])
    } finally {
      clearTimeout(timer)
    }
  }

  async function waitForAnswer(): Promise<void> {
    silent = true
    const before = taken
    let looks = 1
    while (!closing.signal.aborted && !(await answers())) {
      if (looks++ === 1)
        log.warn('the database does not answer: what is in memory is served, the API answers 500')
      await sleep(times.lookEveryMs, undefined, { signal: closing.signal, ref: false }).catch(() => {})
    }
    silent = false
    if (looks > 1) log.info('the database answers again')
    await sleep(times.graceMs, undefined, { signal: closing.signal, ref: false }).catch(() => {})
    if (!closing.signal.aborted) await cutDeaf([...busy].filter(([, order]) => order <= before))
  }

  /** Of connections that wait: those for which the server does nothing. It has not heard the question, or we not the answer. */
  async function cutDeaf(waiting: [client: pg.PoolClient, order: number][]): Promise<void> {
    if (waiting.length === 0) return
    const found = await withClient(connection, (client) =>
      client.query<{ pid: number }>(`select pid from pg_stat_activity where state = 'active'`),
    ).catch(() => null)
    if (found === null) return
    const active = new Set(found.rows.map(({ pid }) => pid))
    for (const [client, order] of waiting) {
      if (busy.get(client) === order && !active.has(client.processID ?? 0)) client.connection.stream.destroy()
    }
  }

  async function answers(): Promise<boolean> {
    const limits = { connectionTimeoutMillis: times.withinMs, query_timeout: times.withinMs }
    return withClient({ ...connection, ...limits }, (client) => client.query('select')).then(
      () => true,
      () => false,
    )
  }

  const query = (...question: Parameters<pg.Pool['query']>) => ask(async () => pool.query(...question))
  return {
    ask,
    db: { query: query as pg.Pool['query'] },
    get silent() {
      return silent
    },
    close: () => closing.abort(),
  }
}

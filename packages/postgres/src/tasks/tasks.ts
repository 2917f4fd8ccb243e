import { systemStopwatch } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { isAway } from '../away/errors.ts'
import type { Listener } from '../listener.ts'
import type { Queryable } from '../transaction.ts'

/**
 * A *task* is background work beside the render queue: a kind and a key, which name what the work is about, and when it is
 * due. At most one task of a kind and key exists, and one node works on it at a time, under a *lease*.
 *
 * ```
 *            ask_task              claim               run ends
 *   (none) ----------> waiting ------------> running ------------> (none), or waiting until the next run
 *                         ^                    |
 *                         +--------------------+  it failed: back-off. Its node died: when the lease ends.
 *                                                 Its node closes, or it was asked for while it ran: at once.
 * ```
 * The state of the subject stays in the table of its owner. A run reads it, and never trusts that there still is work.
 */
export type Task = {
  readonly kind: string
  readonly key: string
  /** 0: it belongs to no account. */
  readonly accountId: number
  readonly payload: unknown
  /** Runs in a row that failed, or whose node died. */
  readonly failures: number
  readonly lease: string
}

/**
 * The next run of a task whose kind counts failures itself. Above 0, the task comes after those that did not fail, and
 * asking does not shorten the wait.
 */
export type NextRun = { againMs: number; failures: number }

export type TaskKind = {
  /** Its name in the table, in metrics, and for operators. */
  readonly name: string
  /** How many tasks one node works on at once. */
  readonly slots: number
  /** How many tasks of one account all nodes work on at once. */
  readonly perAccount: number
  /** Logged when a run rejects. */
  readonly faultMessage: string
  /**
   * A query of the tasks that should exist, with the columns `key`, `account_id` and `due_at`. Missing ones are asked for
   * at startup and every hour: after an upgrade, after a restored backup, and for rows that an older node wrote.
   */
  readonly subjects: string
  /**
   * A query with the columns `account_id` and `count`. An account takes its turn as if it had at least so many tasks under
   * way. Default: only tasks under way count.
   */
  readonly recent?: string
  /**
   * Resolves with the milliseconds until the next run, or null if nothing is left to do. A rejection is a failure.
   * `signal` aborts when the node closes, or when another node has taken the task.
   */
  run(task: Task, signal: AbortSignal): Promise<number | NextRun | null>
  /** Milliseconds until a failed run is repeated. Default: 5 seconds, doubled with each failure, at most 10 minutes. */
  retryMs?(failures: number): number
}

export type Ask = {
  kind: string
  key: string | number
  accountId?: number
  afterMs?: number
  payload?: unknown
}

/** Asks for a task in the transaction of the caller, if `db` is one. */
export async function askTask(db: Queryable, ask: Ask): Promise<void> {
  const { kind, key, accountId = 0, afterMs = 0, payload = {} } = ask
  await db.query({
    name: 'ask-task',
    text: `select ask_task($1, $2, $3, clock_timestamp() + $4 * interval '1 millisecond', $5)`,
    values: [kind, String(key), accountId, afterMs, JSON.stringify(payload)],
  })
}

/**
 * Locks the lease until the end of the caller's transaction. Returns false if another node has the task: then nothing may
 * be stored.
 */
export async function lockLease(client: Queryable, { kind, key, lease }: Task): Promise<boolean> {
  const { rowCount } = await client.query(
    'select from task where kind = $1 and key = $2 and lease = $3 for no key update',
    [kind, key, lease],
  )
  return rowCount === 1
}

/** Payload: the kind, and the milliseconds until the task is due. */
const CHANNEL = 'task'
const RETRY_FIRST_MS = 5_000
const RETRY_MOST_MS = 600_000
/** After a database failure. */
const FAULT_PAUSE_MS = 5_000
/** A due task could not be claimed: a transaction that asks for it has it locked, or its account is at its limit. */
const TAKEN_PAUSE_MS = 250
/** A run of the kind has begun: its end looks sooner. */
const BUSY_PAUSE_MS = 1_000
const SUBJECTS_EVERY_MS = 3_600_000

export type TaskRunnerOptions = {
  /** A dead node's tasks are taken by others after this time. Renewed three times as often. */
  leaseMs?: number
  /** In case a notification was lost, and to learn of the leases of other nodes. */
  pollMs?: number
}

type Run = { task: Task; lost: AbortController; ended: Promise<void> }
type Row = {
  kind: string
  key: string
  account_id: number
  payload: unknown
  failures: number
  lease: string
}

/**
 * Runs the parts of a task one after another. One that fails does not keep the others from running: the first fault is thrown
 * after the last part. Stops at once if the task is aborted, or if the database is away.
 */
export async function runEach<Part>(
  parts: readonly Part[],
  signal: AbortSignal | undefined,
  run: (part: Part) => Promise<void>,
): Promise<void> {
  const faults: unknown[] = []
  for (const part of parts) {
    signal?.throwIfAborted()
    try {
      await run(part)
    } catch (fault) {
      if (isAway(fault)) throw fault
      faults.push(fault)
    }
  }
  if (faults.length > 0) throw faults[0]
}

/**
 * Works on tasks that are due: sleeps until the next one is, or until a notification. All times are of PostgreSQL's clock,
 * so the clocks of nodes do not matter. Only kinds that were added are worked on.
 */
export class TaskRunner {
  readonly #pool: pg.Pool
  readonly #notifications: Pick<Listener, 'on' | 'onLost'>
  readonly #log: Log
  readonly #leaseMs: number
  readonly #pollMs: number
  readonly #kinds = new Map<string, TaskKind>()
  readonly #running = new Map<string, Set<Run>>()
  readonly #closing = new AbortController()
  #timer: NodeJS.Timeout | undefined
  /** When `#timer` ends, in milliseconds of the stopwatch. */
  #wakesAtMs = Number.POSITIVE_INFINITY
  #renewing: NodeJS.Timeout | undefined
  #askingAgain: NodeJS.Timeout | undefined
  #looking: Promise<void> | null = null
  #isWoken = false
  #isStarted = false

  constructor(
    pool: pg.Pool,
    notifications: Pick<Listener, 'on' | 'onLost'>,
    log: Log,
    { leaseMs = 30_000, pollMs = 30_000 }: TaskRunnerOptions = {},
  ) {
    this.#pool = pool
    this.#notifications = notifications
    this.#log = log
    this.#leaseMs = leaseMs
    this.#pollMs = pollMs
  }

  /** Call before `start`. */
  add(kind: TaskKind): void {
    if (this.#kinds.has(kind.name)) throw new Error(`the kind of task ${kind.name} was added twice`)
    this.#kinds.set(kind.name, kind)
    this.#running.set(kind.name, new Set())
  }

  start(): void {
    this.#isStarted = true
    this.#notifications.on(CHANNEL, (payload) => this.#hear(payload))
    this.#notifications.onLost(() => this.#wake())
    this.#askingAgain = setInterval(() => void this.#askForMissing(), SUBJECTS_EVERY_MS)
    this.#wake()
    void this.#askForMissing()
  }

  /** Claims no more, aborts what runs, and gives its tasks back, so that other nodes take them at once. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the node is shutting down'))
    clearTimeout(this.#timer)
    clearInterval(this.#askingAgain)
    await this.#looking
    await Promise.all(this.#runs().map(({ ended }) => ended))
    clearInterval(this.#renewing)
  }

  #runs(): Run[] {
    return [...this.#running.values()].flatMap((runs) => [...runs])
  }

  #hear(payload: string): void {
    const [kind = '', ms = '0'] = payload.split(' ')
    if (this.#kinds.has(kind)) this.#wakeIn(Number(ms))
  }

  /** Keeps an earlier wake-up. */
  #wakeIn(ms: number): void {
    if (this.#closing.signal.aborted) return
    if (ms <= 0) {
      this.#wake()
      return
    }
    const atMs = systemStopwatch() * 1_000 + ms
    if (atMs >= this.#wakesAtMs) return
    clearTimeout(this.#timer)
    this.#wakesAtMs = atMs
    // Rounded up: a timer that ends a moment too early looks for nothing.
    this.#timer = setTimeout(() => this.#wake(), Math.ceil(ms) + 1)
  }

  #wake(): void {
    if (this.#closing.signal.aborted || !this.#isStarted) return
    this.#isWoken = true
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
      if (this.#isWoken) this.#wake()
    })
  }

  async #look(): Promise<void> {
    this.#isWoken = false
    clearTimeout(this.#timer)
    this.#wakesAtMs = Number.POSITIVE_INFINITY
    try {
      let nextMs = this.#pollMs
      for (const { kind, ms } of await this.#readNext()) {
        if (this.#closing.signal.aborted) return
        if (ms > 0) nextMs = Math.min(nextMs, ms)
        else nextMs = Math.min(nextMs, (await this.#claim(kind)) > 0 ? BUSY_PAUSE_MS : TAKEN_PAUSE_MS)
      }
      this.#wakeIn(nextMs)
    } catch (error) {
      if (!this.#closing.signal.aborted) this.#log.warn({ err: error }, 'due tasks could not be read')
      this.#wakeIn(FAULT_PAUSE_MS)
    }
  }

  /** Reads of the kinds with a free slot that have a task, in how many milliseconds one is due or a lease ends. */
  async #readNext(): Promise<{ kind: TaskKind; ms: number }[]> {
    const free = [...this.#kinds.values()].filter(({ name, slots }) => this.#running.get(name)!.size < slots)
    if (free.length === 0) return []
    const { rows } = await this.#pool.query<{ kind: string; ms: number | null }>({
      name: 'next-tasks',
      text: `select asked.kind, (extract(epoch from least(waiting.at, leased.at) - clock_timestamp()) * 1000)::float8 as ms
               from unnest($1::text[]) as asked (kind)
               cross join lateral (select min(due_at) as at from task where kind = asked.kind and lease is null) waiting
               cross join lateral (select min(lease_until) as at from task where kind = asked.kind and lease is not null) leased`,
      values: [free.map(({ name }) => name)],
    })
    return rows.flatMap(({ kind, ms }) => (ms === null ? [] : [{ kind: this.#kinds.get(kind)!, ms }]))
  }

  async #claim(kind: TaskKind): Promise<number> {
    const { name, slots, perAccount, recent = 'select 0 as account_id, 0 as count where false' } = kind
    const room = slots - this.#running.get(name)!.size
    const { rows } = await this.#pool.query<Row>({
      name: `claim-tasks-${name}`,
      text: `select kind, key, account_id, payload, failures, lease
               from claim_tasks($1, $2, $3, $4 * interval '1 millisecond',
                                (select coalesce(jsonb_object_agg(r.account_id, r.count), '{}') from (${recent}) r))`,
      values: [name, room, perAccount, this.#leaseMs],
    })
    for (const { account_id: accountId, ...row } of rows) this.#begin(kind, { ...row, accountId })
    return rows.length
  }

  #begin(kind: TaskKind, task: Task): void {
    const runs = this.#running.get(kind.name)!
    const run: Run = { task, lost: new AbortController(), ended: Promise.resolve() }
    runs.add(run)
    this.#renewing ??= setInterval(() => void this.#renew(), this.#leaseMs / 3)
    run.ended = this.#run(kind, run).finally(() => {
      runs.delete(run)
      if (this.#runs().length === 0) {
        clearInterval(this.#renewing)
        this.#renewing = undefined
      }
      this.#wake()
    })
  }

  async #run(kind: TaskKind, { task, lost }: Run): Promise<void> {
    const closing = this.#closing.signal
    if (closing.aborted) return this.#giveBack(task)
    let next: number | NextRun | null
    try {
      next = await kind.run(task, AbortSignal.any([closing, lost.signal]))
    } catch (error) {
      if (lost.signal.aborted) return
      if (closing.aborted) return this.#giveBack(task)
      this.#log.warn({ err: error, task: task.key }, kind.faultMessage)
      const failures = task.failures + 1
      return this.#end(task, kind.retryMs?.(failures) ?? usualRetryMs(failures), failures)
    }
    if (typeof next === 'object' && next !== null) await this.#end(task, next.againMs, next.failures)
    else await this.#end(task, next, 0)
  }

  /** If PostgreSQL is away, the lease ends by itself. */
  async #end({ kind, key, lease }: Task, againMs: number | null, failures: number): Promise<void> {
    await this.#pool
      .query({
        name: 'end-task',
        text: `select end_task($1, $2, $3, $4::float8 * interval '1 millisecond', $5)`,
        values: [kind, key, lease, againMs, failures],
      })
      .catch((error: unknown) => this.#log.warn({ err: error, kind, task: key }, 'a task could not be ended'))
  }

  async #giveBack(task: Task): Promise<void> {
    await this.#end(task, 0, task.failures)
    await this.#pool.query(`select pg_notify($1, $2)`, [CHANNEL, `${task.kind} 0`]).catch(() => {})
  }

  /** Aborts the runs of tasks that other nodes have taken. */
  async #renew(): Promise<void> {
    const runs = this.#runs()
    try {
      const { rows } = await this.#pool.query<{ lease: string }>({
        name: 'renew-tasks',
        text: `update task t set lease_until = clock_timestamp() + $4 * interval '1 millisecond'
                 from unnest($1::text[], $2::text[], $3::uuid[]) as ours (kind, key, lease)
                where t.kind = ours.kind and t.key = ours.key and t.lease = ours.lease
               returning t.lease`,
        values: [
          runs.map(({ task }) => task.kind),
          runs.map(({ task }) => task.key),
          runs.map(({ task }) => task.lease),
          this.#leaseMs,
        ],
      })
      const held = new Set(rows.map(({ lease }) => lease))
      for (const { task, lost } of runs) {
        if (!held.has(task.lease)) lost.abort(new Error('another node has this task'))
      }
    } catch (error) {
      this.#log.debug({ err: error }, 'the leases of tasks could not be renewed')
    }
  }

  async #askForMissing(): Promise<void> {
    for (const { name, subjects } of this.#kinds.values()) {
      if (this.#closing.signal.aborted) return
      try {
        const { rowCount } = await this.#pool.query(
          `insert into task (kind, key, account_id, due_at)
           select $1, s.key::text, s.account_id, s.due_at from (${subjects}) s
            where not exists (select from task t where t.kind = $1 and t.key = s.key::text)
           on conflict do nothing`,
          [name],
        )
        if (rowCount !== 0) this.#wake()
      } catch (error) {
        if (this.#closing.signal.aborted) return
        this.#log.warn({ err: error, kind: name }, 'missing tasks could not be asked for; trying again')
      }
    }
  }
}

function usualRetryMs(failures: number): number {
  return Math.min(RETRY_MOST_MS, RETRY_FIRST_MS * 2 ** (failures - 1))
}

/** How much work of a kind there is, over all nodes. */
export type KindState = {
  kind: string
  /** Due, and no node works on it yet. */
  waiting: number
  running: number
  /** Tasks whose last run failed, or whose node died. */
  failing: number
  /** How long the oldest due task has waited; 0: none waits. */
  oldestSeconds: number
}

/** Kinds without a task are missing. By name. */
export async function readTaskKinds(db: Queryable): Promise<KindState[]> {
  const { rows } = await db.query<KindState>({
    name: 'task-kinds',
    text: `select kind, count(*) filter (where lease is null and due_at <= clock_timestamp())::int as waiting,
                  count(lease)::int as running, count(*) filter (where failures > 0)::int as failing,
                  greatest(0, coalesce(extract(epoch from clock_timestamp() - min(due_at) filter (where lease is null)), 0))::float8
                    as "oldestSeconds"
             from task group by kind order by kind`,
  })
  return rows
}

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Listener } from '@prepaint/postgres/listener.ts'

import type { Clock } from '@prepaint/runtime/clock.ts'
import { INVALIDATE_CHANNEL, parseInvalidation } from '@prepaint/runtime/invalidation.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { accountKey } from '../acme/account.ts'
import { publishChallenge, withdrawChallenges } from '../acme/challenge.ts'
import type { IssueTimes } from '../acme/issue.ts'
import { type AcmeSession, createAcmeSession } from '../acme/session.ts'
import type { Transport } from '../acme/transport.ts'
import { storeCertificate } from '../stored-certificate.ts'
import type { Vault } from '../vault/vault.ts'
import { backOffMs, renewalBackOffMs } from './back-off.ts'
import {
  endOrderTask,
  type OrderTask,
  renewLease,
  takeBudget,
  takeOrderTasks,
  withLease,
} from './order-book.ts'
import { type OrderTaskDeps, type OrderTaskEnd, runOrderTask } from './order-task.ts'

export type OrderingDeps = {
  pool: pg.Pool
  listener: Pick<Listener, 'on' | 'caughtUp'>
  vault: Vault
  transport: Transport
  clock: Clock
  log: Log
  random?: () => number
  reach: OrderTaskDeps['reach']
}

export type OrderingOptions = {
  directoryUrl: string
  email: string | null
  perHour: number
  /** Another node takes over the tasks of a dead node after this time. */
  leaseMs?: number
  pollMs?: number
  slots?: number
  times?: IssueTimes
}

/** After a registration, because others may follow. */
const SOON_MS = 250
/** Five minutes. The lease prevents storing if another node has taken over. */
const STORE_TRIES = 300
const STORE_RETRY_MS = 1_000

export function startOrdering(deps: OrderingDeps, options: OrderingOptions): Ordering {
  const ordering = new Ordering(deps, options)
  ordering.start()
  return ordering
}

/** Each domain is one node's task at a time, under a lease. Failures never affect certificates in use. */
export class Ordering {
  readonly #deps: OrderingDeps
  readonly #options: Required<Pick<OrderingOptions, 'leaseMs' | 'pollMs' | 'slots'>> & OrderingOptions
  readonly #random: () => number
  readonly #taskDeps: OrderTaskDeps
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #soon: NodeJS.Timeout | undefined
  #taking: Promise<void> | null = null
  #takeAgain = false
  #session: Promise<AcmeSession> | null = null
  #ready: Promise<void> = Promise.resolve()

  constructor(deps: OrderingDeps, options: OrderingOptions) {
    const { pool, listener, clock, log, reach, random = Math.random } = deps
    this.#deps = deps
    this.#options = { leaseMs: 60_000, pollMs: 15_000, slots: 4, ...options }
    this.#random = random
    this.#taskDeps = {
      clock,
      log,
      random,
      reach,
      session: () => this.#acmeSession(),
      takeBudget: (account) => takeBudget(pool, { perHour: options.perHour, account, nowMs: clock.nowMs() }),
      publish: async (domain, challenge) => {
        await publishChallenge(pool, domain, challenge)
        await listener.caughtUp()
      },
      ...(options.times !== undefined && { times: options.times }),
    }
  }

  start(): void {
    const { listener, log } = this.#deps
    this.#timer = setInterval(this.wake, this.#options.pollMs)
    listener.on(INVALIDATE_CHANNEL, (payload) => {
      if (parseInvalidation(payload).kind !== 'host' || this.#closing.signal.aborted) return
      this.#soon ??= setTimeout(() => {
        this.#soon = undefined
        this.wake()
      }, SOON_MS)
    })
    // First, because a new CA makes more certificates due.
    this.#ready = this.#acmeSession().then(this.wake, (error: unknown) => {
      log.error({ err: error }, 'there is no account at the CA yet')
      this.wake()
    })
  }

  readonly wake = (): void => {
    this.#takeAgain = true
    this.#taking ??= this.#takeTasks().finally(() => {
      this.#taking = null
    })
  }

  /** Releases running tasks, so another node can take them at once. */
  readonly close = async (): Promise<void> => {
    this.#closing.abort(new Error('the node is shutting down'))
    clearInterval(this.#timer)
    clearTimeout(this.#soon)
    await this.#ready
    await this.#taking
    await Promise.all(this.#running)
  }

  #acmeSession(): Promise<AcmeSession> {
    const { pool, vault, transport, clock } = this.#deps
    const { directoryUrl, email } = this.#options
    this.#session ??= accountKey(pool, vault, directoryUrl, clock.nowMs())
      .then((key) => createAcmeSession(key, { directoryUrl, email, transport, nowMs: () => clock.nowMs() }))
      .catch((error: unknown) => {
        this.#session = null
        throw error
      })
    return this.#session
  }

  async #takeTasks(): Promise<void> {
    const { pool, clock, log } = this.#deps
    const { leaseMs, slots } = this.#options
    while (this.#takeAgain && this.#running.size < slots && !this.#closing.signal.aborted) {
      this.#takeAgain = false
      try {
        const limit = slots - this.#running.size
        // New each time, so that a lost task cannot end a later one.
        const lease = randomUUID()
        const tasks = await takeOrderTasks(pool, { lease, leaseMs, limit, nowMs: clock.nowMs() })
        for (const task of tasks) this.#begin(task)
        this.#takeAgain ||= tasks.length > 0
      } catch (error) {
        log.warn({ err: error }, 'due certificates could not be read')
      }
    }
  }

  #begin(task: OrderTask): void {
    const run = this.#run(task)
      .catch((error: unknown) => {
        this.#deps.log.warn({ err: error, domain: task.domain.name }, 'the result of an order was not stored')
      })
      .finally(() => {
        this.#running.delete(run)
        this.wake()
      })
    this.#running.add(run)
  }

  async #run(task: OrderTask): Promise<void> {
    const { pool, clock } = this.#deps
    const lost = new AbortController()
    const renewing = setInterval(() => {
      renewLease(pool, task, this.#options.leaseMs).then(
        (ours) => {
          if (!ours) lost.abort(new Error('the lease is lost'))
        },
        () => {},
      )
    }, this.#options.leaseMs / 3)
    try {
      const signal = AbortSignal.any([this.#closing.signal, lost.signal])
      const end = await runOrderTask(this.#taskDeps, task, signal).catch((): null => null)
      if (lost.signal.aborted) return
      // Only while we have the lease: the next node publishes its own challenge.
      await withLease(pool, task, (client) => withdrawChallenges(client, task.domain)).catch(() => {})
      if (end === null) await endOrderTask(pool, task, { kind: 'later', nextAtMs: clock.nowMs() })
      else await this.#store(task, end)
    } finally {
      clearInterval(renewing)
    }
  }

  async #store(task: OrderTask, end: OrderTaskEnd): Promise<void> {
    const { pool, vault, clock, log } = this.#deps
    const { domain } = task
    const nowMs = clock.nowMs()
    if (end.kind === 'issued') {
      const { certificate, ...times } = end
      const stored = await this.#retried(domain.name, () =>
        withLease(pool, task, (client) =>
          storeCertificate(client, vault, domain, 'acme', certificate, times),
        ),
      )
      if (stored) log.info({ domain: domain.name, until: certificate.notAfterMs }, 'certificate in use')
      return
    }
    if (end.kind === 'later') return endOrderTask(pool, task, end)

    const { failure, reason, wantedMs } = end
    // The CA has not heard of names that pointed elsewhere: its first refusal waits as the first.
    const isFirst = task.failure === 'not-here' && failure !== 'not-here'
    const failures = isFirst ? 1 : task.failures + 1
    const waitMs = backOffMs(failure, failures, this.#random, wantedMs)
    const leftMs = task.current === null ? null : task.current.notAfterMs - nowMs
    const nextAtMs = nowMs + (leftMs === null ? waitMs : renewalBackOffMs(waitMs, leftMs, wantedMs))
    log.warn({ domain: domain.name, failure, reason, next: nextAtMs }, 'no new certificate')
    await endOrderTask(pool, task, { kind: 'failed', nextAtMs, failures, failure, reason, nowMs })
  }

  /** Retries, because an issued certificate counts against the CA's limits. */
  async #retried<T>(domain: string, store: () => Promise<T>): Promise<T> {
    const { signal } = this.#closing
    for (let tries = 1; ; tries++) {
      try {
        return await store()
      } catch (error) {
        if (tries === STORE_TRIES || signal.aborted) throw error
        this.#deps.log.warn({ err: error, domain }, 'a new certificate could not be stored yet')
        await sleep(STORE_RETRY_MS, undefined, { signal }).catch(() => {})
      }
    }
  }
}

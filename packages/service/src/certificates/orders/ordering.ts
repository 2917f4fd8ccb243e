import { setTimeout as sleep } from 'node:timers/promises'
import type { Listener } from '@prepaint/postgres/listener.ts'
import type { NextRun, Task, TaskKind } from '@prepaint/postgres/tasks'
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
  askForOrders,
  beginOrder,
  endOrder,
  ORDER_SUBJECTS,
  ORDER_TASK,
  type OrderTask,
  RECENT_ORDERS,
  readNextRun,
  takeBudget,
  withLease,
} from './order-book.ts'
import { type OrderTaskDeps, type OrderTaskEnd, runOrderTask } from './order-task.ts'

export type OrderingDeps = {
  pool: pg.Pool
  listener: Pick<Listener, 'on' | 'onLost' | 'caughtUp'>
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
  /** How many orders this node works on at once. */
  slots?: number
  times?: IssueTimes
}

/** After a host was announced, because others may follow. */
const SOON_MS = 250
/** Five minutes. The lease prevents storing if another node has taken over. */
const STORE_TRIES = 300
const STORE_RETRY_MS = 1_000
/** After a database failure. */
const ASK_RETRY_MS = 15_000

/**
 * Orders certificates: a task for each domain, due when its order is (`certificate_order.next_at`). Failures never affect
 * certificates in use. Tasks are asked for here and not where domains are created: without a CA there are none.
 */
export class Ordering implements TaskKind {
  readonly name = ORDER_TASK
  readonly slots: number
  /** No limit: orders are few, and accounts take turns at the budget. */
  readonly perAccount = 10_000
  readonly faultMessage = 'the result of an order was not stored'
  readonly subjects = ORDER_SUBJECTS
  readonly recent = RECENT_ORDERS
  readonly #deps: OrderingDeps
  readonly #options: OrderingOptions
  readonly #random: () => number
  readonly #taskDeps: OrderTaskDeps
  /** Domains that changed, until their orders are looked at; null: all. */
  #changed: Set<string> | null = new Set()
  #soon: NodeJS.Timeout | undefined
  #asking: Promise<void> = Promise.resolve()
  #isClosed = false
  #session: Promise<AcmeSession> | null = null
  #ready: Promise<void> = Promise.resolve()

  constructor(deps: OrderingDeps, options: OrderingOptions) {
    const { pool, listener, clock, log, reach, random = Math.random } = deps
    this.#deps = deps
    this.#options = options
    this.slots = options.slots ?? 4
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

  /** Add it to the runner of tasks, too. */
  start(): void {
    const { listener, log } = this.#deps
    listener.on(INVALIDATE_CHANNEL, (payload) => {
      const changed = parseInvalidation(payload)
      if (changed.kind !== 'host') return
      this.#changed?.add(changed.host)
      this.#askSoon()
    })
    listener.onLost(() => this.askForAll())
    // First, because a new CA makes more certificates due.
    this.#ready = this.#acmeSession().then(
      () => this.askForAll(),
      (error: unknown) => {
        log.error({ err: error }, 'there is no account at the CA yet')
        this.askForAll()
      },
    )
  }

  /** Looks at the orders of all domains: which have no task, or one that is due too late. */
  askForAll(): void {
    this.#changed = null
    this.#askSoon()
  }

  /** Close the runner of tasks first: it ends the orders under way. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#soon)
    await this.#ready
    await this.#asking
  }

  #askSoon(): void {
    if (this.#isClosed) return
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined
      this.#asking = this.#asking.then(() => this.#ask())
    }, SOON_MS)
  }

  async #ask(): Promise<void> {
    const { pool, clock, log } = this.#deps
    const names = this.#changed && [...this.#changed]
    this.#changed = new Set()
    try {
      await askForOrders(pool, { names, nowMs: clock.nowMs() })
    } catch (error) {
      if (this.#isClosed) return
      log.warn({ err: error }, 'due certificates could not be read')
      this.#changed = null
      this.#soon ??= setTimeout(() => {
        this.#soon = undefined
        this.askForAll()
      }, ASK_RETRY_MS)
    }
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

  async run(task: Task, signal: AbortSignal): Promise<NextRun | null> {
    const { pool, clock } = this.#deps
    const order = await beginOrder(pool, task, clock.nowMs())
    if (order !== null) await this.#order(order, signal)
    return readNextRun(pool, task, clock.nowMs())
  }

  async #order(order: OrderTask, signal: AbortSignal): Promise<void> {
    const { pool, clock } = this.#deps
    // It rejects only with the reason of the signal.
    const end = await runOrderTask(this.#taskDeps, order, signal).catch((): null => null)
    // Only while we have the lease: the next node publishes its own challenge.
    await withLease(pool, order, (client) => withdrawChallenges(client, order.domain)).catch(() => {})
    if (end === null) {
      await endOrder(pool, order, { kind: 'later', nextAtMs: clock.nowMs() })
      signal.throwIfAborted()
    } else {
      await this.#store(order, end, signal)
    }
  }

  async #store(order: OrderTask, end: OrderTaskEnd, signal: AbortSignal): Promise<void> {
    const { pool, vault, clock, log } = this.#deps
    const { domain } = order
    const nowMs = clock.nowMs()
    if (end.kind === 'issued') {
      const { certificate, ...times } = end
      const stored = await this.#retried(domain.name, signal, () =>
        withLease(pool, order, (client) =>
          storeCertificate(client, vault, domain, 'acme', certificate, times),
        ),
      )
      if (stored) log.info({ domain: domain.name, until: certificate.notAfterMs }, 'certificate in use')
      return
    }
    if (end.kind === 'later') return endOrder(pool, order, end)

    const { failure, reason, wantedMs } = end
    // The CA has not heard of names that pointed elsewhere: its first refusal waits as the first.
    const isFirst = order.failure === 'not-here' && failure !== 'not-here'
    const failures = isFirst ? 1 : order.failures + 1
    const waitMs = backOffMs(failure, failures, this.#random, wantedMs)
    const leftMs = order.current === null ? null : order.current.notAfterMs - nowMs
    const nextAtMs = nowMs + (leftMs === null ? waitMs : renewalBackOffMs(waitMs, leftMs, wantedMs))
    log.warn({ domain: domain.name, failure, reason, next: nextAtMs }, 'no new certificate')
    await endOrder(pool, order, { kind: 'failed', nextAtMs, failures, failure, reason, nowMs })
  }

  /** Retries, because an issued certificate counts against the CA's limits. */
  async #retried<T>(domain: string, signal: AbortSignal, store: () => Promise<T>): Promise<T> {
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
